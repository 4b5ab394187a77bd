"""Encoder-decoder transformer in NumPy: tokens in, logits and every attention call out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from regard.arguments import named_arguments
from regard.blas import one_blas_thread
from regard.engine.dense import dense_attention
from regard.engine.int8_matrix import Int8Matrix
from regard.errors import ArgumentError, expect
from regard.text.met_words import NO_WORDS, MetWords
from regard.text.tokens import Tokenizer, WordTokenizer
from regard.transformer.config import Config, parameter_shapes, positions, random_parameters
from regard.transformer.intervention import AttentionResult, Intervention
from regard.transformer.layers import (
    Attention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Matrix,
    Norm,
    in_dtype,
    times,
)
from regard.transformer.roles import UNKNOWN_ROLES, HeadRoles
from regard.typing import Array

TINY_TEXT = "A dog ate the food because it was hungry"
MAX_DENSE_KEYS = 1024  # longer texts run through the tiled engine, whose memory grows with n alone
_PROJECTIONS = ("w_query", "w_key", "w_value")

Layer = TypeVar("Layer", EncoderLayer, DecoderLayer)


@dataclass(frozen=True)
class AttentionCall:
    """Inputs and weights of one attention of one layer, on a batch.

    x_bqe are the normed vectors of the queries, memory_bke those of the keys, which in
    self-attention are the same ones. weights_bhqk is None for a text of more than MAX_DENSE_KEYS
    tokens, whose weights are computed on demand.
    """

    x_bqe: Array
    memory_bke: Array
    query_bhqd: Array
    key_bhkd: Array
    value_bhkd: Array
    weights_bhqk: Array | None = None
    causal: bool = False
    lengths_b: NDArray[np.int64] | None = None

    @one_blas_thread()
    def weights(self) -> Array:
        """weights_bhqk of the run, in full."""
        if self.weights_bhqk is not None:
            return self.weights_bhqk
        return dense_attention(self.query_bhqd, self.key_bhkd, self.value_bhkd, self._visible())[1]

    def run(self) -> tuple[Array, AttentionCall]:
        """output_bhqd, the weighted sums of each head, and the call with its weights."""
        arrays = (self.query_bhqd, self.key_bhkd, self.value_bhkd)
        if self.key_bhkd.shape[2] > MAX_DENSE_KEYS:
            from regard.engine.attention import attention

            return attention(*arrays, causal=self.causal, lengths=self.lengths_b), self
        output_bhqd, weights_bhqk = dense_attention(*arrays, self._visible())
        return output_bhqd, replace(self, weights_bhqk=weights_bhqk)

    def changed(
        self, part: str, layer: int, intervention: Intervention | None
    ) -> tuple[Array, AttentionCall]:
        """Output and call of ``run``, after the intervention where there is one."""
        output_bhqd, call = self.run()
        if intervention is None:
            return output_bhqd, call
        arrays = (self.query_bhqd, self.key_bhkd, self.value_bhkd, call.weights(), output_bhqd)
        sentence_b = np.arange(len(output_bhqd))
        given = AttentionResult(part, layer, 0, sentence_b, *arrays, self._visible())
        result = intervention(given)
        if result is given:
            return output_bhqd, call
        return result.output_bhqd, replace(call, weights_bhqk=result.weights_bhqk)

    def sentence(self, row: int, queries: int, keys: int) -> AttentionCall:
        """One sentence of the batch without its padding, as a batch of one."""
        one, weights_bhqk = slice(row, row + 1), self.weights_bhqk
        return AttentionCall(
            self.x_bqe[one, :queries],
            self.memory_bke[one, :keys],
            self.query_bhqd[one, :, :queries],
            self.key_bhkd[one, :, :keys],
            self.value_bhkd[one, :, :keys],
            None if weights_bhqk is None else weights_bhqk[one, :, :queries, :keys],
            self.causal,
        )

    def _visible(self) -> NDArray[np.bool_] | None:
        """True where a query may look at a key, None where all may look at all."""
        queries, keys = self.query_bhqd.shape[2], self.key_bhkd.shape[2]
        if self.causal:
            return np.tri(queries, keys, dtype=np.bool_)
        if self.lengths_b is None:
            return None
        visible_b11k: NDArray[np.bool_] = np.arange(keys) < self.lengths_b[:, None, None, None]
        return visible_b11k


@dataclass(frozen=True)
class Encoded:
    """The source after all encoders, memory_bke, and the attention call of each layer."""

    memory_bke: Array
    lengths_b: NDArray[np.int64]
    calls: tuple[AttentionCall, ...] = field(repr=False)

    @property
    def lengths(self) -> NDArray[np.int64] | None:
        """The number of real keys of each sentence, or None where all are."""
        return None if (self.lengths_b == self.memory_bke.shape[1]).all() else self.lengths_b

    def sentence(self, row: int) -> Encoded:
        """One sentence of the batch without its padding, as a batch of one."""
        length = int(self.lengths_b[row])
        calls = tuple(call.sentence(row, length, length) for call in self.calls)
        memory_bke = self.memory_bke[row : row + 1, :length]
        return Encoded(memory_bke, self.lengths_b[row : row + 1], calls)


@dataclass(frozen=True)
class Decoded:
    """The given target after all decoders, x_bte, and both attention calls of each layer."""

    x_bte: Array
    calls: tuple[AttentionCall, ...] = field(repr=False)
    cross_calls: tuple[AttentionCall, ...] = field(repr=False)


@named_arguments
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
    embedding_ve: Matrix
    encoders: tuple[EncoderLayer, ...]
    encoder_norm: Norm
    decoders: tuple[DecoderLayer, ...]
    decoder_norm: Norm
    tokenizer: Tokenizer
    about: Mapping[str, Any]
    roles: HeadRoles = field(default_factory=HeadRoles)
    met_words: MetWords = field(default_factory=MetWords, repr=False)

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
        ``vocabulary``, are given. Its output means nothing until it is trained.
        """
        if tokenizer is None:
            tokenizer = WordTokenizer.from_text(text)
            vocabulary = len(tokenizer.words)
        if vocabulary is None:
            raise ArgumentError(
                "vocabulary is needed with tokenizer: say how many pieces there are."
            )
        config = Config(vocabulary, layers, heads, width, feed_forward_width)
        about = {"name": "random", "untrained": True}
        return cls.from_parameters(config, random_parameters(config, seed), tokenizer, about)

    @classmethod
    def from_parameters(
        cls,
        config: Config,
        parameters: Mapping[str, Matrix],
        tokenizer: Tokenizer,
        about: Mapping[str, Any],
        roles: HeadRoles = UNKNOWN_ROLES,
        met_words: MetWords = NO_WORDS,
    ) -> Transformer:
        """Transformer of parameters under the names of ``parameter_shapes``."""
        for name, parameter in parameters.items():
            blocks = getattr(parameter, "blocks", None)
            arrays = [parameter] if blocks is None else [block.scale_f for block in blocks]
            if not all(np.isfinite(array).all() for array in arrays):
                raise ArgumentError(
                    f"the parameters must be finite, got NaN or infinity in {name}: copy or export "
                    "the model again."
                )
        layers, heads = range(config.layers), config.heads
        return cls(
            config=config,
            embedding_ve=parameters["embedding"],
            encoders=tuple(_layer(EncoderLayer, parameters, f"encoder.{x}", heads) for x in layers),
            encoder_norm=_norm(parameters, "encoder.norm"),
            decoders=tuple(_layer(DecoderLayer, parameters, f"decoder.{x}", heads) for x in layers),
            decoder_norm=_norm(parameters, "decoder.norm"),
            tokenizer=tokenizer,
            about=about,
            roles=roles,
            met_words=met_words,
        )

    def __repr__(self) -> str:
        sizes = self.config
        origin = "untrained: random parameters" if self.untrained else self.about.get("name", "")
        return (
            f"Transformer({sizes.layers} layers, {sizes.heads} heads of {sizes.head_width}, "
            f"width {sizes.width}, vocabulary {sizes.vocabulary}; {origin})"
        )

    @property
    def untrained(self) -> bool:
        """Whether its parameters are random, so that its output means nothing."""
        return bool(self.about.get("untrained"))

    def parameters(self) -> dict[str, Array]:
        """Every parameter in float32 under the name that ``config`` gives it."""
        return {name: _parameter(self, name) for name in parameter_shapes(self.config)}

    def vectors(
        self, tokens_bt: NDArray[np.integer], first: int = 0, *, positions: bool = True
    ) -> Array:
        """embedding * sqrt(width) + position, for tokens at positions ``first`` and after."""
        scale = np.float32(self.config.width**0.5)
        x_bte: Array = self.embedding_ve[tokens_bt] * scale
        if positions:
            end = first + tokens_bt.shape[1]
            x_bte += _positions(1 << max(6, (end - 1).bit_length()), self.config.width)[first:end]
        return x_bte

    def encode(
        self,
        source_bt: NDArray[np.integer],
        lengths_b: NDArray[np.int64] | None = None,
        *,
        dtype: DTypeLike = np.float32,
        positions: bool = True,
        intervention: Intervention | None = None,
    ) -> Encoded:
        """Run all encoders; a source is its tokens and END, then padding to one length.

        In float64 a matrix is cast when it multiplies, so that no second model is in memory.
        With ``positions=False`` no position is added to the vectors. An ``intervention`` changes
        the attentions of the run.
        """
        expect("source", source_bt, "b t")
        batch, longest = source_bt.shape
        lengths_b = np.full(batch, longest) if lengths_b is None else lengths_b
        lengths = None if (lengths_b == longest).all() else lengths_b
        x_bte = self.vectors(source_bt, positions=positions).astype(dtype, copy=False)
        calls = []
        for number, layer in enumerate(in_dtype(x, dtype) for x in self.encoders):
            attend = _self_attention(layer, x_bte, lengths_b=lengths)
            output_bhqd, call = attend.changed("encoder", number, intervention)
            x_bte += layer.self_attention.joined(output_bhqd)
            x_bte += layer.feed_forward(layer.feed_forward_norm(x_bte))
            calls.append(call)
        return Encoded(in_dtype(self.encoder_norm, dtype)(x_bte), lengths_b, tuple(calls))

    def decode(
        self,
        encoded: Encoded,
        given_bt: NDArray[np.integer],
        *,
        positions: bool = True,
        intervention: Intervention | None = None,
    ) -> Decoded:
        """Run all decoders on a given target, which begins with START, in the dtype of memory."""
        expect("given", given_bt, "b t", b=len(encoded.memory_bke))
        dtype = encoded.memory_bke.dtype
        x_bte = self.vectors(given_bt, positions=positions).astype(dtype, copy=False)
        calls, cross_calls = [], []
        for number, layer in enumerate(in_dtype(x, dtype) for x in self.decoders):
            attend = _self_attention(layer, x_bte, causal=True)
            output_bhqd, call = attend.changed("decoder", number, intervention)
            x_bte += layer.self_attention.joined(output_bhqd)
            attend = _cross_attention(layer, x_bte, encoded)
            output_bhqd, cross_call = attend.changed("cross", number, intervention)
            x_bte += layer.cross_attention.joined(output_bhqd)
            x_bte += layer.feed_forward(layer.feed_forward_norm(x_bte))
            calls.append(call)
            cross_calls.append(cross_call)
        norm = in_dtype(self.decoder_norm, dtype)
        return Decoded(norm(x_bte), tuple(calls), tuple(cross_calls))

    def logits(self, source_bt: NDArray[np.integer], given_bt: NDArray[np.integer]) -> Array:
        """logits_btv: how likely each vocabulary entry is to follow, before the softmax."""
        return times(self.decode(self.encode(source_bt), given_bt).x_bte, self.embedding_ve.T)


def _layer(kind: type[Layer], parameters: Mapping[str, Matrix], prefix: str, heads: int) -> Layer:
    """A layer whose fields are named as in ``parameter_shapes``."""
    blocks = {x.name: _block(parameters, f"{prefix}.{x.name}", heads) for x in fields(kind)}
    return kind(**blocks)


def _block(parameters: Mapping[str, Matrix], prefix: str, heads: int) -> Any:
    if prefix.endswith("_norm"):
        return _norm(parameters, prefix)
    if prefix.endswith("_attention"):
        w_qkv = _side_by_side([parameters[f"{prefix}.{x}"] for x in _PROJECTIONS])
        return Attention(w_qkv, parameters[f"{prefix}.w_output"], heads)
    feed_forward: dict[str, Any] = {
        x.name: parameters[f"{prefix}.{x.name}"] for x in fields(FeedForward)
    }
    return FeedForward(**feed_forward)


def _side_by_side(matrices: Sequence[Matrix]) -> Matrix:
    int8 = [x for x in matrices if isinstance(x, Int8Matrix)]
    if len(int8) == len(matrices):
        return Int8Matrix.side_by_side(*int8)
    return np.concatenate([np.asarray(x) for x in matrices], axis=1)


def _norm(parameters: Mapping[str, Matrix], prefix: str) -> Norm:
    return Norm(np.asarray(parameters[f"{prefix}.gain"]), np.asarray(parameters[f"{prefix}.bias"]))


def _self_attention(
    layer: EncoderLayer | DecoderLayer,
    x_bte: Array,
    *,
    causal: bool = False,
    lengths_b: NDArray[np.int64] | None = None,
) -> AttentionCall:
    """Query, key and value of the normed vectors."""
    normed_bte = layer.self_attention_norm(x_bte)
    qkv = layer.self_attention.query_key_value(normed_bte)
    return AttentionCall(normed_bte, normed_bte, *qkv, causal=causal, lengths_b=lengths_b)


def _cross_attention(layer: DecoderLayer, x_bte: Array, encoded: Encoded) -> AttentionCall:
    """The target's queries, and the source's keys and values."""
    normed_bte = layer.cross_attention_norm(x_bte)
    query_bhqd = layer.cross_attention.query(normed_bte)
    key_bhkd, value_bhkd = layer.cross_attention.key_value(encoded.memory_bke)
    return AttentionCall(
        normed_bte, encoded.memory_bke, query_bhqd, key_bhkd, value_bhkd, lengths_b=encoded.lengths
    )


def _parameter(model: Transformer, name: str) -> Array:
    """The float32 array of one name of ``parameter_shapes``; copied only if it is int8."""
    if name == "embedding":
        return np.asarray(model.embedding_ve)
    part, *path, leaf = name.split(".")
    if path == ["norm"]:
        block: Any = getattr(model, f"{part}_norm")
    else:
        block = getattr(getattr(model, f"{part}s")[int(path[0])], path[1])
    return np.asarray(block.part(leaf) if isinstance(block, Attention) else getattr(block, leaf))


@lru_cache(maxsize=8)
def _positions(length: int, width: int) -> Array:
    return positions(length, width)
