"""A run of another model in a real browser: its text, its rows, its heads, at any length."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")

from tests.helpers.planted_model import planted_model, planted_tokenizer  # noqa: E402
from tests.helpers.small_tokenizers import byte_level  # noqa: E402

import regard  # noqa: E402
from regard.engine.observe import observe  # noqa: E402
from regard.errors import NotAskedError  # noqa: E402
from regard.text.words import TokenizedText  # noqa: E402
from regard.watcher.capture.runs import LayerKey, MemoryUse  # noqa: E402
from regard.watcher.layer import LayerObservation  # noqa: E402
from regard.watcher.seen import Seen  # noqa: E402

HOSTILE = "</script><img src=x onerror=alert(1)><b id='bold'>"
TEXT = (
    "# Notes\n\nThe dog ate the food, because it was hungry.\n    def f(x):\n        return x\n"
    f"{HOSTILE}\nThe dog ate the food, because it was good."
)
SHOWN = ".text-frame:visible .t"
# Over when what a new width moves has been drawn.
NEXT_FRAMES = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)));
})"""
SPANS = "[...document.querySelectorAll('.text-frame:not([hidden]) .t')]"


@pytest.fixture(scope="module")
def seen() -> Seen:
    torch.manual_seed(0)
    tokenizer = byte_level()
    config = hf.GPT2Config(vocab_size=len(tokenizer), n_layer=2, n_head=4, n_embd=32,
                           n_positions=256, bos_token_id=1, eos_token_id=2)  # fmt: skip
    model = hf.GPT2LMHeadModel(config).eval()
    for block in model.transformer.h:  # sharper than random parameters are
        block.attn.c_attn.weight.data *= 12
    with regard.watch(model, tokenizer=tokenizer, keep="auto") as seen, torch.no_grad():
        model(**tokenizer(TEXT, return_tensors="pt"))
    return seen.with_text(TEXT)


@pytest.fixture(scope="module")
def home(serve, seen, tmp_path_factory) -> str:
    """A server with the run, and with the same one without query and key."""
    place = tmp_path_factory.mktemp("runs")
    seen.save(place / "run.regard")
    coarse = seen.run(0)
    coarse.save(place / "again.regard")
    return serve(place / "run.regard", place / "again.regard")


@pytest.fixture
def run_page(home, new_page, noticed):
    """A function that opens the run at a state."""
    noticed.homes.append(home)

    def opened(fields: str = "", **options: Any) -> Any:
        page = new_page(**options)
        page.goto(f"{home}/#map{fields}")
        settled(page)
        return page

    return opened


def settled(page: Any) -> None:
    """Wait until the run is drawn."""
    page.locator(".view.map:not(.loading) .statement:not(:empty)").wait_for()
    page.locator(".row-list li").first.wait_for()
    page.locator(".map-what:not(:empty)").wait_for()


def statement(page: Any) -> str:
    return page.locator(".statement").inner_text()


def token(page: Any, number: int) -> Any:
    return page.locator(f'.text-frame:visible [data-t="{number}"]').first


def test_the_text_stands_as_it_was_written_and_hostile_tokens_stay_text(run_page, seen):
    page = run_page()
    text = page.evaluate(
        "() => [...document.querySelectorAll('.text-frame:not([hidden]) .text-body > div')]"
        ".map((line) => line.textContent).join('')"
    )
    assert text.replace("<s>", "", 1) == TEXT  # a special token is a mark before the text
    assert page.locator("img, #bold, script:not([src])").count() == 0
    assert page.locator(SHOWN).first.evaluate("(t) => getComputedStyle(t).fontSize")
    size = page.locator(".text-body:visible").evaluate("(b) => getComputedStyle(b).fontSize")
    assert size == "16px"
    assert not re.search("[ĊĠ▁]", page.locator("main").inner_text())


def test_tokens_are_named_and_listed_as_they_stand_in_the_text(run_page):
    page = run_page()
    names = page.evaluate("""async () => {
      const { tokenContext, tokenName } = await import("/run/source.js");
      const text = { segments: ["it", " was", " hung", "ry", ".\\n", "The", " dog"], names: {} };
      return [text.segments.map((_, at) => tokenName(text, at)), tokenContext(text, 5, 2)];
    }""")
    assert names[0] == ["it", "was", "hung…", "…ry", ".", "The", "dog"]
    assert names[1] == ["ry.\u00a0", "The", " dog"]
    page.goto(page.url.split("#")[0] + "#map?row=12&layer=1&head=2")
    heading = page.locator(".row-panel .panel-title", has_text="(12) looks at")
    heading.wait_for()


def test_it_opens_at_the_most_telling_head_and_a_row_that_has_a_choice(run_page, seen):
    page = run_page()
    first = seen.report().sorted("telling").rows[0]
    about = page.locator(".run-about").inner_text()
    assert about == f"Layer {first.layer}, head {first.head} {first.label}."
    chosen = page.locator(".head[aria-current]")
    assert chosen.get_attribute("title") == f"layer {first.layer}, head {first.head}: {first.label}"
    assert chosen.evaluate("(b) => b === document.querySelector('.head')")
    row = int(page.locator(f"{SHOWN}.asking").get_attribute("data-t"))
    assert row > 0
    assert "looks at" in statement(page)
    page.goto(page.url.split("#")[0] + "#map?row=0")
    page.locator(".statement", has_text="has no choice").wait_for()
    assert statement(page) == "<s> sees one token, <s>: it has no choice"


def test_numbers_on_the_page_are_pythons(run_page, seen, saved):
    """The map that is saved, cell by cell; the list of a row; and the weights of tokens."""
    page = run_page("?layer=1&head=2&row=40")
    files = saved(page)
    name = next(name for name in files if name.endswith(".json"))
    weights_qk = seen[1].tile(slice(None), slice(None), 2)
    stored = json.loads(files[name])["weights"]
    assert np.size(stored) == weights_qk.size > 3000
    np.testing.assert_allclose(stored, weights_qk, atol=1e-6)  # float32 on the way
    listed = page.locator(".row-list li").all()
    order = np.argsort(-weights_qk[40], kind="stable")
    for item, key in zip(listed, order, strict=False):
        assert int(item.get_attribute("data-position")) == key
        shown = float(re.search(r"[\d.]+", item.locator(".number").inner_text())[0]) / 100
        assert shown == pytest.approx(weights_qk[40, key], rel=0.06)  # two digits are written
    for key in (order[0], order[3], 7):
        token(page, key).hover()
        told = page.locator(".token-tag:visible").inner_text()
        shown = float(re.search(r"[\d.]+(?= %)|^0(?= )", told)[0]) / 100
        assert shown == pytest.approx(weights_qk[40, key], rel=0.06, abs=1e-5)


SHADES = """() => [...document.querySelectorAll('.text-frame:not([hidden]) .t')]
  .map((t) => [Number(t.dataset.t), t.style.backgroundColor])"""


def test_shades_follow_the_row_and_who_looks_at_it_the_column(run_page, seen):
    page = run_page("?layer=1&head=2&row=40")
    weights_qk = seen[1].tile(slice(None), slice(None), 2)

    def darkest() -> int:
        def brightness(colour: str) -> int:
            return sum(int(x) for x in re.findall(r"\d+", colour)) if colour else 1000

        return min(page.evaluate(SHADES), key=lambda one: brightness(one[1]))[0]

    assert darkest() == weights_qk[40].argmax()
    # Rows of a causal head end at the token itself: nothing after it is shaded.
    later = [colour for at, colour in page.evaluate(SHADES) if at > 40]
    assert set(later) == {""}
    page.get_by_role("button", name="what looks at it").click()
    page.locator(".statement", has_text="is looked at by").wait_for()
    assert "direction=in" in page.url
    assert darkest() == weights_qk[:, 40].argmax()
    page.get_by_role("button", name="what it looks at").click()
    page.locator(".statement", has_text="looks at").wait_for()
    assert "row=40" in page.url


def test_a_click_chooses_a_row_and_another_head_keeps_it(run_page, seen, until):
    page = run_page("?layer=1&head=2")
    token(page, 33).click()
    until(page, "location.hash.includes('row=33')")
    page.locator(".head:not([aria-current])").nth(3).click()
    until(page, "!location.hash.includes('head=2')")
    assert "row=33" in page.url
    page.locator(f'{SHOWN}.asking[data-t="33"]').wait_for()
    page.reload()
    settled(page)
    page.locator(f'{SHOWN}.asking[data-t="33"]').wait_for()
    page.go_back()
    page.locator('.head[aria-current][data-layer="1"][data-head="2"]').wait_for()


def test_pointing_at_a_head_shows_the_token_there(run_page, seen):
    page = run_page("?layer=1&head=2&row=40")
    other = page.locator('.head[data-layer="0"][data-head="1"]')
    best = int(seen[0].tile(40, slice(None), 1)[0].argmax())
    weight = float(seen[0].tile(40, best, 1)[0, 0])
    other.hover()
    page.locator(".run-about", has_text="Layer 0, head 1").wait_for()
    assert f"{100 * weight:.0f} %" in statement(page) or weight > 0.995
    page.mouse.move(5, 5)
    page.locator(".run-about", has_text="Layer 1, head 2").wait_for()
    assert "layer=1" in page.url


def test_by_keyboard(run_page, until):
    page = run_page("?layer=1&head=2&row=40")
    page.locator(".text-pane:visible").focus()
    page.keyboard.press("ArrowRight")
    until(page, "location.hash.includes('row=41')")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    until(page, "location.hash.includes('row=39')")
    page.keyboard.press("Shift+ArrowLeft")
    until(page, "location.hash.includes('key=')")
    page.keyboard.press("Escape")
    until(page, "!location.hash.includes('key=')")
    page.keyboard.press("ArrowDown")
    until(page, "!location.hash.includes('row=39')")
    heads = page.locator(".head")
    heads.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(page, "document.querySelectorAll('.head')[1].hasAttribute('aria-current')")
    assert page.locator("#announcement").inner_text()


def test_keys_are_counted_from_what_was_chosen_and_not_from_what_is_drawn(run_page, until):
    """Two keys one after the other, while the numbers of the row before are still on their way."""
    page = run_page("?layer=1&head=2&row=40")
    waiting = []
    page.route("**/api/map/row", lambda route: waiting.append(route), times=1)
    page.locator(".text-pane:visible").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "row=39" in page.url
    until(page, lambda: bool(waiting))
    waiting[0].continue_()
    page.locator(f'{SHOWN}.asking[data-t="39"]').wait_for()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    assert "key=37" in page.url


def test_heads_are_ranked_by_a_measure(run_page, seen, until):
    page = run_page()
    page.get_by_label("Order of the heads").select_option("previous")
    until(page, "location.hash.includes('by=previous')")
    rows = seen.report().rows
    expected = sorted(rows, key=lambda row: row.baseline["previous"] - row.measured["previous"])
    shown = [(int(x.get_attribute("data-layer")), int(x.get_attribute("data-head")))
             for x in page.locator(".head").all()]  # fmt: skip
    assert shown == [(row.layer, row.head) for row in expected]
    share = expected[0].measured["previous"]
    assert f"{100 * share:.0f} %" in page.locator(".head").first.inner_text()
    token(page, 40).click()
    token(page, 5).click(modifiers=["Shift"])
    page.locator(f'{SHOWN}.aimed[data-t="5"]').wait_for()
    page.get_by_label("Order of the heads").select_option("link")
    best = max((float(seen[layer].tile(40, 5, head)[0, 0]), layer, head)
                for layer in (0, 1) for head in range(4))  # fmt: skip
    until(page, "location.hash.includes('by=link')")
    first = f'.head:first-of-type[data-layer="{best[1]}"][data-head="{best[2]}"]'
    page.locator(first).wait_for()


POINTED = re.compile(r"Query ([\d,]+).* key ([\d,]+)", re.DOTALL)


def pointed(page: Any) -> tuple[int, int]:
    told = page.locator(".cursor", has_text="Query").inner_text()
    return tuple(int(x.replace(",", "")) for x in POINTED.search(told).groups())


def test_the_wheel_enlarges_where_the_pointer_is_and_does_not_drift(run_page, until):
    page = run_page("?layer=1&head=2")
    page.locator(".map-what", has_text="one weight").wait_for()
    box = page.locator(".map-canvas").bounding_box()
    # Whole pixels: a wheel has no others.
    page.mouse.move(round(box["x"] + 0.43 * box["width"]), round(box["y"] + 0.71 * box["height"]))
    query, key = pointed(page)
    for _ in range(14):
        page.mouse.wheel(0, -120)
        assert pointed(page) == (query, key)
    finest = page.evaluate("location.hash")
    rows = [int(x) for x in re.search(r"rows=(\d+)-(\d+)", finest).groups()]
    assert rows[1] - rows[0] in (8, 9)
    for _ in range(6):
        page.mouse.wheel(0, -120)
    assert page.evaluate("location.hash") == finest
    for _ in range(20):
        page.mouse.wheel(0, 120)
    until(page, "!location.hash.includes('rows=')")
    assert pointed(page) == (query, key)


def test_a_click_on_the_map_chooses_its_row(run_page, until):
    page = run_page("?layer=1&head=2&row=3")
    page.locator(".map-what", has_text="one weight").wait_for()
    box = page.locator(".map-canvas").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.8 * box["height"])
    query, _ = pointed(page)
    page.mouse.down()
    page.mouse.up()
    until(page, f"location.hash.includes('row={query}')")


def test_finding_something_in_the_text(run_page):
    page = run_page()
    page.get_by_label("Find in the text").fill("because it")
    page.locator(".run-tools", has_text="1 of 2").wait_for()
    found = "".join(page.locator(f"{SHOWN}.found").all_text_contents())
    assert found.replace(" ", "").startswith("becauseit")
    page.keyboard.press("Enter")
    page.locator(".run-tools", has_text="2 of 2").wait_for()
    page.get_by_label("Find in the text").fill("zebra")
    page.locator(".run-tools", has_text="not found").wait_for()


def test_no_other_view_shows_another_text_without_a_word(run_page, until):
    page = run_page("?layer=1&head=2&row=40")
    for view in ("Look", "Steps", "Learn"):
        page.get_by_role("link", name=view, exact=True).click()
        told = page.locator(".not-of-run")
        told.wait_for()
        assert "regard’s own translator, not run.regard" in told.inner_text()
        assert "layer=" not in page.url
    page.get_by_role("button", name="Back to run.regard").click()
    settled(page)
    assert page.locator(".not-of-run").count() == 0
    assert page.get_by_role("link", name="Your model").get_attribute("aria-current") == "page"


def test_what_the_address_names_and_the_run_has_not_is_said(run_page):
    page = run_page("?layer=77")
    told = page.locator(".trouble").inner_text()
    assert told == "layer must be one of 0, 1, got 77: the first is shown in its place."
    page.locator(".head").first.click()
    page.locator(".trouble:empty").wait_for(state="attached")


def test_another_file_is_another_run(run_page, until):
    page = run_page("?layer=1&head=2&row=40")
    page.get_by_label("File").select_option("again.regard")
    until(page, "location.hash.includes('file=1')")
    settled(page)
    assert "row=" not in page.url


def test_every_size_fits_and_the_picture_is_in_sight(run_page, sideways, until):
    page = run_page()
    for width, height in ((1440, 900), (1280, 800), (1024, 768), (390, 844)):
        case = f"{width} x {height}"
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(NEXT_FRAMES)
        until(page, lambda: sideways(page) == 0)
        for part in (".statement", ".text-pane:visible"):
            box = page.locator(part).bounding_box()
            assert box["y"] + min(box["height"], 200) <= height, f"{case}, {part}"
        if width >= 1280:
            lowest = page.evaluate("document.documentElement.scrollHeight")
            assert lowest <= height
            for column in (".text-column", ".map-column", ".heads-column"):
                box = page.locator(column).bounding_box()
                assert box["y"] + box["height"] <= height + 1, f"{case}, {column}"
            right = page.locator(".heads-column").bounding_box()
            assert right["x"] + right["width"] > 0.95 * width - 48


def test_everything_can_be_saved_and_the_page_works_without_a_network(
    run_page, saved, offline_page, seen
):
    files = saved(run_page("?layer=1&head=2&row=40"))
    kinds = {name.rpartition(".")[2] for name in files}
    assert kinds == {"svg", "png", "pdf", "json", "csv", "html"}
    page = offline_page(next(x for name, x in files.items() if name.endswith("html")).decode())
    settled(page)
    weights_k = seen[1].tile(40, slice(None), 2)[0]
    page.locator(f'{SHOWN}.asking[data-t="40"]').wait_for()
    best = page.locator(".row-list li").first
    assert int(best.get_attribute("data-position")) == weights_k.argmax()
    page.locator(".head:not([aria-current])").first.click()
    page.locator(f'{SHOWN}.asking[data-t="40"]').wait_for()
    page.get_by_role("button", name="what looks at it").click()
    page.locator(".statement", has_text="is looked at by").wait_for()


LONG = 120_000


class LongLayers:
    """A run of one layer of two heads over a text longer than any screen."""

    tokenizer = processor = texts = verdict = None
    sentences, pictures, paths, others = 1, (), {}, ()
    layer_keys = (LayerKey("decoder", 0),)

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        words = ["the", "river", "sang", "to", "old", "hills", "while", "boats", "slept"]
        chosen = random.integers(0, len(words), LONG)
        segments = tuple(
            f"\n{words[at]}" if number % 61 == 60 else f" {words[at]}"
            for number, at in enumerate(chosen.tolist())
        )
        names = tuple(segment.strip() for segment in segments)
        self.text = TokenizedText(names, names, names, tuple(range(LONG)), segments)
        query, key = (random.normal(size=(2, LONG, 8)).astype(np.float32) for _ in range(2))
        seen = observe(2 * query, key, key, window=(96, 0), top=4, map=64)
        values = {x: getattr(seen, x) for x in ("facts", "_profile", "parts", "keys", "cost")}
        self.observed = LayerObservation(
            **values, name="decoder layer 0", query_text=self.text, key_text=self.text
        )

    def mixers(self, sentence: int) -> None:
        raise NotAskedError("no mixers were watched")

    def has(self, key: LayerKey, sentence: int) -> bool:
        return True

    def layer(self, key: LayerKey, sentence: int) -> LayerObservation:
        return self.observed

    def prompt_tokens(self, part: str, sentence: int) -> int | None:
        return None

    def recorded_bytes(self) -> MemoryUse:
        return MemoryUse(0, 0, 0)

    def image_grids(self, *_: Any) -> Any:
        raise regard.errors.NotAskedError("no image")


@pytest.fixture(scope="module")
def long_run(tmp_path_factory) -> tuple[Any, LongLayers]:
    layers = LongLayers()
    path = tmp_path_factory.mktemp("long") / "long.regard"
    Seen(layers).save(path)
    return path, layers


def test_a_hundred_thousand_tokens_open_and_scroll(serve, new_page, noticed, until, long_run):
    path, layers = long_run
    noticed.homes.append(serve(path))
    page = new_page(width=1440, height=900)
    page.goto(f"{noticed.homes[-1]}/#map?row=60000&head=1")
    settled(page)
    count = f"{SPANS}.length"
    assert f"{LONG:,} tokens" in page.locator(".run-title").inner_text()
    assert 0 < page.evaluate(count) < 6000
    page.locator(f'{SHOWN}.asking[data-t="60000"]').wait_for()
    weights_k = layers.observed.row(60000, 1)
    best = page.locator(".row-list li").first
    assert int(best.get_attribute("data-position")) == weights_k.argmax()
    pane = page.locator(".text-pane:visible")
    pane.evaluate("(p) => { p.scrollTop = p.scrollHeight; }")
    page.locator(f'{SHOWN}[data-t="{LONG - 1}"]').wait_for()
    assert page.evaluate(count) < 6000
    pane.focus()
    page.keyboard.press("Home")
    page.locator(f'{SHOWN}.asking[data-t="0"]').wait_for()
    shown = "".join(page.locator(SHOWN).all_text_contents())
    assert shown.startswith(layers.text.segments[0].strip())
    # The frame of what is in sight, dragged to the middle, takes the text there.
    handle = page.locator(".seen-handle").bounding_box()
    box = page.locator(".map-canvas").bounding_box()
    page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], handle["y"], steps=4)
    page.mouse.up()
    until(page, f"Number({SPANS}[0].dataset.t) > 40000")
    until(page, "Number((location.hash.match(/at=(\\d+)/) || [])[1]) > 40000")


def test_a_file_without_query_and_key_says_what_is_exact(
    serve, new_page, noticed, long_run, tmp_path
):
    _, layers = long_run
    few = LongLayers.__new__(LongLayers)
    few.text, few.observed = layers.text, replace(layers.observed, parts=())
    Seen(few).save(path := tmp_path / "few.regard")
    noticed.homes.append(serve(path))
    page = new_page()
    page.goto(f"{noticed.homes[-1]}/#map?row=60000&head=1")
    settled(page)
    assert page.locator(".missing").inner_text() == (
        "Exact are the 4 largest weights of each token and the cells of the map, means over 2,048 x"
        " 2,048 tokens; single weights beyond them are not known, because query and key of this "
        "layer were not kept."
    )
    top = layers.observed.top(4)
    assert [int(x.get_attribute("data-position")) for x in page.locator(".row-list li").all()] == (
        top.keys[1, 60000].tolist()
    )
    assert page.get_by_role("button", name="what looks at it").is_disabled()
    assert "not known one by one" in page.locator(".row-panel").inner_text()


def test_both_texts_of_a_model_with_two_sides(serve, new_page, noticed, until, tmp_path):
    torch.manual_seed(0)
    tokenizer = byte_level()
    sizes = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (("layers", 2), ("attention_heads", 2), ("ffn_dim", 16))
    }
    config = hf.BartConfig(
        vocab_size=len(tokenizer), d_model=16, max_position_embeddings=64, bos_token_id=1,
        eos_token_id=2, pad_token_id=0, decoder_start_token_id=2, **sizes,
    )  # fmt: skip
    model = hf.BartForConditionalGeneration(config).eval()
    source, target = (tokenizer(x, return_tensors="pt")["input_ids"]
                      for x in ("The dog ate the food.", "was good!"))  # fmt: skip
    with torch.no_grad(), regard.watch(model, tokenizer=tokenizer) as seen:
        model(input_ids=source, decoder_input_ids=target)
    seen.save(path := tmp_path / "two.regard")
    noticed.homes.append(serve(path))
    page = new_page()
    page.goto(f"{noticed.homes[-1]}/#map?part=cross&layer=1&head=0&row=2")
    settled(page)
    panes = page.locator(".text-frame:visible")
    assert panes.count() == 2
    assert "was good!" in "".join(panes.first.locator(".text-body").all_text_contents())
    weights_qk = seen["cross", 1].tile(slice(None), slice(None), 0)
    first = page.locator(".row-list li").first
    assert int(first.get_attribute("data-position")) == weights_qk[2].argmax()
    panes.last.locator('[data-t="3"]').click()  # a word of the input: who looks at it
    page.locator(".statement", has_text="is looked at by").wait_for()
    assert int(first.get_attribute("data-position")) == weights_qk[:, 3].argmax()
    panes.first.locator('[data-t="1"]').click()
    page.locator(".statement", has_text="looks at").wait_for()
    until(page, "location.hash.includes('row=1')")
    page.get_by_role("button", name="encoder", exact=True).click()
    until(page, "document.querySelectorAll('.text-frame:not([hidden])').length === 1")


def test_the_planted_heads_have_their_words(serve, new_page, noticed, tmp_path):
    text = "the lighthouse number is seven nine four . what a river sang . the lighthouse number is"
    with regard.watch(planted_model(), tokenizer=planted_tokenizer()) as seen, torch.no_grad():
        planted_model()(**planted_tokenizer()(text, return_tensors="pt"))
    seen.save(path := tmp_path / "planted.regard")
    noticed.homes.append(serve(path))
    page = new_page()
    page.goto(f"{noticed.homes[-1]}/#map")
    settled(page)
    words = {x.locator("b").inner_text(): x.locator(".head-label span").inner_text()
             for x in page.locator(".head").all()}  # fmt: skip
    assert words["0.0"] == "previous"
    assert words["1.0"] == "induction"
    assert words["0.1"] == "first token"
    assert page.locator(".large .t").count() > 0  # a short text has large letters
    assert page.locator(".text-arcs .arc").count() == 1
