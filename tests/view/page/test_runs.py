"""A watched run in the Read view: its text, its heads with their labels, every weight."""

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

import regard
from regard.cli.open import first_view
from regard.errors import ArgumentError
from regard.view.page.runs import open_run, readable_run
from regard.watcher.seen import Seen

SIZES = {"n_layer": 3, "n_head": 4, "n_embd": 16, "vocab_size": 40, "n_positions": 64,
         "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip


@pytest.fixture(scope="module")
def seen() -> Seen:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    torch.manual_seed(0)
    model = hf.GPT2LMHeadModel(hf.GPT2Config(**SIZES)).eval()
    with regard.watch(model) as seen, torch.no_grad():
        model(input_ids=torch.arange(3, 33)[None])
    return seen


@pytest.fixture(scope="module")
def path(seen: Seen, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.regard"
    seen.save(path)
    return path


def test_a_run_is_a_reading_with_every_weight(seen, path):
    run = open_run(path)
    (part,) = run.reading["parts"]
    assert (part["name"], part["layers"], part["heads"]) == ("decoder", 3, 4)
    assert part["query"]["tokens"] == list(seen.tokens)
    labels = [row.label for row in seen.report().rows]
    assert [label for row in part["described_roles"] for label in row] == labels
    fields = {"part": "decoder", "layer": 2, "head": 1}
    weights_hqk = seen[2].tile(slice(None), slice(None))
    # The file holds float32; a tile's exponentials round on the way.
    npt.assert_allclose(run.weights(fields), weights_hqk[1], atol=1e-6)
    npt.assert_allclose(run.weights(fields | {"show": "layer"}), weights_hqk.mean(0), atol=1e-6)
    assert run.thumbnails(fields).shape == (3, 4, 24, 24)


def test_a_run_opens_in_read(path):
    assert first_view("", (path,)) == ("read", {"file": "0"})


def test_what_cannot_be_read_opens_in_map(tmp_path):
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    path = tmp_path / "one.regard"
    regard.observe(x, x, x).save(path)
    assert readable_run(path) is None
    assert first_view("", (path,)) == ("map", {})
    with pytest.raises(ArgumentError) as raised:
        open_run(path)
    assert str(raised.value) == (
        "one.regard cannot be shown in the Read view, which needs one text of at most 1,024 tokens "
        "with its query and key: use the Map view."
    )


def test_read_and_map_show_the_same_head(page, serve, noticed, until, path):
    address = serve(path)
    noticed.homes.append(address)
    page.goto(f"{address}/#read?file=0")
    page.get_by_label("decoder, layer 2, head 1").click()
    page.locator(".title", has_text="layer 2, head 1").wait_for()
    assert (
        page.locator(".introduction h1").text_content()
        == "run.regard: what a watched model looked at"
    )
    page.get_by_role("link", name="Map").click()
    page.locator(".statement", has_text="decoder layer 2, head 1").wait_for()
    page.get_by_role("link", name="Look").click()
    page.locator(".title", has_text="layer 2, head 1").wait_for()
    page.get_by_role("button", name="Read a sentence with the shipped model").click()
    page.locator(".sentence").wait_for()
    page.go_back()
    page.locator(".title", has_text="layer 2, head 1").wait_for()


def test_two_runs_side_by_side(page, serve, noticed, path, tmp_path, seen):
    seen.save(tmp_path / "other.regard")
    address = serve(path, tmp_path / "other.regard")
    noticed.homes.append(address)
    page.goto(f"{address}/#read?file=0&layer=1&head=2&q=9")
    page.locator(".statement:not(:empty)").wait_for()
    # Experiments run the shipped model: a file has none.
    assert page.locator(".questions button").count() == 0
    page.get_by_label("Compare with", exact=True).select_option("other.regard")
    page.locator(".difference:not(:empty)").wait_for()
    assert page.text_content(".beside .title") == "Beside it: other.regard: layer 1, head 2⇄ swap"
    told = f"{seen.tokens[9]} puts 0 % of its attention elsewhere there."
    assert page.text_content(".difference").startswith(told)
    page.get_by_role("button", name="swap").click()
    page.locator("h1", has_text="other.regard").wait_for()
    assert "file=1" in page.url
    assert "beside=file.0" in page.url


def test_the_text_of_a_run_is_shaded_by_the_chosen_row(page, serve, noticed, path, seen):
    address = serve(path)
    noticed.homes.append(address)
    page.goto(f"{address}/#read?file=0&layer=1&head=2&q=9")
    page.locator(".english .shaded").first.wait_for()
    row = open_run(path).weights({"part": "decoder", "layer": 1, "head": 2})[9]
    shaded = page.locator(".english .shaded").all_text_contents()
    assert shaded == [seen.tokens[k] for k in np.flatnonzero(row >= 0.005)]
    assert page.locator(".english .asking").all_text_contents() == [seen.tokens[9]]


def test_heads_by_what_they_do_and_tokens_one_by_one(page, serve, noticed, until, path, seen):
    address = serve(path)
    noticed.homes.append(address)
    page.goto(f"{address}/#read?file=0&layer=1&head=2")
    page.get_by_role("button", name="by what they do").click()
    page.locator(".kind").first.wait_for()
    assert "order=role" in page.url
    roles = [row.label.partition(":")[0] for row in seen.report().rows]
    groups = {x.get_attribute("aria-label"): x.locator(".kind button").count()
              for x in page.locator(".part section").all()}  # fmt: skip
    plain = ["rests on one token" if x.startswith("rests on '") else x for x in roles]
    assert groups == {x: plain.count(x) for x in plain}
    assert page.locator(".kind [aria-current]").count() == 1
    page.get_by_role("button", name="Step through the text").click()
    slider = page.get_by_label("Token of the text")
    slider.focus()
    for _ in range(7):
        slider.press("ArrowRight")
    until(page, "location.hash.includes('step=7')")
    tokens = seen.tokens
    assert page.locator(".step-caption").text_content() == (
        f"8 of 30: {tokens[7]}; next comes {tokens[8]}"
    )
    assert page.locator(".statement").text_content().startswith(f"{tokens[7]} looks at")
    assert page.locator(".english .later").count() == 30 - 8
    assert page.locator(".answers .later").count() == 30 - 8
    page.get_by_role("button", name="One token on").click()
    until(page, "location.hash.includes('step=8')")
    page.reload()
    page.locator(".english .later").first.wait_for()
    page.get_by_role("button", name="all at once").click()
    until(page, "!document.querySelector('.later')")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seen]:
    """A file of a run that generated five tokens after a prompt of six, and what was seen."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    torch.manual_seed(0)
    model = hf.GPT2LMHeadModel(hf.GPT2Config(**SIZES)).eval()
    ids = torch.arange(3, 9)[None]
    options = {"do_sample": False, "max_new_tokens": 6, "min_new_tokens": 6, "pad_token_id": 0}
    with regard.watch(model) as seen:
        model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options)
    path = tmp_path_factory.mktemp("runs") / "generated.regard"
    seen.save(path)
    return path, seen


def test_generated_tokens_are_told_from_the_prompt(page, serve, noticed, until, generated):
    path, seen = generated
    address = serve(path)
    noticed.homes.append(address)
    page.goto(f"{address}/#read?file=0&layer=1&head=2&by=tokens")
    page.locator(".picture canvas").wait_for()
    for side in (".asks", ".answers"):
        assert page.locator(f"{side} .generated").all_text_contents() == list(seen.tokens[6:])
    note = "The model generated 5 tokens, in italics; it was given 6 tokens before them."
    assert page.locator(".notes", has_text=note).count() == 1
    page.get_by_role("button", name="Step through the text").click()
    # The last token of the prompt chose the first that was generated.
    until(page, "location.hash.includes('step=5')")
    page.goto(f"{address}/#read?file=0&layer=1&head=2")
    assert page.locator(".english .generated").count() == len(seen.words) - 6


def test_a_run_without_generation_marks_nothing(path):
    (part,) = open_run(path).reading["parts"]
    assert part["query"]["generated"] is part["key"]["generated"] is None
    assert open_run(path).reading["notes"] == ["All watched layers are here."]
