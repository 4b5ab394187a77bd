"""One token at a time: the decoders with their keys and values kept from step to step.

Rows are b x beams, called n. What a row looks back on is its own past; what its cross-attention
looks at is shared by the beams of its sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.dense import small_attention
from regard.transformer.layers import DecoderLayer, split_heads
from regard.transformer.model import Encoded, Transformer
from regard.typing import Array

Numbers = NDArray[np.int64]
_FEW = 4
_ROOM = 16  # positions a past has room for at first


@dataclass
class Past:
    """Keys and values of one layer for the tokens so far, with room for more: (n, h, room, d)."""

    key_nhkd: Array
    value_nhkd: Array

    @classmethod
    def empty(cls, rows: int, heads: int, width: int) -> Past:
        """Nothing said yet."""
        shape = (rows, heads, _ROOM, width)
        return cls(np.empty(shape, np.float32), np.empty(shape, np.float32))

    def put(self, position: int, key_nh1d: Array, value_nh1d: Array) -> None:
        """Write the key and value of one position; the room doubles when it is used up."""
        if position == self.key_nhkd.shape[2]:
            self.key_nhkd, self.value_nhkd = _doubled(self.key_nhkd), _doubled(self.value_nhkd)
        self.key_nhkd[:, :, position] = key_nh1d[:, :, 0]
        self.value_nhkd[:, :, position] = value_nh1d[:, :, 0]

    def reorder(self, rows_n: Numbers, used: int) -> None:
        """Let row i go on from what was row rows_n[i]."""
        if len(rows_n) < len(self.key_nhkd):
            self.key_nhkd, self.value_nhkd = self.key_nhkd[rows_n], self.value_nhkd[rows_n]
            return
        # Most rows stay where they are: only the others are copied.
        moved = np.flatnonzero(rows_n != np.arange(len(rows_n)))
        for array_nhkd in (self.key_nhkd, self.value_nhkd):
            array_nhkd[moved, :, :used] = array_nhkd[rows_n[moved], :, :used]


@dataclass(frozen=True)
class Memory:
    """Keys and values of the source for one layer's cross-attention, made once: (b, h, k, d)."""

    key_bhkd: Array
    value_bhkd: Array


class Decoding:
    """A model at work on one batch: what it remembers of the source and of what it has said."""

    def __init__(self, model: Transformer, encoded: Encoded, beams: int) -> None:
        self.model, self.beams, self.position = model, beams, 0
        self.memory = [_remember(layer, encoded.memory_bke) for layer in model.decoders]
        keys = np.arange(encoded.memory_bke.shape[1])
        lengths = encoded.lengths
        self.seen_b11k = None if lengths is None else keys < lengths[:, None, None, None]
        rows = len(encoded.memory_bke) * beams
        sizes = (rows, model.config.heads, model.config.head_width)
        self.past = [Past.empty(*sizes) for _ in model.decoders]

    def next_logits(self, token_n: Numbers) -> Array:
        """logits_nv of what follows these tokens, which stand at the position reached."""
        x_ne = self.model.vectors(token_n[:, None], first=self.position)[:, 0]
        for layer, memory, past in zip(self.model.decoders, self.memory, self.past, strict=True):
            self._layer(x_ne, layer, memory, past)
        self.position += 1
        return _times_embedding(self.model.decoder_norm(x_ne), self.model.embedding_ve)

    def _layer(self, x_ne: Array, layer: DecoderLayer, memory: Memory, past: Past) -> None:
        """Add to x what one decoder layer adds."""
        normed_n1e = layer.self_attention_norm(x_ne)[:, None]
        query, key, value = layer.self_attention.query_key_value(normed_n1e)
        past.put(self.position, key, value)
        used = self.position + 1
        output_nh1d, _ = small_attention(
            query, past.key_nhkd[:, :, :used], past.value_nhkd[:, :, :used]
        )
        x_ne += output_nh1d.reshape(x_ne.shape) @ layer.self_attention.w_output
        x_ne += self._look_cross(x_ne, layer, memory)
        x_ne += layer.feed_forward(layer.feed_forward_norm(x_ne))

    def _look_cross(self, x_ne: Array, layer: DecoderLayer, memory: Memory) -> Array:
        """Cross-attention, the beams of a sentence side by side as queries on one memory."""
        attention = layer.cross_attention
        query_ne = layer.cross_attention_norm(x_ne) @ attention.part("w_query")
        query_bqe = query_ne.reshape(-1, self.beams, x_ne.shape[1])
        query_bhqd = split_heads(query_bqe, attention.heads)
        output_bhqd, _ = small_attention(
            query_bhqd, memory.key_bhkd, memory.value_bhkd, self.seen_b11k
        )
        output_ne = output_bhqd.swapaxes(1, 2).reshape(x_ne.shape)
        return output_ne @ attention.w_output

    def reorder(self, rows_n: Numbers) -> None:
        """Let row i go on from what was row rows_n[i]; sentences left out are forgotten."""
        for past in self.past:
            past.reorder(rows_n, self.position)
        kept_b = rows_n[:: self.beams] // self.beams
        if len(kept_b) == len(self.memory[0].key_bhkd):
            return
        self.memory = [Memory(x.key_bhkd[kept_b], x.value_bhkd[kept_b]) for x in self.memory]
        if self.seen_b11k is not None:
            self.seen_b11k = self.seen_b11k[kept_b]


def _remember(layer: DecoderLayer, memory_bke: Array) -> Memory:
    key_bhkd, value_bhkd = layer.cross_attention.key_value(memory_bke)
    return Memory(np.ascontiguousarray(key_bhkd), np.ascontiguousarray(value_bhkd))


def _times_embedding(x_ne: Array, embedding_ve: Array) -> Array:
    """x @ embedding.T; up to four rows one at a time, which is half the time of all at once."""
    if len(x_ne) > _FEW:
        product_nv: Array = x_ne @ embedding_ve.T
        return product_nv
    logits_nv = np.empty((len(x_ne), len(embedding_ve)), x_ne.dtype)
    for x_e, logits_v in zip(x_ne, logits_nv, strict=True):
        np.dot(embedding_ve, x_e, out=logits_v)
    return logits_nv


def _doubled(array_nhkd: Array) -> Array:
    rows, heads, room, width = array_nhkd.shape
    larger: NDArray[Any] = np.empty((rows, heads, 2 * room, width), array_nhkd.dtype)
    larger[:, :, :room] = array_nhkd
    return larger
