"""The encoder of the shipped transformer over many windows at once, without padding.

The tokens of all windows are the rows of one array, and every product has ROWS rows. The same
windows give the same bits each time. Among other windows those of a document move to other rows of
a product, where some kernels of BLAS (OpenBLAS for AVX2, the one of most processors) add a sum up
in another order: its numbers then agree to float32's rounding, a millionth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from regard.corpus.window_sums import MeasuredRun, WindowSums
from regard.corpus.windows import LengthGroup, Window, groups_of_length, runs_of_windows
from regard.engine.dense import dense_attention
from regard.transformer.layers import EncoderLayer, join_heads, split_heads, times
from regard.transformer.model import Transformer
from regard.typing import Array

ROWS = 128  # rows of one product: enough for nine tenths of BLAS's best speed
RUN = 2048  # tokens that go through the layers together


def observe_windows(model: Transformer, windows: Sequence[Window], bands: slice) -> WindowSums:
    """Sums of every head of the encoder in every window."""
    heads = model.config.layers * model.config.heads
    sums = WindowSums.empty(len(windows), heads, bands)
    for chosen in runs_of_windows([len(window.tokens) for window in windows], RUN):
        texts = [windows[i].tokens for i in chosen]
        groups = list(groups_of_length([len(text) for text in texts], model.config.heads))
        tokens = [np.array(texts[group.windows]) for group in groups]
        _observe(model, groups, MeasuredRun(sums, chosen, tokens))
    return sums


def _observe(model: Transformer, groups: list[LengthGroup], run: MeasuredRun) -> None:
    """Run the encoder over texts sorted by length."""
    own = model.config.heads
    x_te = _vectors(model, groups, run.tokens)
    qkv_te = np.empty((len(x_te), 3 * model.config.width), np.float32)
    sums_te = np.zeros_like(x_te)
    for number, layer in enumerate(model.encoders):
        _queries_keys_values(layer, x_te, qkv_te)
        heads = slice(number * own, (number + 1) * own)
        for index, group in enumerate(groups):
            shape = (-1, group.length, qkv_te.shape[1])
            query, key, value = _three(qkv_te[group.rows].reshape(shape), own)
            output_bhqd, weights_bhqk = dense_attention(query, key, value)
            sums_te[group.rows] = join_heads(output_bhqd).reshape(-1, x_te.shape[1])
            run.add(index, heads, weights_bhqk)
        if layer is not model.encoders[-1]:  # the last layer's output is not needed
            _rest_of_layer(layer, x_te, sums_te)
    run.compare_heads()


def _vectors(
    model: Transformer, groups: list[LengthGroup], tokens: Sequence[NDArray[np.int64]]
) -> Array:
    """The vectors of all tokens, below each other, and rows of zeros up to a full product."""
    rows = -(-groups[-1].rows.stop // ROWS) * ROWS
    x_te = np.zeros((rows, model.config.width), np.float32)
    for group, tokens_bt in zip(groups, tokens, strict=True):
        x_te[group.rows] = model.vectors(tokens_bt).reshape(-1, model.config.width)
    return x_te


def _queries_keys_values(layer: EncoderLayer, x_te: Array, qkv_te: Array) -> None:
    for block in _blocks(len(x_te)):
        normed = layer.self_attention_norm(x_te[block])
        qkv_te[block] = times(normed, layer.self_attention.w_qkv)


def _three(qkv_bte: Array, heads: int) -> tuple[Array, Array, Array]:
    width = qkv_bte.shape[-1] // 3
    query, key, value = (
        split_heads(qkv_bte[..., i * width : (i + 1) * width], heads) for i in range(3)
    )
    return query, key, value


def _rest_of_layer(layer: EncoderLayer, x_te: Array, sums_te: Array) -> None:
    """x += heads side by side @ w_output, then x += feed_forward(norm(x))."""
    for block in _blocks(len(x_te)):
        x_te[block] += times(sums_te[block], layer.self_attention.w_output)
        x_te[block] += layer.feed_forward(layer.feed_forward_norm(x_te[block]))


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS) for start in range(0, rows, ROWS))
