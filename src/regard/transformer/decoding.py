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
from regard.engine.tiles.topk import largest
from regard.transformer.config import PAD
from regard.transformer.layers import DecoderLayer, split_heads
from regard.transformer.model import Encoded, Transformer
from regard.typing import Array

Numbers = NDArray[np.int64]
_FEW = 4
_BLOCK = 512  # entries of the embedding, 1 MB: it is in the cache for all rows but the first
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

    def __init__(self, model: Transformer, encoded: Encoded, beams: int) -> None:
        self.model, self.beams, self.position = model, beams, 0
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
        layers = zip(self.model.decoders, self.source, self.caches, strict=True)
        for layer, source, cache in layers:
            self._layer(x_ne, layer, source, cache)
        self.position += 1
        return _times_embedding(self.model.decoder_norm(x_ne), self.model.embedding_ve)

    def _layer(
        self, x_ne: Array, layer: DecoderLayer, source: SourceKeys, cache: KeyValueCache
    ) -> None:
        """Add the outputs of one decoder layer to x, in place."""
        normed_n1e = layer.self_attention_norm(x_ne)[:, None]
        query, key, value = layer.self_attention.query_key_value(normed_n1e)
        cache.put(self.position, key, value)
        used = self.position + 1
        output_nh1d, _ = dense_attention(
            query, cache.key_nhkd[:, :, :used], cache.value_nhkd[:, :, :used]
        )
        x_ne += output_nh1d.reshape(x_ne.shape) @ layer.self_attention.w_output
        x_ne += self._cross_attention(x_ne, layer, source)
        x_ne += layer.feed_forward(layer.feed_forward_norm(x_ne))

    def _cross_attention(self, x_ne: Array, layer: DecoderLayer, source: SourceKeys) -> Array:
        """Cross-attention, the beams of a sentence side by side as queries on the same keys."""
        attention = layer.cross_attention
        query_ne = layer.cross_attention_norm(x_ne) @ attention.part("w_query")
        query_bqe = query_ne.reshape(-1, self.beams, x_ne.shape[1])
        query_bhqd = split_heads(query_bqe, attention.heads)
        output_bhqd, _ = dense_attention(
            query_bhqd, source.key_bhkd, source.value_bhkd, self.visible_b11k
        )
        output_ne = output_bhqd.swapaxes(1, 2).reshape(x_ne.shape)
        return output_ne @ attention.w_output

    def reorder(self, rows_n: Numbers) -> None:
        """Take row i from what was row rows_n[i]; sentences without a row are dropped."""
        for cache in self.caches:
            cache.reorder(rows_n, self.position)
        active_b = rows_n[:: self.beams] // self.beams
        if len(active_b) == len(self.source[0].key_bhkd):
            return
        self.source = [x.take(active_b) for x in self.source]
        if self.visible_b11k is not None:
            self.visible_b11k = self.visible_b11k[active_b]


def _source_keys(layer: DecoderLayer, memory_bke: Array) -> SourceKeys:
    key_bhkd, value_bhkd = layer.cross_attention.key_value(memory_bke)
    return SourceKeys(np.ascontiguousarray(key_bhkd), np.ascontiguousarray(value_bhkd))


def _likeliest(logits_nv: Array, number: int) -> tuple[Array, Numbers]:
    """Log-probabilities and tokens of the largest logits; overwrites them."""
    # PAD is no word, so it never competes; it still has its share of the probability.
    pad_n = logits_nv[:, PAD].copy()
    logits_nv[:, PAD] = -np.inf
    best_nk, token_nk = largest(logits_nv, number)
    highest_n1 = np.maximum(best_nk[:, :1], pad_n[:, None])
    np.subtract(logits_nv, highest_n1, out=logits_nv)
    total_n1 = np.exp(logits_nv, out=logits_nv).sum(axis=1, keepdims=True)
    total_n1 += np.exp(pad_n[:, None] - highest_n1)
    return best_nk - (highest_n1 + np.log(total_n1)), token_nk


def _times_embedding(x_ne: Array, embedding_ve: Array) -> Array:
    """x @ embedding.T; up to four rows one at a time, which is half the time of all at once."""
    if len(x_ne) > _FEW:
        product_nv: Array = x_ne @ embedding_ve.T
        return product_nv
    logits_nv = np.empty((len(x_ne), len(embedding_ve)), x_ne.dtype)
    for start in range(0, len(embedding_ve), _BLOCK):
        block = slice(start, start + _BLOCK)
        for x_e, logits_v in zip(x_ne, logits_nv, strict=True):
            np.dot(embedding_ve[block], x_e, out=logits_v[block])
    return logits_nv


def _doubled(array_nhkd: Array) -> Array:
    rows, heads, capacity, width = array_nhkd.shape
    larger: NDArray[Any] = np.empty((rows, heads, 2 * capacity, width), array_nhkd.dtype)
    larger[:, :, :capacity] = array_nhkd
    return larger
