"""What watch saw, as the page sees it: layers and heads, tokens of both sides, every weight."""

import json
import re

import numpy as np
import numpy.testing as npt
import pytest

import regard
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
