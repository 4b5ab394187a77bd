"""The layer around a head and the next words, as the page is sent them."""

import json
import struct

import numpy as np
import numpy.testing as npt
import pytest

from regard.engine.int8_matrix import Int8Matrix
from regard.errors import ArgumentError
from regard.transformer.config import END, NORM_EPSILON
from regard.transformer.model import Transformer
from regard.transformer.reading import read
from regard.transformer.residual import ResidualRun
from regard.view.page.routes.steps import ExactRuns
from regard.view.page.steps import (
    LIKELIEST_TOKENS,
    PathData,
    layer_data,
    next_words_data,
    token_name,
)

SENTENCE = "A dog ate the food because it was hungry"
MODEL = Transformer.random(SENTENCE, layers=2, heads=2, width=16, feed_forward_width=32)


def unpacked(content: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    """What the page makes of the bytes: the header, and every matrix and parameter in float64."""
    (long,) = struct.unpack_from("<I", content)
    header, first = json.loads(content[4 : 4 + long]), 4 + long
    assert first % 8 == 0
    assert len(content) % 8 == 0
    arrays = {}
    for name, (rows, columns, start) in header["matrices"].items():
        values = np.frombuffer(content, "<f8", rows * columns, first + 8 * start)
        arrays[name] = values.reshape(rows, columns)
    for name, stored in header["parameters"].items():
        (rows, columns), starts = stored["shape"], [first + x for x in stored["starts"]]
        if stored["kind"] == "float32":
            values = np.frombuffer(content, "<f4", rows * columns, starts[0])
            arrays[name] = values.reshape(rows, columns).astype(np.float64)
        else:
            values = np.frombuffer(content, np.int8, rows * columns, starts[0])
            scale = np.frombuffer(content, "<f4", columns, starts[1])
            arrays[name] = (values.reshape(rows, columns) * scale).astype(np.float64)
    return header, arrays


def norm(x_te: np.ndarray, gain: np.ndarray, bias: np.ndarray) -> np.ndarray:
    spread = np.sqrt(x_te.var(axis=1, keepdims=True) + NORM_EPSILON)
    return (x_te - x_te.mean(axis=1, keepdims=True)) / spread * gain + bias


def worked_out(sent: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every stage of a layer after its heads, in plain NumPy."""
    stages = {"x": norm(sent["input"], sent["attention_norm_gain"], sent["attention_norm_bias"])}
    stages["projected"] = sent["joined"] @ sent["w_output"]
    stages["residual"] = sent["input"] + stages["projected"]
    if "w_in" in sent:
        gain, bias = sent["feed_forward_norm_gain"], sent["feed_forward_norm_bias"]
        stages["normed"] = norm(stages["residual"], gain, bias)
        stages["hidden"] = np.maximum(stages["normed"] @ sent["w_in"] + sent["b_in"], 0)
        stages["feed_forward"] = stages["hidden"] @ sent["w_out"] + sent["b_out"]
        stages["layer_output"] = stages["residual"] + stages["feed_forward"]
    if "last_norm_gain" in sent:
        last = stages["layer_output"]
        stages["last"] = norm(last, sent["last_norm_gain"], sent["last_norm_bias"])
    return stages


@pytest.fixture(scope="module")
def run() -> ResidualRun:
    return ResidualRun.from_reading(read(SENTENCE, model=MODEL))


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_a_layer_leads_to_the_next_one(run, part, layer):
    header, sent = unpacked(layer_data(run, part, layer).to_bytes())
    stages = worked_out(sent)
    reading = run.reading
    # Two runs in float64 that add in another order: sums of 32 terms of order 10 at most.
    close = {"rtol": 0, "atol": 1e-12}
    npt.assert_allclose(stages["x"], reading.vectors(part, layer).x_qe, **close)
    heads = [reading.steps(layer, x, part=part).output for x in range(2)] if part != "cross" else []
    if heads:
        npt.assert_allclose(sent["joined"], np.concatenate(heads, axis=1), **close)
    after, end = {"decoder": ("cross", "residual"), "cross": ("decoder", "layer_output")}.get(
        part, ("encoder", "layer_output")
    )
    following = layer if part == "decoder" else layer + 1
    if following < 2:
        given = unpacked(layer_data(run, after, following).to_bytes())[1]["input"]
        npt.assert_allclose(stages[end], given, **close)
    assert header["tokens"] == list(reading.texts(part)[0].tokens)
    assert ("last" in stages) == (layer == 1 and part != "decoder")
    if part == "encoder" and layer == 1:
        npt.assert_allclose(stages["last"], reading.vectors("cross", 0).memory_ke, **close)


def test_the_first_layer_is_given_embedding_and_position(run):
    header, sent = unpacked(layer_data(run, "encoder", 0).to_bytes())
    assert header["ids"] == list(run.reading.translated.source)
    scaled = sent["embedding"].astype(np.float32) * np.float32(4)
    npt.assert_array_equal(sent["input"], scaled + sent["position"].astype(np.float32))


def test_the_likeliest_next_tokens(run):
    header, sent = unpacked(next_words_data(run).to_bytes())
    final = norm(sent["last"], sent["last_norm_gain"], sent["last_norm_bias"])
    reading = run.reading
    true = MODEL.logits(np.array([reading.translated.source]), np.array([run.given]))[0]
    # The model's own logits are float32.
    true = true.astype(np.float64)
    share = np.exp(true - true.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    for row, candidates in enumerate(header["candidates"]):
        ids = [header["ids"][x] for x in candidates]
        logits = sent["vectors"][candidates] @ final[row]
        npt.assert_allclose(logits, true[row, ids], atol=2e-5)
        shown = np.exp(logits - header["logsumexp"][row])
        npt.assert_allclose(shown, share[row, ids], atol=2e-5)
        assert set(ids) >= set(
            np.argsort(-true[row], kind="stable")[: LIKELIEST_TOKENS - 2].tolist()
        )
        assert (np.diff(shown[:LIKELIEST_TOKENS]) <= 0).all()
    chosen = [header["ids"][x] for x in header["chosen"]]
    assert chosen == [*reading.translated.tokens, END]
    assert header["names"] == [token_name(MODEL.tokenizer, x) for x in header["ids"]]


def test_int8_parameters_travel_as_they_are_stored():
    matrix = Int8Matrix.quantised(np.random.default_rng(0).normal(size=(5, 3)))
    plain = np.asarray(matrix)
    content = PathData({}, {"x": np.ones((1, 3))}, {"w": matrix, "b": plain[:1]}).to_bytes()
    header, sent = unpacked(content)
    assert [x["kind"] for x in header["parameters"].values()] == ["int8", "float32"]
    npt.assert_array_equal(sent["w"], plain.astype(np.float64))
    npt.assert_array_equal(sent["b"], plain[:1].astype(np.float64))


def test_runs_are_kept_for_the_next_layer_and_given_up():
    runs = ExactRuns()
    readings = [read(text, model=MODEL) for text in ("A dog ate", "the food", "it was", "hungry")]
    first = runs.get(readings[0], quick=True)
    assert runs.get(readings[0], quick=True) is first
    assert runs.get(readings[0], quick=False) is not first
    content = runs.next_words(readings[0])
    assert runs.next_words(readings[0]) is content
    assert content == next_words_data(ResidualRun.from_reading(readings[0])).to_bytes()
    for other in readings[1:]:
        runs.get(other, quick=True)
    assert runs.get(readings[0], quick=True) is not first
    long = [read("dog " * 120 + word, model=MODEL) for word in ("ate", "was")]
    kept = [runs.get(x, quick=True) for x in long]
    assert runs.get(long[1], quick=True) is kept[1]
    # Two texts of 120 tokens and more, and their translations, are too much together.
    assert runs.get(long[0], quick=True) is not kept[0]


def test_a_layer_that_is_none(run):
    with pytest.raises(ArgumentError, match="layer must be a number from 0 to 1"):
        layer_data(run, "encoder", 2)
    with pytest.raises(ArgumentError, match="part must be 'encoder', 'decoder' or 'cross'"):
        layer_data(run, "nowhere", 0)
