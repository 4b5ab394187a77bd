"""Incremental decoding: one token a step, with keys and values cached.

Rows are b x beams, called n. Each row has a cache of its own for self-attention; the source's keys
and values are shared by the beams of a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.dense import dense_attention
from regard.transformer.config import PAD
from regard.transformer.intervention import AttentionResult, Intervention
from regard.transformer.layers import DecoderLayer, split_heads, times
from regard.transformer.model import Encoded, Transformer
from regard.typing import Array

Numbers = NDArray[np.int64]
_CAPACITY = 16  # positions of a new cache


@dataclass
class KeyValueCache:
    """Keys and values of one layer for the tokens so far: (n, h, capacity, d)."""

    key_nhkd: Array
    value_nhkd: Array

    @classmethod
    def empty(cls, rows: int, heads: int, width: int) -> KeyValueCache:
        """A cache before the first token."""
        shape = (rows, heads, _CAPACITY, width)
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
        """Log-probabilities and tokens of the ``number`` likeliest continuations, PAD left out."""
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
        """Take row i from what was row rows_n[i]; sentences without a row are dropped."""
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
    """(b, h, beams, x) to (n, h, 1, x); an array with one query a row stays as it is."""
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
