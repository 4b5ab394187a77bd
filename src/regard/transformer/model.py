"""The whole encoder-decoder, in NumPy: tokens in, logits out, everything in between in reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from regard.engine.attention import attention
from regard.engine.dense import small_attention
from regard.errors import ArgumentError, expect
from regard.text.tokens import Tokenizer, WordTokenizer
from regard.transformer.config import Config, parameter_shapes, positions
from regard.transformer.layers import (
    Attention,
    DecoderLayer,
    EncoderLayer,
    Norm,
    in_dtype,
    times,
)
from regard.transformer.roles import Roles
from regard.typing import Array

Fill = Callable[[str, Array], None]
TINY_TEXT = "A dog ate the food because it was hungry"


@dataclass(frozen=True)
class Looked:
    """One attention of one layer on a batch: what it was given, and what it made of it.

    x_bqe are the normed vectors that ask; memory_bke those that answer, which in self-attention
    are the same ones.
    """

    x_bqe: Array
    memory_bke: Array
    query_bhqd: Array
    key_bhkd: Array
    value_bhkd: Array
    causal: bool = False
    lengths_b: NDArray[np.int64] | None = None

    def output(self) -> Array:
        """output_bhqd: the weighted sums of each head."""
        output_bhqd: Array = attention(
            self.query_bhqd, self.key_bhkd, self.value_bhkd,
            causal=self.causal, lengths=self.lengths_b,
        )  # fmt: skip
        return output_bhqd

    def weights(self) -> Array:
        """weights_bhqk, in full: fit for sentences."""
        queries, keys = self.query_bhqd.shape[2], self.key_bhkd.shape[2]
        seen = np.ones((1, 1, queries, keys), bool)
        if self.causal:
            seen = seen & (np.arange(keys) <= np.arange(queries)[:, None])
        if self.lengths_b is not None:
            seen = seen & (np.arange(keys) < self.lengths_b[:, None, None, None])
        return small_attention(self.query_bhqd, self.key_bhkd, self.value_bhkd, seen)[1]


@dataclass(frozen=True)
class Encoded:
    """The source after all encoders, memory_bke, and how each layer looked."""

    memory_bke: Array
    lengths_b: NDArray[np.int64]
    looked: tuple[Looked, ...] = field(repr=False)

    @property
    def lengths(self) -> NDArray[np.int64] | None:
        """How many keys are real, or None where all are."""
        return None if (self.lengths_b == self.memory_bke.shape[1]).all() else self.lengths_b


@dataclass(frozen=True)
class Decoded:
    """The given target after all decoders, x_bte, and how each layer looked, at both sides."""

    x_bte: Array
    looked: tuple[Looked, ...] = field(repr=False)
    looked_cross: tuple[Looked, ...] = field(repr=False)


@dataclass(frozen=True)
class Transformer:
    """An encoder-decoder and its parameters; ``about`` says where they come from.

    >>> model = Transformer.random(layers=2, heads=2, width=16)
    >>> model
    Transformer(2 layers, 2 heads of 8, width 16, vocabulary 13; untrained: random parameters)
    >>> model.logits(np.array([[4, 5, 3]]), np.array([[2, 6]])).shape
    (1, 2, 13)
    """

    config: Config
    embedding_ve: Array
    encoders: tuple[EncoderLayer, ...]
    encoder_norm: Norm
    decoders: tuple[DecoderLayer, ...]
    decoder_norm: Norm
    tokenizer: Tokenizer
    about: Mapping[str, Any]
    roles: Roles = field(default_factory=Roles)

    @classmethod
    def random(
        cls,
        text: str = TINY_TEXT,
        *,
        layers: int = 2,
        heads: int = 8,
        width: int = 512,
        feed_forward_width: int = 1024,
        seed: int = 0,
        tokenizer: Tokenizer | None = None,
        vocabulary: int | None = None,
    ) -> Transformer:
        """An untrained transformer: every matrix random, gains 1, biases 0.

        Its vocabulary is the words of ``text`` unless a ``tokenizer`` and its size,
        ``vocabulary``, are given. Nothing it says means anything until it is trained.
        """
        from regard.transformer.checkpoint import assemble, random_fill

        if tokenizer is None:
            tokenizer = WordTokenizer.of(text)
            vocabulary = len(tokenizer.words)
        if vocabulary is None:
            raise ArgumentError(
                "vocabulary is needed with tokenizer: say how many pieces there are."
            )
        config = Config(vocabulary, layers, heads, width, feed_forward_width)
        about = {"name": "random", "untrained": True}
        return assemble(config, random_fill(seed), tokenizer, about)

    def __repr__(self) -> str:
        sizes = self.config
        origin = "untrained: random parameters" if self.untrained else self.about.get("name", "")
        return (
            f"Transformer({sizes.layers} layers, {sizes.heads} heads of {sizes.head_width}, "
            f"width {sizes.width}, vocabulary {sizes.vocabulary}; {origin})"
        )

    @property
    def untrained(self) -> bool:
        """Whether the parameters are as random as they were made."""
        return bool(self.about.get("untrained"))

    def parameters(self) -> dict[str, Array]:
        """Every parameter under the name that ``config`` gives it, not copied."""
        named = dict(_named_parameters(self))
        return {name: named[name] for name in parameter_shapes(self.config)}

    def vectors(self, tokens_bt: NDArray[np.integer], first: int = 0) -> Array:
        """embedding * sqrt(width) + position, for tokens at positions ``first`` and after."""
        scale = np.float32(self.config.width**0.5)
        x_bte: Array = self.embedding_ve[tokens_bt] * scale
        end = first + tokens_bt.shape[1]
        x_bte += _positions(1 << max(6, (end - 1).bit_length()), self.config.width)[first:end]
        return x_bte

    def encode(
        self,
        source_bt: NDArray[np.integer],
        lengths_b: NDArray[np.int64] | None = None,
        dtype: DTypeLike = np.float32,
    ) -> Encoded:
        """Run all encoders; a source is its tokens and END, then padding to one length.

        In float64 the parameters are cast layer by layer, so that no second model is held.
        """
        expect("source", source_bt, "b t")
        batch, longest = source_bt.shape
        lengths_b = np.full(batch, longest) if lengths_b is None else lengths_b
        lengths = None if (lengths_b == longest).all() else lengths_b
        x_bte, looked = self.vectors(source_bt).astype(dtype, copy=False), []
        for layer in (in_dtype(x, dtype) for x in self.encoders):
            look = look_inside(layer, x_bte, lengths_b=lengths)
            x_bte += layer.self_attention.joined(look.output())
            x_bte += layer.feed_forward(layer.feed_forward_norm(x_bte))
            looked.append(look)
        return Encoded(in_dtype(self.encoder_norm, dtype)(x_bte), lengths_b, tuple(looked))

    def decode(self, encoded: Encoded, given_bt: NDArray[np.integer]) -> Decoded:
        """Run all decoders on a given target, which begins with START, in the dtype of memory."""
        expect("given", given_bt, "b t", b=len(encoded.memory_bke))
        dtype = encoded.memory_bke.dtype
        x_bte, inside, cross = self.vectors(given_bt).astype(dtype, copy=False), [], []
        for layer in (in_dtype(x, dtype) for x in self.decoders):
            look = look_inside(layer, x_bte, causal=True)
            x_bte += layer.self_attention.joined(look.output())
            look_over = look_cross(layer, x_bte, encoded)
            x_bte += layer.cross_attention.joined(look_over.output())
            x_bte += layer.feed_forward(layer.feed_forward_norm(x_bte))
            inside.append(look)
            cross.append(look_over)
        norm = in_dtype(self.decoder_norm, dtype)
        return Decoded(norm(x_bte), tuple(inside), tuple(cross))

    def logits(self, source_bt: NDArray[np.integer], given_bt: NDArray[np.integer]) -> Array:
        """logits_btv: how likely each vocabulary entry is to follow, before the softmax."""
        return times(self.decode(self.encode(source_bt), given_bt).x_bte, self.embedding_ve.T)


def look_inside(
    layer: EncoderLayer | DecoderLayer,
    x_bte: Array,
    *,
    causal: bool = False,
    lengths_b: NDArray[np.int64] | None = None,
) -> Looked:
    """Self-attention's query, key and value, of the normed vectors."""
    normed_bte = layer.self_attention_norm(x_bte)
    qkv = layer.self_attention.query_key_value(normed_bte)
    return Looked(normed_bte, normed_bte, *qkv, causal=causal, lengths_b=lengths_b)


def look_cross(layer: DecoderLayer, x_bte: Array, encoded: Encoded) -> Looked:
    """The target's queries, and the source's keys and values."""
    normed_bte = layer.cross_attention_norm(x_bte)
    query_bhqd = layer.cross_attention.query(normed_bte)
    key_bhkd, value_bhkd = layer.cross_attention.key_value(encoded.memory_bke)
    return Looked(normed_bte, encoded.memory_bke, query_bhqd, key_bhkd, value_bhkd,
                  lengths_b=encoded.lengths)  # fmt: skip


def _named_parameters(model: Transformer) -> Iterator[tuple[str, Array]]:
    yield "embedding", model.embedding_ve
    parts: dict[str, tuple[Any, ...]] = {"encoder": model.encoders, "decoder": model.decoders}
    for part, layers in parts.items():
        for number, layer in enumerate(layers):
            for block, held in vars(layer).items():
                for name, array in _parts(held):
                    yield f"{part}.{number}.{block}.{name}", array
    for part, norm in (("encoder", model.encoder_norm), ("decoder", model.decoder_norm)):
        yield f"{part}.norm.gain", norm.gain
        yield f"{part}.norm.bias", norm.bias


def _parts(held: Any) -> Iterator[tuple[str, Array]]:
    if isinstance(held, Attention):
        for name in ("w_query", "w_key", "w_value", "w_output"):
            yield name, held.part(name)
    else:
        yield from vars(held).items()


@lru_cache(maxsize=8)
def _positions(length: int, width: int) -> Array:
    return positions(length, width)
