"""A reading run a second time in float64: input vectors, and what every component wrote.

The model runs in float32, whose last digits differ from one BLAS to the next. Numbers shown digit
by digit, and sums that have to agree exactly, start from this run instead, which agrees on every
machine to a dozen digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from regard.blas import one_blas_thread
from regard.engine.float64_product import float64_product
from regard.experiments.because import (
    NORM_BIAS,
    Component,
    FrozenNorm,
    Share,
    Stream,
    TokenComponent,
)
from regard.transformer.config import NORM_EPSILON, START
from regard.transformer.intervention import AttentionResult, Intervention
from regard.transformer.layers import FeedForward, Norm, in_dtype
from regard.transformer.model import AttentionCall, Decoded, Encoded
from regard.typing import Array

if TYPE_CHECKING:
    from regard.transformer.reading import Reading

FEED_FORWARD_BIAS = Component("feed-forward bias")
CHANGE_BY_HAND = Component("change by hand")
ROUNDING = 1e-9  # a head's output differs from its weighted sum by more only if it was changed


@dataclass(frozen=True)
class Vectors:
    """Input vectors of the queries and of the keys, the same in self-attention, in float64.

    ``error`` bounds the distance of their numbers from the exact ones.
    """

    x_qe: Array
    memory_ke: Array
    error: float

    @classmethod
    def from_call(cls, call: AttentionCall, layers: int) -> Vectors:
        """The vectors of an attention that was computed in float64, in a model of some layers.

        A sum errs by the unit roundoff times the root of its terms, and errors of layers add up as
        roots do. What runs really err by, about a tenth of that, differs from one BLAS to the
        next, and the digits that are shown must not.
        """
        x_qe, memory_ke = call.x_bqe[0], call.memory_bke[0]
        largest = max(float(np.abs(x).max()) for x in (x_qe, memory_ke))
        return cls(x_qe, memory_ke, 2.0**-53 * math.sqrt(layers * x_qe.shape[-1]) * largest)


@dataclass
class _Recorder:
    """An intervention that records every attention after another one."""

    intervention: Intervention | None
    results: dict[tuple[str, int], AttentionResult]

    def __call__(self, result: AttentionResult) -> AttentionResult:
        changed = result if self.intervention is None else self.intervention(result)
        self.results[changed.part, changed.layer] = changed
        return changed


@dataclass(frozen=True)
class ResidualRun:
    """A reading run again in float64, encoders and decoders lazily.

    ``given`` are the target's tokens, START first. The reading's intervention acts in it as it did
    in the first run.
    """

    reading: Reading
    given: tuple[int, ...]

    @classmethod
    def from_reading(cls, reading: Reading, tokens: tuple[int, ...] | None = None) -> ResidualRun:
        return cls(reading, (START, *(reading.translated.tokens if tokens is None else tokens)))

    def vectors(self, part: str, layer: int) -> Vectors:
        if part == "encoder":
            return self._encoder_vectors[1][layer]
        return self._decoder_vectors[part][layer]

    def attention(self, part: str, layer: int) -> AttentionResult:
        results = self._encoder_results[1] if part == "encoder" else self._decoder_results
        return results[part, layer]

    def stream(self, part: str) -> Stream:
        """The residual stream that a part's queries are read from."""
        return self.source if part == "encoder" else self.target

    def keys_stream(self, part: str) -> Stream:
        return self.target if part == "decoder" else self.source

    @cached_property
    def source(self) -> Stream:
        tokens_bt = np.array([self.reading.translated.source])
        return self._stream(tokens_bt, "encoder", ("encoder",))

    @cached_property
    def target(self) -> Stream:
        return self._stream(np.array([self.given]), "decoder", ("decoder", "cross"))

    def matrix(self, part: str, layer: int, name: str, head: int | None = None) -> Array:
        """w_query, w_key, w_value or w_output of one attention in float64, or one head's share."""
        matrix = np.asarray(self.reading.matrices(part, layer).part(name), np.float64)
        if head is None:
            return matrix
        width = self.reading.model.config.head_width
        at = slice(head * width, (head + 1) * width)
        return matrix[at] if name == "w_output" else matrix[:, at]

    def feed_forward(self, stack: str, layer: int) -> tuple[FeedForward, Norm]:
        model = self.reading.model
        block = model.encoders[layer] if stack == "encoder" else model.decoders[layer]
        norm = in_dtype(block.feed_forward_norm, np.float64)
        return in_dtype(block.feed_forward, np.float64), norm

    def frozen(self, norm: Norm, x_te: Array) -> FrozenNorm:
        return FrozenNorm.from_run(norm.gain, norm.bias, x_te, epsilon=NORM_EPSILON)

    def query_norm(self, part: str, layer: int) -> FrozenNorm:
        """The norm before the queries of one attention, as it acted."""
        model, stream = self.reading.model, self.stream(part)
        name = "cross_attention_norm" if part == "cross" else "self_attention_norm"
        block = model.encoders[layer] if part == "encoder" else model.decoders[layer]
        norm: Norm = in_dtype(getattr(block, name), np.float64)
        return self.frozen(norm, stream.x_te(stream.before(part, layer)))

    def key_norm(self, part: str, layer: int) -> FrozenNorm:
        """The norm before the keys and values of one attention; for cross-attention the last."""
        if part != "cross":
            return self.query_norm(part, layer)
        norm = in_dtype(self.reading.model.encoder_norm, np.float64)
        return self.frozen(norm, self.source.x_te())

    def keys_before(self, part: str, layer: int) -> int:
        stream = self.keys_stream(part)
        return len(stream.components) if part == "cross" else stream.before(part, layer)

    @property
    def output_norm(self) -> FrozenNorm:
        """The norm before the logits, as it acted."""
        norm = in_dtype(self.reading.model.decoder_norm, np.float64)
        return self.frozen(norm, self.target.x_te())

    def token_name(self, text: str, position: int) -> str:
        reading = self.reading
        return (reading.source if text == "source" else reading.target).tokens[position]

    # The vectors have a run of their own, of which they alone stay in memory: a reading that is
    # shown digit by digit needs no weights and outputs in float64.
    @cached_property
    def _encoder_vectors(self) -> tuple[Encoded, tuple[Vectors, ...]]:
        exact = self._encode(self.reading.intervention)
        return Encoded(exact.memory_bke, exact.lengths_b, ()), self._vectors(exact.calls)

    @cached_property
    def _decoder_vectors(self) -> dict[str, tuple[Vectors, ...]]:
        exact = self._decode(self._encoder_vectors[0], self.reading.intervention)
        return {"decoder": self._vectors(exact.calls), "cross": self._vectors(exact.cross_calls)}

    @cached_property
    def _encoder_results(self) -> tuple[Encoded, dict[tuple[str, int], AttentionResult]]:
        recorder = _Recorder(self.reading.intervention, {})
        return self._encode(recorder), recorder.results

    @cached_property
    def _decoder_results(self) -> dict[tuple[str, int], AttentionResult]:
        recorder = _Recorder(self.reading.intervention, {})
        self._decode(self._encoder_results[0], recorder)
        return recorder.results

    @one_blas_thread()
    def _encode(self, intervention: Intervention | None) -> Encoded:
        return self.reading.model.encode(
            np.array([self.reading.translated.source]),
            dtype=np.float64,
            positions=self.reading.positions,
            intervention=intervention,
        )

    @one_blas_thread()
    def _decode(self, encoded: Encoded, intervention: Intervention | None) -> Decoded:
        return self.reading.model.decode(
            encoded,
            np.array([self.given]),
            positions=self.reading.positions,
            intervention=intervention,
        )

    def _vectors(self, calls: Iterable[AttentionCall]) -> tuple[Vectors, ...]:
        return tuple(Vectors.from_call(call, self.reading.model.config.layers) for call in calls)

    @one_blas_thread()
    def _stream(self, tokens_bt: Array, stack: str, parts: tuple[str, ...]) -> Stream:
        model = self.reading.model
        embedding_te = model.vectors(tokens_bt, positions=False)[0].astype(np.float64)
        start_te = model.vectors(tokens_bt, positions=self.reading.positions)[0]
        # The position as what it added in float32, so that both sum to what the run began with.
        components = [Component("embedding"), Component("position")]
        written = [embedding_te, start_te.astype(np.float64) - embedding_te]
        x_te = start_te.astype(np.float64)
        for number in range(model.config.layers):
            for part in parts:
                for head, head_te in enumerate(self._head_writes(part, number)):
                    components.append(Component("head", part, number, head))
                    written.append(head_te)
                    x_te = x_te + head_te
            feed_forward, norm = self.feed_forward(stack, number)
            components.append(Component("feed-forward", stack, number))
            written.append(feed_forward(norm(x_te)))
            x_te = x_te + written[-1]
        return Stream(tuple(components), np.stack(written))

    def _head_writes(self, part: str, layer: int) -> Iterator[Array]:
        """Output of each head through w_output, (t, e)."""
        result, w_output = self.attention(part, layer), self.matrix(part, layer, "w_output")
        width = result.output_bhqd.shape[-1]
        for head, output_qd in enumerate(result.output_bhqd[0]):
            yield float64_product(output_qd, w_output[head * width : (head + 1) * width])

    def shares(self, source: TokenComponent) -> Iterator[Share]:
        """Inputs of one component, each with its share of the score."""
        is_head = source.component.kind == "head"
        return self._head_shares(source) if is_head else self._feed_forward_shares(source)

    def _head_shares(self, source: TokenComponent) -> Iterator[Share]:
        """By the words that the head looked at, and by the components of each word's value."""
        component, direction_e = source.component, source.direction_e
        part, layer, head = component.part, component.layer, component.head
        result = self.attention(part, layer)
        direction_d = self.matrix(part, layer, "w_output", head) @ direction_e
        weights_k = result.weights_bhqk[0, head, source.position]
        value_e = self.matrix(part, layer, "w_value", head) @ direction_d
        norm, stream = self.key_norm(part, layer), self.keys_stream(part)
        number = self.keys_before(part, layer)
        pulled_ke = norm.pull_back(np.broadcast_to(value_e, norm.factor_te.shape))
        text = "source" if stream is self.source else "target"
        for key, weight in enumerate(weights_k):
            if weight > 0:
                word = self.token_name(text, key)
                at = (text, key, word)
                yield from _stream_shares(stream, number, at, weight * pulled_ke[key])
                bias = float(weight * (norm.bias_e @ value_e))
                yield TokenComponent(*at, NORM_BIAS), bias
        # Ablated and patched heads wrote something else than their weighted sum.
        own_d = weights_k @ result.value_bhkd[0, head]
        by_hand = float((result.output_bhqd[0, head, source.position] - own_d) @ direction_d)
        if abs(by_hand) > ROUNDING:
            yield replace(source, component=CHANGE_BY_HAND, direction_e=None), by_hand

    def _feed_forward_shares(self, source: TokenComponent) -> Iterator[Share]:
        """By the components before it at the same word, the relu frozen."""
        component = source.component
        stream = self.source if source.text == "source" else self.target
        feed_forward, norm = self.feed_forward(component.part, component.layer)
        number = stream.index(component)
        x_te = stream.x_te(number)
        normed_e = norm(x_te)[source.position]
        w_in: Array = np.asarray(feed_forward.w_in, np.float64)
        w_out: Array = np.asarray(feed_forward.w_out, np.float64)
        active_f = normed_e @ w_in + feed_forward.b_in > 0
        direction_f: Array = active_f * (w_out @ source.direction_e)
        direction_e = w_in @ direction_f
        frozen = self.frozen(norm, x_te)
        pulled_e = frozen.pull_back(direction_e[None])[source.position]
        at = (source.text, source.position, source.word)
        yield from _stream_shares(stream, number, at, pulled_e)
        yield TokenComponent(*at, NORM_BIAS), float(frozen.bias_e @ direction_e)
        bias = feed_forward.b_in @ direction_f + feed_forward.b_out @ source.direction_e
        yield TokenComponent(*at, FEED_FORWARD_BIAS), float(bias)


def _stream_shares(
    stream: Stream, number: int, at: tuple[str, int, str], direction_e: Array
) -> Iterator[Share]:
    """The components of one token's stream, each with its product with a direction."""
    shares_n = stream.written_nte[:number, at[1]] @ direction_e
    for component, share in zip(stream.components[:number], shares_n.tolist(), strict=True):
        yield TokenComponent(*at, component, direction_e), share
