"""Incremental decoding by one native call a step, for int8 parameters.

The same as ``StepDecoder``, which interventions and machines without native kernels use. Rows that
are over are not computed, nor are the beams that all begin with START.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from regard.engine.int8_matrix import Int8Matrix
from regard.engine.native.library import function
from regard.engine.threads import threads
from regard.transformer.config import END, NORM_EPSILON, PAD
from regard.transformer.decoding import Numbers
from regard.transformer.layers import DecoderLayer, Matrix, Norm, times
from regard.transformer.model import Encoded, Transformer
from regard.typing import Array

Kernel = Callable[..., int]
_CAPACITY = 16  # positions of a new cache
_VECTOR = 16  # floats of the widest vector


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
        self.slot_nt = np.zeros((rows, _CAPACITY), np.int32)
        self.arrays: list[Any] = []  # alive as long as the pointers to them
        self.layers = (_Layer * sizes.layers)()
        for entry, layer in zip(self.layers, model.decoders, strict=True):
            self._fill(entry, layer, encoded.memory_bke)
        self.caches: list[Array] = []  # (l, slots, 3 e) for each position
        self.cache_lt = np.zeros((sizes.layers, _CAPACITY), np.uintp)  # where they lie
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
        """Log-probabilities and tokens of the ``number`` likeliest continuations, PAD left out."""
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
        """Take row i from what was row rows_n[i]; sentences without a row are dropped."""
        self.slot_nt, self.sentence_n = self.slot_nt[rows_n], self.sentence_n[rows_n]

    def _run(self, token_a: Numbers, active_a: Numbers, number: int) -> tuple[Array, Numbers]:
        x_ae = np.ascontiguousarray(self.model.vectors(token_a[:, None], first=self.position)[:, 0])
        slot_at, sentence_a = self.slot_nt[active_a], self.sentence_n[active_a]
        best_ak = np.empty((len(active_a), number), np.float32)
        token_ak = np.empty((len(active_a), number), np.int64)
        step, most = self.step, max(self.position + 1, self.step.keys)
        entries, scores = np.empty(most, np.uintp), np.empty(most + _VECTOR, np.float32)
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
