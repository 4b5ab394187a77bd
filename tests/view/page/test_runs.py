"""Runs as the page takes them: texts as they were written, parts, heads, and what was generated."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from safetensors.numpy import save_file

import regard
from regard.engine.files import mapped_arrays
from regard.errors import ArgumentError, FileError, NotAskedError
from regard.view.page.embed import offline_page
from regard.view.page.regions import Region, region_cells
from regard.view.page.runs import observed_run, open_run, watched_run
from regard.watcher.seen import Seen

SIZES = {"n_layer": 3, "n_head": 4, "n_embd": 16, "n_positions": 128, "bos_token_id": 1,
         "eos_token_id": 2}  # fmt: skip
TEXT = "# Notes\n\nThe dog ate the food, because it was hungry.\n    def f(x):\n        return x\n"


def tiny(hf: Any, vocabulary: int) -> Any:
    return hf.GPT2LMHeadModel(hf.GPT2Config(vocab_size=vocabulary, **SIZES)).eval()


@pytest.fixture(scope="module")
def seen() -> Seen:
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    from tests.helpers.small_tokenizers import byte_level

    torch.manual_seed(0)
    tokenizer = byte_level()
    model = tiny(hf, len(tokenizer))
    with regard.watch(model, tokenizer=tokenizer, keep=(1,)) as seen, torch.no_grad():
        model(**tokenizer(TEXT, return_tensors="pt"))
    return seen.with_text(TEXT)


@pytest.fixture(scope="module")
def path(seen: Seen, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run.regard"
    seen.save(path)
    return path


def test_the_text_is_the_one_that_was_read_with_its_line_breaks(seen, path):
    text = open_run(path).text(0)
    assert "".join(text["segments"]) == TEXT
    assert not any(x in "".join(text["segments"]) for x in ("Ċ", "Ġ", " ,"))
    assert text["names"] == {0: "<s>"}  # a token that writes nothing
    assert len(text["segments"]) == len(seen.tokens)


def test_a_text_without_segments_is_put_together_from_its_tokens(seen):
    from dataclasses import replace

    layer = seen[0]
    bare = replace(layer, query_text=None, key_text=replace(layer.key_text, segments=()))
    text = observed_run(bare).text(0)
    assert "".join(text["segments"]).startswith("<s> # Notes \\n \\n The")


def test_a_part_has_its_layers_heads_and_sides(seen, path):
    run = open_run(path)
    (part,) = run.about()["parts"]
    assert (part["name"], [x["number"] for x in part["layers"]]) == ("decoder", [0, 1, 2])
    assert part["layers"][0]["heads"] == ["0", "1", "2", "3"]
    assert part["query"] == {"text": 0, "offset": 0, "generated": None} == part["key"]
    assert run.about()["texts"] == [len(seen.tokens)]


@pytest.mark.parametrize("layer", [0, 1])  # by a map of single tokens; by query and key
def test_rows_columns_and_regions_are_the_weights(seen, path, layer):
    found = open_run(path).parts[0].layer(layer)
    weights_qk = seen[layer].tile(slice(None), slice(None), 2)
    # float32: a map's sums and a tile's exponentials round each in their own way
    for at in (0, 5, len(seen.tokens) - 1):
        npt.assert_allclose(found.row((2,), at).weights, weights_qk[at], atol=1e-6)
        npt.assert_allclose(found.column((2,), at).weights, weights_qk[:, at], atol=1e-6)
    shown = region_cells(found.seen, (2,), Region((5, 25), (0, 20), (99, 99)), thorough=False,
                         check=lambda: None)  # fmt: skip
    assert shown.description == "exact: every cell is one weight"
    npt.assert_allclose(shown.values_rc, weights_qk[5:25, :20], atol=1e-6)


def test_heads_have_the_measures_and_the_order_of_the_report(seen, path):
    ranking = open_run(path).heads()
    report = seen.report().sorted("telling")
    places = [(x["layer"], x["head"]) for x in ranking["heads"]]
    assert places == [(row.layer, row.head) for row in report.rows]
    for head, row in zip(ranking["heads"], report.rows, strict=True):
        assert head["label"] == row.label
        assert head["measures"]["induction"] == [
            row.measured["induction"],
            row.baseline["induction"],
        ]
        assert head["word"]
    first = ranking["first"]
    assert (first["layer"], first["head"]) == places[0]
    link = ranking["heads"][0]["link"]
    weight = seen[first["layer"]].tile(link["query"], link["key"], first["head"])[0, 0]
    assert link["weight"] == pytest.approx(float(weight), abs=1e-6)
    assert first["query"] == link["query"] > 0  # the first row sees one key, and says nothing


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Seen]:
    """A file of a run that generated five tokens after a prompt of six, and what was seen."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    torch.manual_seed(0)
    model = tiny(hf, 40)
    ids = torch.arange(3, 9)[None]
    options = {"do_sample": False, "max_new_tokens": 6, "min_new_tokens": 6, "pad_token_id": 0}
    with regard.watch(model) as seen:
        model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **options)
    path = tmp_path_factory.mktemp("runs") / "generated.regard"
    seen.save(path)
    return path, seen


def test_a_judged_run_has_a_mark_on_each_head(tmp_path):
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    model = tiny(hf, 40)
    with torch.no_grad(), regard.watch(model) as seen, regard.judge(seen):
        model(torch.arange(3, 30)[None])
    seen.save(tmp_path / "judged.regard")
    run = open_run(tmp_path / "judged.regard")
    marks = {(x["layer"], x["head"]): x["judged"] for x in run.heads()["heads"]}
    units = {(x["layer"], x["head"]): x["units"] for x in seen.verdict.to_dicts()}
    assert marks == {place: f"right, {number:.2f} units" for place, number in units.items()}
    assert len(marks) == 12
    assert [x for x in run.about()["notes"] if "right to rounding: 3 layers, 12 heads" in x]


def test_generated_tokens_are_told_from_the_prompt(generated, page, serve, noticed):
    path, seen = generated
    run = open_run(path)
    (part,) = run.about()["parts"]
    assert (part["query"]["generated"], part["key"]["generated"]) == (6, 6)
    assert run.about()["notes"] == [
        "The model generated 5 tokens, in italics; it was given 6 tokens before them."
    ]
    assert len(run.texts[0].tokens) == len(seen.tokens) == 11
    noticed.homes.append(serve(path))
    page.goto(f"{noticed.homes[-1]}/#map")
    page.locator(".text-frame:visible .t.written").first.wait_for()
    written = page.locator(".text-frame:visible .t.written").all_text_contents()
    assert written == list(seen.tokens[6:])
    # Token by token: the row of each, by the buttons beside its name.
    page.locator(".text-frame:visible .t").nth(5).click()
    page.get_by_role("button", name="The token after").click()
    page.locator('.text-frame:visible .asking[data-t="6"]').wait_for()


def test_every_sentence_of_a_batch_is_a_run(tmp_path):
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    torch.manual_seed(0)
    with regard.watch(model := tiny(hf, 40)) as seen, torch.no_grad():
        mask = torch.tensor([[1] * 9, [1] * 5 + [0] * 4])
        model(input_ids=torch.arange(18).reshape(2, 9), attention_mask=mask)
    seen.save(path := tmp_path / "batch.regard")
    first, second = (open_run(path, number) for number in (0, 1))
    assert first.about()["sentences"] == 2
    assert [run.about()["texts"] for run in (first, second)] == [[9], [5]]
    npt.assert_allclose(
        second.parts[0].layer(1).row((2,), 4).weights, seen.sentence(1)[1].row(4, 2), atol=1e-6
    )
    with pytest.raises(ArgumentError, match="sentence must be 0-1, got 2"):
        open_run(path, 2)


def test_queries_on_a_cache_are_the_end_of_one_text():
    """A call reads ten more tokens than the cache has: its rows are the last ten of the text."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    from tests.helpers.small_tokenizers import byte_level

    torch.manual_seed(0)
    tokenizer = byte_level()
    model, ids = tiny(hf, len(tokenizer)), torch.arange(300, 330)[None]
    with torch.no_grad():
        cache = model(input_ids=ids[:, :20], use_cache=True).past_key_values
        with regard.watch(model, tokenizer=tokenizer, keep="all") as seen:
            model(input_ids=ids[:, 20:], past_key_values=cache)
    run = watched_run(seen)
    (part,) = run.parts
    assert (part.query, part.key, part.offset) == (0, 0, 20)
    npt.assert_allclose(part.layer(0).row((0,), 9).weights, seen[0].row(9, 0), atol=1e-6)


def test_both_texts_of_a_model_with_two_sides(tmp_path):
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    torch.manual_seed(0)
    sizes = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (("layers", 2), ("attention_heads", 2), ("ffn_dim", 16))
    }
    config = hf.BartConfig(
        vocab_size=40, d_model=16, max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
        pad_token_id=0, decoder_start_token_id=2, **sizes,
    )  # fmt: skip
    model = hf.BartForConditionalGeneration(config).eval()
    with torch.no_grad(), regard.watch(model) as seen:
        model(input_ids=torch.arange(3, 12)[None], decoder_input_ids=torch.arange(20, 26)[None])
    run = watched_run(seen)
    about = {part["name"]: part for part in run.about()["parts"]}
    assert list(about) == ["encoder", "decoder", "cross"]
    assert run.about()["texts"] == [9, 6]
    assert (about["cross"]["query"]["text"], about["cross"]["key"]["text"]) == (1, 0)


def test_an_observation_has_no_text():
    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    run = observed_run(regard.observe(x, x, x))
    (part,) = run.about()["parts"]
    assert (run.about()["texts"], part["query"]["text"]) == ([], None)
    assert part["layers"][0]["heads"] == ["0"]
    npt.assert_allclose(run.parts[0].layer(0).row(None, 3).weights, regard.observe(x, x, x).row(3))


def test_nothing_seen_is_said():
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    with regard.watch(tiny(hf, 40)) as seen:
        pass
    with pytest.raises(NotAskedError, match="nothing was seen yet"):
        watched_run(seen)


def flipped(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("is_run", [False, True], ids=["observation", "run"])
def test_every_damaged_array_is_refused_when_a_small_file_is_opened(seen, tmp_path, is_run):
    path = tmp_path / "it.regard"
    saved = seen if is_run else seen[1]
    saved.save(path, query_and_key=True)
    _, arrays = mapped_arrays(path)
    for name, array in arrays.items():
        flipped(path, array.start)
        with pytest.raises(FileError, match=re.escape(f"the numbers of {name} are not those")):
            open_run(path)
        flipped(path, array.start)
    assert open_run(path).parts


def test_an_array_of_a_large_file_is_checked_when_it_is_first_read(seen, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.view.page.maps.CHECKED_AT_ONCE_BYTES", 0)
    monkeypatch.setattr("regard.view.page.maps.CHECKED_BLOCK_BYTES", 100)
    path = tmp_path / "it.regard"
    seen.save(path, query_and_key=True)
    _, arrays = mapped_arrays(path)
    key = arrays["decoder.1.0.part.0.key"]
    flipped(path, key.start + key.nbytes - 1)
    layer = open_run(path).parts[0].layer(1)
    npt.assert_array_equal(layer.seen.entropy, seen[1].entropy)
    with pytest.raises(FileError, match=re.escape("the numbers of decoder.1.0.part.0.key are")):
        layer.row((0,), 3)


@pytest.mark.parametrize("name", ["cost", "keys", "parts", "notes", "contents"])
def test_a_header_without_a_field_is_a_sentence(seen, tmp_path, name):
    path = tmp_path / "it.regard"
    seen[1].save(path, query_and_key=True)
    header, arrays = mapped_arrays(path)
    header.pop(name)
    arrays = {x: np.asarray(array) for x, array in arrays.items()}
    save_file(arrays, path, metadata={"regard": json.dumps(header)})
    with pytest.raises(FileError, match=re.escape(f"{path} is")):
        open_run(path)


def test_a_page_is_written_or_the_reason_said(seen, tmp_path):
    seen.save(tmp_path / "it.html")
    assert (tmp_path / "it.html").read_text().startswith("<!doctype html>")
    with pytest.raises(FileError, match=r"it.html cannot be written: its folder does not exist\."):
        seen.save(tmp_path / "nowhere" / "it.html")


def test_a_layer_alone_has_a_run_and_a_picture(seen):
    run = observed_run(seen[1])
    assert [part.name for part in run.parts] == ["decoder layer 1"]
    picture = seen.picture(1, 2)
    assert picture.names[0] == seen.tokens
    assert picture.title == "Decoder layer 1, head 2"
    assert picture.caption == "Every weight."
    npt.assert_allclose(picture.weights, seen[1].tile(slice(None), slice(None), 2), atol=1e-7)


def embedded(page: str) -> dict[str, Any]:
    return json.loads(re.search(r'id="embedded">(.*?)</script>', page, re.DOTALL)[1])


def test_a_short_run_is_embedded_with_every_weight(seen):
    data = embedded(offline_page(seen))
    assert data["views"] == ["map"]
    (part,) = data["run"]["about"]["parts"]
    assert [layer["exact"] for layer in part["layers"]] == [True] * 3
    assert "".join(data["run"]["texts"][0]["segments"]) == TEXT


def test_a_long_run_is_embedded_by_its_cells_and_largest_weights():
    x = np.random.default_rng(0).normal(size=(2, 1100, 8)).astype(np.float32)
    seen = regard.observe(x, x, x, causal=True, map=64, top=4)
    run = embedded(offline_page(seen))["run"]
    (layer,) = run["about"]["parts"][0]["layers"]
    assert (run["pairs"], layer["exact"], layer["least"]) == (4, False, [5, 5])
    assert layer["missing"] == (
        "This page holds the 4 largest weights of each token and maps in cells of 5 x 5 tokens, "
        "all exact; for the rest open the .regard file."
    )


def test_the_text_of_a_run_is_shaded_by_the_chosen_row(page, serve, noticed, path, seen):
    noticed.homes.append(serve(path))
    page.goto(f"{noticed.homes[-1]}/#map?layer=1&head=2&row=9")
    page.locator('.text-frame:visible .asking[data-t="9"]').wait_for()
    row = seen[1].row(9, 2)
    shaded = page.evaluate(
        "() => [...document.querySelectorAll('.text-frame:not([hidden]) .t')]"
        ".filter((t) => t.style.backgroundColor).map((t) => Number(t.dataset.t))"
    )
    assert shaded == np.flatnonzero(row / row.max() >= 0.0016).tolist()
