"""What watch saw, as the page sees it: layers and heads, tokens of both sides, every weight."""

import json
import re

import numpy as np
import numpy.testing as npt
import pytest
from safetensors.numpy import save_file

import regard
from regard.engine.files import mapped_arrays
from regard.errors import ArgumentError, FileError
from regard.view.page.embed import offline_page
from regard.view.page.maps import observation_source, open_file
from regard.view.page.regions import Region, region_cells

SIZES = {"n_layer": 2, "n_head": 4, "n_embd": 16, "vocab_size": 40, "n_positions": 64,
         "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip


@pytest.fixture(scope="module")
def seen():
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
    hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")
    torch.manual_seed(0)
    model = hf.GPT2LMHeadModel(hf.GPT2Config(**SIZES)).eval()
    with regard.watch(model, keep=(1,)) as seen, torch.no_grad():
        model(input_ids=torch.arange(3, 33)[None])
    return seen


def test_every_layer_of_a_file_has_its_tokens_and_heads(seen, tmp_path):
    seen.save(tmp_path / "it.regard")
    opened = open_file(tmp_path / "it.regard")
    assert [layer.name for layer in opened.layers] == ["decoder layer 0", "decoder layer 1"]
    layer = opened.layer(1)
    assert layer.about()["heads"] == ["0", "1", "2", "3"]
    assert layer.about()["text"]
    assert layer.text("key", 2, 5) == list(seen.tokens[2:5])
    assert [opened.layer(at).about()["fine"] for at in (0, 1)] == [False, True]


@pytest.mark.parametrize("layer", [0, 1])  # by a map of single tokens; by query and key
def test_regions_are_the_weights(seen, tmp_path, layer):
    seen.save(tmp_path / "it.regard")
    found = open_file(tmp_path / "it.regard").layer(layer)
    shown = region_cells(found.seen, (2,), Region((5, 25), (0, 20), (99, 99)), thorough=False,
                      check=lambda: None)  # fmt: skip
    assert shown.description == "exact: every cell is one weight"
    # float32: a map's sums and a tile's exponentials round each in their own way
    npt.assert_allclose(shown.values_rc, seen[layer].tile(slice(5, 25), slice(0, 20), 2), atol=1e-6)


def test_a_short_text_is_read_head_by_head(seen):
    page = offline_page(seen)
    embedded = json.loads(re.search(r'id="embedded">(.*?)</script>', page, re.DOTALL)[1])
    (part,) = embedded["reading"]["parts"]
    assert (part["name"], part["layers"], part["heads"]) == ("decoder", 2, 4)
    assert part["query"]["tokens"] == list(seen.tokens)
    assert "Layers and heads count from 0." in page
    assert set(embedded["tables"]["decoder"]["blobs"]) >= {"head 0 0", "head 1 3", "layer 1", "all"}


def test_a_layer_alone_has_a_map_and_a_picture(seen):
    assert observation_source(seen[1]).layer(0).name == "decoder layer 1"
    picture = seen.picture(1, 2)
    assert picture.names[0] == seen.tokens
    assert picture.title == "Decoder layer 1, head 2"
    assert picture.caption == "Every weight."
    npt.assert_allclose(picture.weights, seen[1].tile(slice(None), slice(None), 2), atol=1e-7)
    assert '"views": ["map"]' in offline_page(seen[1])


def test_a_page_is_written_or_the_reason_said(seen, tmp_path):
    seen.save(tmp_path / "it.html")
    assert (tmp_path / "it.html").read_text().startswith("<!doctype html>")
    with pytest.raises(FileError, match=r"it.html cannot be written: its folder does not exist\."):
        seen.save(tmp_path / "nowhere" / "it.html")


def test_a_layer_that_is_not_there(tmp_path):
    x = np.eye(3)
    regard.observe(x, x, x).save(tmp_path / "it.regard")
    opened = open_file(tmp_path / "it.regard")
    with pytest.raises(ArgumentError, match="layer must be 0-0, got 5"):
        opened.layer(5)


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
            open_file(path)
        flipped(path, array.start)
    assert open_file(path).layers


def test_an_array_of_a_large_file_is_checked_when_it_is_first_read(seen, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.view.page.maps.CHECKED_AT_ONCE_BYTES", 0)
    monkeypatch.setattr("regard.view.page.maps.CHECKED_BLOCK_BYTES", 100)
    path = tmp_path / "it.regard"
    seen.save(path, query_and_key=True)
    _, arrays = mapped_arrays(path)
    key = arrays["decoder.1.0.part.0.key"]
    flipped(path, key.start + key.nbytes - 1)
    layer = open_file(path).layer(1)
    npt.assert_array_equal(layer.seen.entropy, seen[1].entropy)
    with pytest.raises(FileError, match=re.escape("the numbers of decoder.1.0.part.0.key are")):
        layer.seen.tile(slice(0, 2), slice(0, 2))


@pytest.mark.parametrize("name", ["cost", "keys", "parts", "notes", "contents"])
def test_a_header_without_a_field_is_a_sentence(seen, tmp_path, name):
    path = tmp_path / "it.regard"
    seen[1].save(path, query_and_key=True)
    header, arrays = mapped_arrays(path)
    header.pop(name)
    arrays = {x: np.asarray(array) for x, array in arrays.items()}
    save_file(arrays, path, metadata={"regard": json.dumps(header)})
    with pytest.raises(FileError, match=re.escape(f"{path} is")):
        open_file(path)
