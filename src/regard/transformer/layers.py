"""Layers of the transformer in NumPy: normalisation, attention, feed-forward.

The mathematics is drawn in ``config``; every function here is one of its lines.
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from regard.engine.float64_product import float64_product
from regard.engine.int8_matrix import Int8Matrix
from regard.transformer.config import NORM_EPSILON
from regard.typing import Array

Matrix = Array | Int8Matrix
Part = TypeVar("Part", "Norm", "Attention", "FeedForward", "EncoderLayer", "DecoderLayer")


@dataclass(frozen=True)
class Norm:
    """Gain and bias of a layer normalisation, (e,) each."""

    gain: Array
    bias: Array

    def __call__(self, x_te: Array) -> Array:
        """Mean 0 and variance 1 over the last axis, then gain and bias."""
        width = x_te.shape[-1]
        centred: Array = x_te - np.add.reduce(x_te, axis=-1, keepdims=True) / x_te.dtype.type(width)
        variance = np.vecdot(centred, centred)[..., None] / x_te.dtype.type(width)
        centred /= np.sqrt(variance + x_te.dtype.type(NORM_EPSILON))
        centred *= self.gain
        centred += self.bias
        return centred


@dataclass(frozen=True)
class Attention:
    """The matrices of one multi-head attention; query, key and value lie side by side.

    w_qkv (e, 3 e), w_output (e, e). Side by side, one product makes all three.
    """

    w_qkv: Matrix
    w_output: Matrix
    heads: int

    def part(self, name: str) -> Matrix:
        """The matrix w_query, w_key, w_value or w_output, (e, e), not copied."""
        if name == "w_output":
            return self.w_output
        width = len(self.w_qkv)
        start = ("w_query", "w_key", "w_value").index(name) * width
        part: Matrix = self.w_qkv[:, start : start + width]
        return part

    def query_key_value(self, x_bte: Array) -> tuple[Array, Array, Array]:
        """(b, h, t, d) each, all from the same vectors: self-attention."""
        width = len(self.w_qkv)
        qkv_btx = times(x_bte, self.w_qkv)
        query, key, value = (
            split_heads(qkv_btx[..., i * width : (i + 1) * width], self.heads) for i in range(3)
        )
        return query, key, value

    def query(self, x_bte: Array) -> Array:
        """query_bhqd alone, for cross-attention."""
        return split_heads(times(x_bte, self.part("w_query")), self.heads)

    def key_value(self, memory_bke: Array) -> tuple[Array, Array]:
        """key_bhkd and value_bhkd of what cross-attention looks at."""
        width = len(self.w_qkv)
        kv_bkx = times(memory_bke, self.w_qkv[:, width:])
        key_bke, value_bke = kv_bkx[..., :width], kv_bkx[..., width:]
        return split_heads(key_bke, self.heads), split_heads(value_bke, self.heads)

    def joined(self, output_bhqd: Array) -> Array:
        """The heads side by side, times w_output: (b, q, e)."""
        return times(join_heads(output_bhqd), self.w_output)


@dataclass(frozen=True)
class FeedForward:
    """relu(x w_in + b_in) w_out + b_out."""

    w_in: Matrix
    b_in: Array
    w_out: Matrix
    b_out: Array

    def __call__(self, x_te: Array) -> Array:
        inner_tf = times(x_te, self.w_in)
        inner_tf += self.b_in
        np.maximum(inner_tf, 0, out=inner_tf)
        result_te = times(inner_tf, self.w_out)
        result_te += self.b_out
        return result_te


@dataclass(frozen=True)
class EncoderLayer:
    """Self-attention, then feed-forward, each with its normalisation before it."""

    self_attention: Attention
    self_attention_norm: Norm
    feed_forward: FeedForward
    feed_forward_norm: Norm


@dataclass(frozen=True)
class DecoderLayer:
    """An encoder layer with cross-attention to the source in the middle."""

    self_attention: Attention
    self_attention_norm: Norm
    cross_attention: Attention
    cross_attention_norm: Norm
    feed_forward: FeedForward
    feed_forward_norm: Norm


def in_dtype(part: Part, dtype: DTypeLike) -> Part:
    """A layer or a part of it with parameters in a dtype; itself where they have it already.

    An Int8Matrix stays: it multiplies in the dtype of x, and is restored one product at a time.
    """

    def cast(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.astype(dtype, copy=False)
        if not is_dataclass(value):
            return value
        fields = {name: cast(x) for name, x in vars(value).items()}
        same = all(fields[name] is x for name, x in vars(value).items())
        return value if same else replace(value, **fields)  # type: ignore[type-var]

    in_that_dtype: Part = cast(part)
    return in_that_dtype


def times(x_bte: Array, matrix: Matrix) -> Array:
    """x @ matrix as one product, however many leading axes x has."""
    flat = float64_product(x_bte.reshape(-1, x_bte.shape[-1]), matrix)
    return flat.reshape(*x_bte.shape[:-1], matrix.shape[-1])


def split_heads(x_bte: Array, heads: int) -> Array:
    """(b, t, h * d) to (b, h, t, d), not copied."""
    batch, tokens, width = x_bte.shape
    return x_bte.reshape(batch, tokens, heads, width // heads).swapaxes(1, 2)


def join_heads(x_bhtd: Array) -> Array:
    """(b, h, t, d) to (b, t, h * d): the heads of each token side by side."""
    batch, heads, tokens, width = x_bhtd.shape
    return x_bhtd.swapaxes(1, 2).reshape(batch, tokens, heads * width)
