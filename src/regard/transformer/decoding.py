"""Incremental decoding: one token a step, with keys and values cached.

Rows are b x beams, called n. Each row has a cache of its own for self-attention; the source's keys
and values are shared by the beams of a sentence.

``StepDecoder`` computes in NumPy and takes interventions. ``NativeStepDecoder`` computes the same
by one native call a step, for int8 parameters; it skips rows that are over, and the beams that all
begin with START.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.dense import dense_attention
from regard.engine.int8_matrix import Int8Matrix
from regard.engine.native.library import function
from regard.engine.threads import threads
from regard.transformer.config import END, NORM_EPSILON, PAD
from regard.transformer.intervention import AttentionResult, Intervention
from regard.transformer.layers import DecoderLayer, Matrix, Norm, split_heads, times
from regard.transformer.model import Encoded, Transformer
from regard.typing import Array

Numbers = NDArray[np.int64]
Kernel = Callable[..., int]
_INITIAL_POSITIONS = 16  # of a new cache
_VECTOR_FLOATS = 16  # of the widest vector register


@dataclass
class KeyValueCache:
    """Keys and values of one layer for the tokens so far: (n, h, capacity, d)."""

    key_nhkd: Array
    value_nhkd: Array

    @classmethod
    def empty(cls, rows: int, heads: int, width: int) -> KeyValueCache:
        shape = (rows, heads, _INITIAL_POSITIONS, width)
        return cls(np.empty(shape, np.float32), np.empty(shape, np.float32))

    def put(self, position: int, key_nh1d: Array, value_nh1d: Array) -> None:
        """Write the key and value of one position; a full cache doubles its capacity."""
        if position == self.key_nhkd.shape[2]:
            self.key_nhkd, self.value_nhkd = _doubled(self.key_nhkd), _doubled(self.value_nhkd)
        self.key_nhkd[:, :, position] = key_nh1d[:, :, 0]
        self.value_nhkd[:, :, position] = value_nh1d[:, :, 0]

    def reorder(self, rows_n: Numbers, used: int) -> None:
        """Take row i from what was row rows_n[i]."""
        if len(rows_n) < len(self.key_nhkd):
            self.key_nhkd, self.value_nhkd = self.key_nhkd[rows_n], self.value_nhkd[rows_n]
            return
        # Most rows keep their index: only the others are copied.
        moved = np.flatnonzero(rows_n != np.arange(len(rows_n)))
        for array_nhkd in (self.key_nhkd, self.value_nhkd):
            array_nhkd[moved, :, :used] = array_nhkd[rows_n[moved], :, :used]


@dataclass(frozen=True)
class SourceKeys:
    """Keys and values of the source for one layer's cross-attention, made once: (b, h, k, d)."""

    key_bhkd: Array
    value_bhkd: Array

    def take(self, sentences_b: Numbers) -> SourceKeys:
        """Those of some sentences of the batch."""
        return SourceKeys(self.key_bhkd[sentences_b], self.value_bhkd[sentences_b])


class StepDecoder:
    """The decoders on one batch, step by step: keys of the source and caches of the target."""

    def __init__(
        self,
        model: Transformer,
        encoded: Encoded,
        beams: int,
        intervention: Intervention | None = None,
    ) -> None:
        self.model, self.beams, self.position = model, beams, 0
        self.intervention, self.sentence_b = intervention, np.arange(len(encoded.memory_bke))
        self.source = [_source_keys(layer, encoded.memory_bke) for layer in model.decoders]
        keys = np.arange(encoded.memory_bke.shape[1])
        lengths = encoded.lengths
        self.visible_b11k = None if lengths is None else keys < lengths[:, None, None, None]
        rows = len(encoded.memory_bke) * beams
        sizes = (rows, model.config.heads, model.config.head_width)
        self.caches = [KeyValueCache.empty(*sizes) for _ in model.decoders]

    def best_next(self, token_n: Numbers, number: int) -> tuple[Array, Numbers]:
        return _likeliest(self.next_logits(token_n), number)

    def next_logits(self, token_n: Numbers) -> Array:
        """logits_nv of what follows these tokens, which stand at the position reached."""
        x_ne = self.model.vectors(token_n[:, None], first=self.position)[:, 0]
        for number in range(len(self.caches)):
            self._layer(x_ne, number)
        self.position += 1
        return times(self.model.decoder_norm(x_ne), self.model.embedding_ve.T)

    def _layer(self, x_ne: Array, number: int) -> None:
        """Add the outputs of one decoder layer to x, in place."""
        layer, cache = self.model.decoders[number], self.caches[number]
        normed_n1e = layer.self_attention_norm(x_ne)[:, None]
        query, key, value = layer.self_attention.query_key_value(normed_n1e)
        cache.put(self.position, key, value)
        used = self.position + 1
        arrays = (query, cache.key_nhkd[:, :, :used], cache.value_nhkd[:, :, :used])
        output_nh1d = self._changed("decoder", number, arrays, *dense_attention(*arrays))
        x_ne += times(output_nh1d.reshape(x_ne.shape), layer.self_attention.w_output)
        x_ne += self._cross_attention(x_ne, number)
        x_ne += layer.feed_forward(layer.feed_forward_norm(x_ne))

    def _cross_attention(self, x_ne: Array, number: int) -> Array:
        """Cross-attention, the beams of a sentence side by side as queries on the same keys."""
        layer, source = self.model.decoders[number], self.source[number]
        attention = layer.cross_attention
        query_ne = times(layer.cross_attention_norm(x_ne), attention.part("w_query"))
        query_bqe = query_ne.reshape(-1, self.beams, x_ne.shape[1])
        arrays = (split_heads(query_bqe, attention.heads), source.key_bhkd, source.value_bhkd)
        result = dense_attention(*arrays, self.visible_b11k)
        output_bhqd = self._changed("cross", number, arrays, *result)
        output_ne = output_bhqd.swapaxes(1, 2).reshape(x_ne.shape)
        return times(output_ne, attention.w_output)

    def _changed(
        self,
        part: str,
        number: int,
        arrays: tuple[Array, Array, Array],
        output_bhqd: Array,
        weights_bhqk: Array,
    ) -> Array:
        """Head outputs after the intervention, if any, which is given one row for each beam."""
        if self.intervention is None:
            return output_bhqd
        query_bhqd, key_bhkd, value_bhkd = arrays
        visible, beams = None, query_bhqd.shape[2]
        if part == "cross":
            key_bhkd, value_bhkd = (np.repeat(x, beams, axis=0) for x in (key_bhkd, value_bhkd))
            if self.visible_b11k is not None:
                visible = np.repeat(self.visible_b11k, beams, axis=0)
        given = AttentionResult(
            part, number, self.position, np.repeat(self.sentence_b, self.beams),
            _beams_to_rows(query_bhqd), key_bhkd, value_bhkd, _beams_to_rows(weights_bhqk),
            _beams_to_rows(output_bhqd), visible,
        )  # fmt: skip
        result = self.intervention(given)
        if result is given:
            return output_bhqd
        batch, heads, _, width = output_bhqd.shape
        return result.output_bhqd.reshape(batch, beams, heads, width).swapaxes(1, 2)

    def reorder(self, rows_n: Numbers) -> None:
        for cache in self.caches:
            cache.reorder(rows_n, self.position)
        active_b = rows_n[:: self.beams] // self.beams
        if len(active_b) == len(self.source[0].key_bhkd):
            return
        self.source = [x.take(active_b) for x in self.source]
        self.sentence_b = self.sentence_b[active_b]
        if self.visible_b11k is not None:
            self.visible_b11k = self.visible_b11k[active_b]


def _source_keys(layer: DecoderLayer, memory_bke: Array) -> SourceKeys:
    key_bhkd, value_bhkd = layer.cross_attention.key_value(memory_bke)
    return SourceKeys(np.ascontiguousarray(key_bhkd), np.ascontiguousarray(value_bhkd))


def _beams_to_rows(array_bhqx: Array) -> Array:
    """(b, h, beams, x) to (n, h, 1, x); an array with one query per row is unchanged."""
    batch, heads, beams, width = array_bhqx.shape
    return array_bhqx.swapaxes(1, 2).reshape(batch * beams, heads, 1, width)


def _likeliest(logits_nv: Array, number: int) -> tuple[Array, Numbers]:
    """Log-probabilities and tokens of the largest logits; overwrites them."""
    from regard.engine.tiles.topk import largest

    # PAD is no word, so it never competes; it still has its share of the probability.
    pad_n = logits_nv[:, PAD].copy()
    logits_nv[:, PAD] = -np.inf
    best_nk, token_nk = largest(logits_nv, number)
    highest_n1 = np.maximum(best_nk[:, :1], pad_n[:, None])
    np.subtract(logits_nv, highest_n1, out=logits_nv)
    total_n1 = np.exp(logits_nv, out=logits_nv).sum(axis=1, keepdims=True)
    total_n1 += np.exp(pad_n[:, None] - highest_n1)
    return best_nk - (highest_n1 + np.log(total_n1)), token_nk


def _doubled(array_nhkd: Array) -> Array:
    rows, heads, capacity, width = array_nhkd.shape
    larger: NDArray[Any] = np.empty((rows, heads, 2 * capacity, width), array_nhkd.dtype)
    larger[:, :, :capacity] = array_nhkd
    return larger


class _Norm(ctypes.Structure):
    """LayerNorm of the native kernel."""

    _fields_ = (("gain", ctypes.c_void_p), ("bias", ctypes.c_void_p))


class _Layer(ctypes.Structure):
    """StepLayer of the native kernel."""

    _fields_ = (
        *((name, _Norm) for name in ("self_norm", "cross_norm", "feed_forward_norm")),
        *((name, ctypes.c_void_p) for name in (
            "w_qkv", "w_output", "w_cross_query", "w_cross_output", "w_in", "w_out",
            "b_in", "b_out", "cache", "source",
        )),
    )  # fmt: skip


class _Step(ctypes.Structure):
    """DecoderStep of the native kernel."""

    _fields_ = (
        ("layers", ctypes.c_void_p), ("norm", _Norm),
        *((name, ctypes.c_void_p) for name in (
            "embedding", "slot", "sentence", "length", "x", "normed", "mixed", "inner", "logits",
            "entries", "scores", "best", "token",
        )),
        *((name, ctypes.c_int64) for name in (
            "layer_count", "width", "heads", "inner_width", "vocabulary", "rows", "position",
            "slot_stride", "keys", "top", "pad", "threads",
        )),
        ("epsilon", ctypes.c_double),
    )  # fmt: skip


def native_decoder(model: Transformer, encoded: Encoded, beams: int) -> NativeStepDecoder | None:
    """The native decoder of a batch; None where no kernel serves these parameters."""
    kernel = function("decode_step")
    is_int8 = all(isinstance(matrix, Int8Matrix) for matrix in _matrices(model))
    if kernel is None or not is_int8 or encoded.memory_bke.dtype != np.float32:
        return None
    return NativeStepDecoder(kernel, model, encoded, beams)


class NativeStepDecoder:
    """The decoders on one batch, step by step, in native code."""

    def __init__(self, kernel: Kernel, model: Transformer, encoded: Encoded, beams: int) -> None:
        self.kernel, self.model, self.beams, self.position = kernel, model, beams, 0
        batch, keys, width = encoded.memory_bke.shape
        rows, sizes = batch * beams, model.config
        self.sentence_n = np.repeat(np.arange(batch, dtype=np.int32), beams)
        self.slot_nt = np.zeros((rows, _INITIAL_POSITIONS), np.int32)
        self.arrays: list[Any] = []  # alive as long as the pointers to them
        self.layers = (_Layer * sizes.layers)()
        for entry, layer in zip(self.layers, model.decoders, strict=True):
            self._fill(entry, layer, encoded.memory_bke)
        self.caches: list[Array] = []  # (l, slots, 3 e) for each position
        self.cache_lt = np.zeros((sizes.layers, _INITIAL_POSITIONS), np.uintp)  # where they lie
        inner = max(width, sizes.feed_forward_width)
        self.step = _Step(
            layers=ctypes.addressof(self.layers), norm=self._norm(model.decoder_norm),
            embedding=self._matrix(model.embedding_ve.T),
            length=self._pointer(encoded.lengths_b.astype(np.int32)),
            normed=self._buffer(rows, width), mixed=self._buffer(rows, width),
            inner=self._buffer(rows, inner), logits=self._buffer(rows, sizes.vocabulary),
            layer_count=sizes.layers, width=width, heads=sizes.heads,
            inner_width=sizes.feed_forward_width, vocabulary=sizes.vocabulary,
            keys=keys, pad=PAD, threads=threads(), epsilon=NORM_EPSILON,
        )  # fmt: skip

    def best_next(self, token_n: Numbers, number: int) -> tuple[Array, Numbers]:
        rows = len(token_n)
        if self.position == 0:  # the beams of a sentence are alike
            active_a, slot_n = np.arange(0, rows, self.beams), np.arange(rows) // self.beams
        else:
            active_a, slot_n = (
                np.flatnonzero((token_n != END) & (token_n != PAD)),
                np.zeros(rows, int),
            )
            slot_n[active_a] = np.arange(len(active_a))
        self._add_position(len(active_a))
        best_ak, token_ak = self._run(token_n[active_a], active_a, number)
        self.slot_nt[:, self.position] = slot_n
        self.position += 1
        return best_ak[slot_n], token_ak[slot_n]  # those of a row that is over are not used

    def reorder(self, rows_n: Numbers) -> None:
        self.slot_nt, self.sentence_n = self.slot_nt[rows_n], self.sentence_n[rows_n]

    def _run(self, token_a: Numbers, active_a: Numbers, number: int) -> tuple[Array, Numbers]:
        x_ae = np.ascontiguousarray(self.model.vectors(token_a[:, None], first=self.position)[:, 0])
        slot_at, sentence_a = self.slot_nt[active_a], self.sentence_n[active_a]
        best_ak = np.empty((len(active_a), number), np.float32)
        token_ak = np.empty((len(active_a), number), np.int64)
        step, most = self.step, max(self.position + 1, self.step.keys)
        entries, scores = np.empty(most, np.uintp), np.empty(most + _VECTOR_FLOATS, np.float32)
        step.x, step.slot, step.sentence = (x.ctypes.data for x in (x_ae, slot_at, sentence_a))
        step.best, step.token = best_ak.ctypes.data, token_ak.ctypes.data
        step.entries, step.scores = entries.ctypes.data, scores.ctypes.data
        step.rows, step.position, step.top = len(active_a), self.position, number
        step.slot_stride = slot_at.shape[1]
        for layer, address_t in zip(self.layers, self.cache_lt, strict=True):
            layer.cache = address_t.ctypes.data
        self.kernel(ctypes.byref(step))
        return best_ak, token_ak

    def _add_position(self, slots: int) -> None:
        """Make the cache of the position reached."""
        capacity = self.slot_nt.shape[1]
        if self.position == capacity:
            self.slot_nt = np.pad(self.slot_nt, ((0, 0), (0, capacity)))
            self.cache_lt = np.pad(self.cache_lt, ((0, 0), (0, capacity)))
        self.caches.append(np.empty((len(self.layers), slots, 3 * self.step.width), np.float32))
        self.cache_lt[:, self.position] = [layer.ctypes.data for layer in self.caches[-1]]

    def _fill(self, entry: _Layer, layer: DecoderLayer, memory_bke: Array) -> None:
        """The arguments of one layer; keys and values of the source are made once."""
        attention, cross, inner = layer.self_attention, layer.cross_attention, layer.feed_forward
        entry.self_norm = self._norm(layer.self_attention_norm)
        entry.cross_norm = self._norm(layer.cross_attention_norm)
        entry.feed_forward_norm = self._norm(layer.feed_forward_norm)
        entry.w_qkv, entry.w_output = (
            self._matrix(attention.w_qkv),
            self._matrix(attention.w_output),
        )
        entry.w_cross_query = self._matrix(cross.part("w_query"))
        entry.w_cross_output = self._matrix(cross.w_output)
        entry.w_in, entry.w_out = self._matrix(inner.w_in), self._matrix(inner.w_out)
        entry.b_in, entry.b_out = self._pointer(inner.b_in), self._pointer(inner.b_out)
        width = memory_bke.shape[-1]
        entry.source = self._pointer(times(memory_bke, cross.w_qkv[:, width:]))

    def _norm(self, norm: Norm) -> _Norm:
        return _Norm(self._pointer(norm.gain), self._pointer(norm.bias))

    def _matrix(self, matrix: Matrix) -> int:
        assert isinstance(matrix, Int8Matrix)
        self.arrays.append(matrix)
        return ctypes.addressof(matrix.native_blocks)

    def _pointer(self, array: Array) -> int:
        array = np.ascontiguousarray(array)
        self.arrays.append(array)
        return array.ctypes.data

    def _buffer(self, *shape: int) -> int:
        return self._pointer(np.empty(shape, np.float32))


def _matrices(model: Transformer) -> Iterator[Matrix]:
    yield model.embedding_ve
    for layer in model.decoders:
        for attention in (layer.self_attention, layer.cross_attention):
            yield from (attention.w_qkv, attention.w_output)
        yield from (layer.feed_forward.w_in, layer.feed_forward.w_out)
