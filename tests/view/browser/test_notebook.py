"""Things in a notebook: several in one page, each alive, none asking anybody for anything."""

import html as markup
import re
from importlib.resources import files

import numpy as np
import pytest

import regard
from regard.textbook.examples import run_example
from regard.view.page.notebook import framed_content
from regard.view.page.single_file import json_block

HOSTILE = "</script><img src=x onerror=alert(1)>"
# What VS Code's notebooks allow a cell's output; a frame's own policy comes on top of it.
STRICT = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src https: http: data:; font-src https:; connect-src https:; child-src https: data:"
)


@pytest.fixture(scope="module")
def readings():
    return [regard.read(text) for text in ("I am good", "A dog ate the food because it was hungry")]


@pytest.fixture
def one_torch():
    """PyTorch on one thread: on a busy machine two would mostly wait for each other."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(before)


@pytest.fixture
def tiny_model(one_torch):
    """Two layers of four heads, untrained."""
    kind = pytest.importorskip("transformers", reason="needs Transformers: pip install '.[models]'")
    sizes = {"n_layer": 2, "n_head": 4, "n_embd": 32, "vocab_size": 50, "n_positions": 16}
    one_torch.manual_seed(0)
    config = kind.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0)
    return kind.GPT2LMHeadModel(config).eval()


def test_two_readings_in_one_notebook_both_respond(offline_page, readings):
    cells = "".join(reading._repr_html_() for reading in readings)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{STRICT}">'
    page = offline_page(f"<!doctype html><meta charset=utf-8>{policy}{cells}", height=1500)
    for place, reading in enumerate(readings):
        frame = page.frame_locator("iframe").nth(place)
        frame.locator(".english .word", has_text=reading.words[0]).first.hover()
        frame.locator(".english .asking", has_text=reading.words[0]).wait_for()


def test_frames_are_as_high_as_what_they_show(offline_page, readings, until):
    cells = "".join(reading._repr_html_() for reading in readings)
    page = offline_page(f"<!doctype html><meta charset=utf-8>{cells}", height=3000)
    for at in range(len(readings)):
        body = page.frame_locator("iframe").nth(at).locator("body")
        body.locator(".head-said span:not(:empty)").first.wait_for()

        def fits(body=body, at=at) -> bool:
            inner = body.evaluate("(body) => body.getBoundingClientRect().height")
            outer = page.locator("iframe").nth(at).evaluate("(frame) => frame.offsetHeight")
            return abs(inner - outer) <= 4

        until(page, fits)
        # Else it grows to the most that a frame may have: a page as high as its window does.
        assert page.locator("iframe").nth(at).bounding_box()["height"] < 1200


def test_the_frame_is_shut(readings):
    cell = readings[0]._repr_html_()
    assert 'sandbox="allow-scripts allow-modals allow-downloads"' in cell
    assert "allow-same-origin" not in cell
    # A notebook keeps every output: two hundred of them, 33 MB, are still a file one can open.
    assert len(cell) < 165_000


def test_without_scripts_the_text_remains(readings):
    cell = readings[1]._repr_html_()
    without = re.sub(r"<iframe.*?</iframe>", "", cell, flags=re.DOTALL)
    assert "it looks at dog" in markup.unescape(without)
    assert len(without) < 10_000


def test_steps_and_observations_show_themselves(offline_page):
    rng = np.random.default_rng(0)
    seen = regard.observe(*(rng.normal(size=(2, 40, 8)) for _ in range(3)))
    steps = run_example("robots").steps
    page = offline_page("<!doctype html>" + steps._repr_html_() + seen._repr_html_(), height=1500)
    page.frame_locator("iframe").nth(0).get_by_text("0.404").first.wait_for()
    page.frame_locator("iframe").nth(1).get_by_text("40 queries · 2 heads").wait_for()
    page.locator("summary").first.press("Enter")
    assert "0.404" in page.locator("pre").first.inner_text()


def test_a_watched_model_shows_itself(offline_page, one_torch, tiny_model):
    with regard.watch(tiny_model) as seen:
        tiny_model(input_ids=one_torch.arange(6)[None])
    page = offline_page(f"<!doctype html>{seen._repr_html_()}")
    frame = page.frame_locator("iframe")
    frame.locator(".text-frame:visible .t").nth(2).click()
    frame.locator(".statement", has_text="2 looks at").wait_for()
    frame.get_by_role("button", name="layer 1, head 2").click()
    frame.locator(".run-about", has_text="Layer 1, head 2").wait_for()
    assert frame.get_by_text("Layers and heads count from 0.").count() == 1
    with regard.watch(tiny_model) as nothing:
        pass
    assert nothing._repr_html_() == (
        '<div><pre style="overflow-x:auto">Seen: nothing yet: call the model inside the block.'
        "</pre></div>"
    )


def test_a_long_text_is_shown_by_cells(offline_page):
    rng = np.random.default_rng(0)
    seen = regard.observe(*(rng.normal(size=(2, 700, 4)) for _ in range(3)), top=4)
    frame = offline_page(f"<!doctype html>{seen._repr_html_()}").frame_locator("iframe")
    frame.get_by_text("This page holds the 4 largest weights of each token").wait_for()


def test_what_would_swell_a_notebook_is_a_picture(monkeypatch):
    monkeypatch.setattr("regard.view.page.notebook.MAX_OUTPUT_CHARACTERS", 10_000)
    cell = run_example("robots").steps._repr_html_()
    assert "<iframe" not in cell
    assert 'src="data:image/svg+xml;base64,' in cell


def test_hostile_words_stay_words(offline_page):
    steps = regard.self_attention(*[np.eye(2)] * 4, words=[HOSTILE, '"><b>x'])
    page = offline_page(f"<!doctype html>{steps._repr_html_()}")
    # By the keyboard: a picture above that comes late would move it away from under a click.
    page.locator("summary").first.press("Enter")
    page.locator("pre", has_text="onerror").first.wait_for()
    assert page.locator("b").count() == 0


WIDGET = """
<!doctype html><meta charset=utf-8><div id=cell></div><script type="module">
const values = JSON.parse(document.getElementById("values").textContent);
window.sent = [];
const model = {
  get: (name) => values[name],
  set: (name, value) => { values[name] = value; },
  save_changes: () => window.sent.push(structuredClone(values.selection)),
};
SCRIPT
window.close = render({ model, el: document.getElementById("cell") });
</script>
"""


def test_a_selection_in_the_widget_comes_back_and_it_is_as_high_as_its_page(
    offline_page, readings, until
):
    values = {"page": framed_content(readings[1]), "title": "Reading", "height": 300}
    script = (files("regard.view") / "web" / "widget.mjs").read_text(encoding="utf-8")
    html = WIDGET.replace("SCRIPT", script.replace("export default", "window.made ="))
    page = offline_page(
        html.replace("<div id=cell>", json_block("values", values) + "<div id=cell>")
    )
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Other heads").click()
    frame.get_by_role("button", name="layer 1, head 2").first.click()
    until(page, "sent.some((one) => one.layer === 1 && one.head === 2 && one.part === 'encoder')")
    frame.locator(".t", has_text="food").first.click()
    until(page, "sent.at(-1).queries.includes(4)")
    until(page, "document.querySelector('iframe').offsetHeight > 400")
    inner = frame.locator("body").evaluate("(body) => body.getBoundingClientRect().height")
    outer = page.evaluate("document.querySelector('iframe').offsetHeight")
    assert abs(outer - inner) <= 4
    # Whoever else sends a message is not heard.
    page.evaluate(
        """() => new Promise((heard) => {
          addEventListener("message", heard, { once: true });
          postMessage({ regard: "selection", selection: { layer: 7 } }, "*");
        }).then(() => null)"""
    )
    assert page.evaluate("sent.every((one) => one.layer !== 7)")
