"""Decoding by the native kernel: the steps of StepDecoder, and the same translations."""

from dataclasses import replace

import numpy as np
import pytest

from regard.engine.int8_matrix import Int8Matrix
from regard.engine.native.library import levels, using_level
from regard.engine.tiles.threads import using_threads
from regard.transformer import Search, beam_search, load_model, translate
from regard.transformer.config import END, PAD, START
from regard.transformer.decoding import StepDecoder, native_decoder
from regard.transformer.search import encode_sources

SOURCES = ([10, 20, 30, 40, 50, 60, 3], [7, 8, 3], [100, 101, 102, 103, 3], [9, 3])
SENTENCES = [
    "A dog ate the food because it was hungry.", "I am good.", "The cat sat on the mat.",
    "She put the book on the table because it was heavy, and then she left the room.",
    "They did not come.", "Smart robots perform complex tasks.",
]  # fmt: skip
NATIVE = [
    pytest.param(x, marks=() if x in levels() else pytest.mark.skip(f"no native level {x} here"))
    for x in ("baseline", "avx2", "avx512", "neon")
]


@pytest.fixture(scope="module")
def int8_model(folder):
    """A model that likes END, so that beams are over at different lengths."""
    model = load_model(folder)
    embedding = np.array(model.embedding_ve)
    embedding[END] = embedding[4:40].mean(axis=0) * 5
    return replace(model, embedding_ve=Int8Matrix.quantised(embedding, axis=0))


@pytest.mark.parametrize("level", NATIVE)
@pytest.mark.parametrize("beams", [1, 3])
def test_every_step_equals_that_of_numpy(int8_model, level, beams):
    random = np.random.default_rng(beams)
    with using_level(level):
        encoded = encode_sources(int8_model, SOURCES)
        native = native_decoder(int8_model, encoded, beams)
    plain = StepDecoder(int8_model, encoded, beams)
    rows = len(SOURCES) * beams
    token_n = np.full(rows, START)
    for _ in range(40):  # more than a new cache has positions
        best_nk, tokens_nk = native.best_next(token_n, 4)
        with using_level("off"):
            expected_nk, expected_tokens_nk = plain.best_next(token_n, 4)
        np.testing.assert_allclose(best_nk, expected_nk, rtol=2e-5, atol=2e-5)
        np.testing.assert_array_equal(tokens_nk, expected_tokens_nk)
        within = random.integers(0, beams, (len(SOURCES), beams))
        rows_n = (within + np.arange(0, rows, beams)[:, None]).reshape(-1)
        token_n = random.integers(4, 340, rows)
        native.reorder(rows_n)
        plain.reorder(rows_n)


@pytest.mark.parametrize("level", NATIVE)
def test_sentences_that_are_done_are_dropped_and_rows_that_are_over_are_skipped(int8_model, level):
    with using_level(level):
        encoded = encode_sources(int8_model, SOURCES)
        native = native_decoder(int8_model, encoded, 2)
    plain = StepDecoder(int8_model, encoded, 2)
    steps = [
        (np.full(8, START), [1, 0, 2, 2, 5, 4, 7, 7]),
        (np.array([9, END, 11, 12, END, 14, 15, 16]), [0, 1, 4, 5, 7, 6]),
        (np.array([20, PAD, PAD, 23, 24, 25]), [0, 1, 4, 5]),
        (np.array([30, PAD, END, 33]), [0, 1, 2, 3]),
    ]
    for token_n, rows_n in steps:
        active = ~np.isin(token_n, (END, PAD))
        found, expected = native.best_next(token_n, 3), plain.best_next(token_n, 3)
        np.testing.assert_allclose(found[0][active], expected[0][active], rtol=2e-5, atol=2e-5)
        np.testing.assert_array_equal(found[1][active], expected[1][active])
        native.reorder(np.array(rows_n))
        plain.reorder(np.array(rows_n))


@pytest.mark.parametrize("level", NATIVE)
@pytest.mark.parametrize("beams", [1, 4])
def test_searches_agree_on_any_threads(int8_model, level, beams):
    with using_level("off"):
        expected = beam_search(int8_model, SOURCES, Search(beams))
    for number in (1, 3):
        with using_level(level), using_threads(number):
            for one, other in zip(
                beam_search(int8_model, SOURCES, Search(beams)), expected, strict=True
            ):
                assert (one.tokens, one.finished) == (other.tokens, other.finished)
                assert one.score == pytest.approx(other.score, abs=2e-5)


@pytest.mark.parametrize("level", NATIVE)
def test_shipped_model_translates_the_same_without_native_kernels(level):
    model = load_model()
    with using_level("off"):
        expected = translate(model, SENTENCES)
    with using_level(level):
        for one, other in zip(translate(model, SENTENCES), expected, strict=True):
            assert one.tokens == other.tokens
            assert one.score == pytest.approx(other.score, abs=2e-5)


def test_equal_logits_are_taken_in_order(int8_model):
    if not levels():
        pytest.skip("no native kernels here")
    embedding = np.array(int8_model.embedding_ve)
    embedding[[7, 30, 200, 333]] = 9 * embedding[7]
    model = replace(int8_model, embedding_ve=Int8Matrix.quantised(embedding, axis=0))
    encoded = encode_sources(model, SOURCES)
    found = native_decoder(model, encoded, 1).best_next(np.full(4, START), 4)[1]
    expected = StepDecoder(model, encoded, 1).best_next(np.full(4, START), 4)[1]
    np.testing.assert_array_equal(found, expected)


def test_parameters_in_float32_are_left_to_numpy(model, int8_model):
    assert native_decoder(model, encode_sources(model, SOURCES), 1) is None
    with using_level("off"):
        assert native_decoder(int8_model, encode_sources(int8_model, SOURCES), 1) is None
