"""The text of a run as it was written, in files too, and query and key up to a limit."""

import numpy.testing as npt
import pytest
import torch
import transformers as hf
from tests.helpers.small_tokenizers import TEXT, byte_level, clip, sentence_piece, word_piece

import regard
from regard.errors import ArgumentError
from regard.text.words import tokenized_ids
from regard.watcher import options


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    sizes = {"n_layer": 2, "n_head": 2, "n_embd": 8, "vocab_size": 500, "n_positions": 256}
    return hf.GPT2LMHeadModel(hf.GPT2Config(**sizes)).eval()


@pytest.mark.parametrize("kind", [byte_level, sentence_piece, word_piece])
def test_a_file_has_the_text_as_it_was_written(model, kind, tmp_path):
    ids = kind()(TEXT, return_tensors="pt")["input_ids"]
    with regard.watch(model, tokenizer=kind(), keep="auto") as seen, torch.no_grad():
        model(ids)
    seen.with_text(TEXT).save(tmp_path / "run.regard")
    loaded = regard.load(tmp_path / "run.regard")
    queries, keys = loaded.texts()
    assert "".join(queries.segments) == "".join(keys.segments) == TEXT
    npt.assert_array_equal(loaded[1].tile(5, slice(None)), seen[1].tile(5, slice(None)))
    with pytest.raises(ArgumentError, match="a file holds its text"):
        loaded.with_text(TEXT)


def test_query_and_key_are_kept_up_to_a_limit(model, monkeypatch):
    ids = torch.arange(3, 43)[None]
    bytes_of_both_layers = 2 * 2 * 40 * 8 * 4  # layers, query and key, tokens, width, float32
    for most, kept in ((bytes_of_both_layers, True), (bytes_of_both_layers - 1, False)):
        monkeypatch.setattr(options, "KEPT_BYTES", most)
        with regard.watch(model, keep="auto", map=8) as seen, torch.no_grad():
            model(ids)
            model(ids[:, :20])
        assert [bool(seen.run(0)[layer].parts) for layer in (0, 1)] == [kept, kept]
        assert seen[0].parts  # a shorter text of the same block has room


def test_words_whose_ends_are_marked():
    """Pieces of CLIP's tokenizer end in '</w>' where a word ends, and say nothing of its start."""
    ids = clip()("a cat ran, cat")["input_ids"]
    for given in (None, "a cat ran, cat"):
        text = tokenized_ids(clip(), ids, len(ids), given)
        assert text.words == ("<|startoftext|>", "a", "cat", "ran", ",", "cat", "<|endoftext|>")
        assert text.tokens[2:7] == ("cat", "r", "+a", "+n", ",")
        assert text.word_of_token == (0, 1, 2, 3, 3, 3, 4, 5, 6)
        assert "".join(text.segments) == "a cat ran, cat"
