"""Residual stream of a reading in float64: what every component wrote, at every position.

x = embedding + position + the output of every head and feed-forward layer before. With the norms'
scales frozen everything that reads from x is linear in these components.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from regard.blas import one_blas_thread
from regard.transformer.config import NORM_EPSILON, START
from regard.transformer.intervention import AttentionResult
from regard.transformer.layers import FeedForward, Norm, in_dtype
from regard.transformer.model import Encoded
from regard.transformer.reading import Reading
from regard.typing import Array


@dataclass(frozen=True)
class Component:
    """A writer into the residual stream; ``part`` and numbers for heads and feed-forward layers."""

    kind: str
    part: str = ""
    layer: int = -1
    head: int = -1

    def __str__(self) -> str:
        if self.kind == "head":
            part = "cross " if self.part == "cross" else ""
            return f"{part}head {self.layer}.{self.head}"
        return f"feed-forward {self.layer}" if self.kind == "feed-forward" else self.kind


@dataclass(frozen=True)
class FrozenNorm:
    """A layer normalisation with the mean removed and the scale of one run: linear in x."""

    factor_te: Array
    bias_e: Array

    @classmethod
    def at(cls, norm: Norm, x_te: Array) -> FrozenNorm:
        """The norm as it acts on these vectors."""
        deviation_t1 = np.sqrt(x_te.var(axis=-1, keepdims=True) + NORM_EPSILON)
        return cls(norm.gain / deviation_t1, norm.bias)

    def pull_back(self, direction_te: Array) -> Array:
        """The directions in x that have the same product with x as these have with its norm.

        The norm's bias is not in it.
        """
        scaled_te = direction_te * self.factor_te
        pulled: Array = scaled_te - scaled_te.mean(axis=-1, keepdims=True)
        return pulled


@dataclass(frozen=True)
class Stream:
    """One text's residual stream: written_nte by component, and the x that each norm was given."""

    components: tuple[Component, ...]
    written_nte: Array = field(repr=False)

    def before(self, part: str, layer: int) -> int:
        """Number of components that were written before one attention."""
        for number, component in enumerate(self.components):
            if (component.part, component.layer) == (part, layer):
                return number
        return len(self.components)

    def x_te(self, components: int | None = None) -> Array:
        """The sum of the first components, of all where no number is given."""
        total: Array = self.written_nte[:components].sum(axis=0)
        return total

    def index(self, component: Component) -> int:
        """The number of a component."""
        return self.components.index(component)


@dataclass(frozen=True)
class ResidualRun:
    """A reading run again in float64: both residual streams, and every attention of the run.

    ``given`` are the target's tokens, (start) first; those of the translation unless others are.
    """

    reading: Reading
    given: tuple[int, ...]

    @classmethod
    def of(cls, reading: Reading, tokens: tuple[int, ...] | None = None) -> ResidualRun:
        """The run of a reading's translation, or of another target."""
        return cls(reading, (START, *(reading.translated.tokens if tokens is None else tokens)))

    @cached_property
    def _source(self) -> tuple[Encoded, dict[tuple[str, int], AttentionResult]]:
        results: dict[tuple[str, int], AttentionResult] = {}
        source_bt = np.array([self.reading.translated.source])
        with one_blas_thread():
            encoded = self.reading.model.encode(
                source_bt,
                dtype=np.float64,
                positions=self.reading.positions,
                intervention=self._recorder(results),
            )
        return encoded, results

    @cached_property
    def _target(self) -> dict[tuple[str, int], AttentionResult]:
        results: dict[tuple[str, int], AttentionResult] = {}
        with one_blas_thread():
            self.reading.model.decode(
                self._source[0],
                np.array([self.given]),
                positions=self.reading.positions,
                intervention=self._recorder(results),
            )
        return results

    def _recorder(self, results: dict[tuple[str, int], AttentionResult]) -> Any:
        intervention = self.reading.intervention

        def record(result: AttentionResult) -> AttentionResult:
            changed = result if intervention is None else intervention(result)
            results[changed.part, changed.layer] = changed
            return changed

        return record

    def attention(self, part: str, layer: int) -> AttentionResult:
        """Query, key, value, weights and outputs of one attention, in float64."""
        results = self._source[1] if part == "encoder" else self._target
        return results[part, layer]

    def stream(self, part: str) -> Stream:
        """The residual stream that a part's queries are read from."""
        return self.source if part == "encoder" else self.target

    def keys_stream(self, part: str) -> Stream:
        """The residual stream that a part's keys are read from."""
        return self.target if part == "decoder" else self.source

    @cached_property
    def source(self) -> Stream:
        """The encoder's residual stream."""
        tokens_bt = np.array([self.reading.translated.source])
        return self._stream(tokens_bt, "encoder", ("encoder",))

    @cached_property
    def target(self) -> Stream:
        """The decoder's residual stream."""
        return self._stream(np.array([self.given]), "decoder", ("decoder", "cross"))

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
            yield output_qd @ w_output[head * width : (head + 1) * width]

    def matrix(self, part: str, layer: int, name: str, head: int | None = None) -> Array:
        """w_query, w_key, w_value or w_output of one attention in float64, or one head's share."""
        matrix = np.asarray(self.reading.matrices(part, layer).part(name), np.float64)
        if head is None:
            return matrix
        width = self.reading.model.config.head_width
        at = slice(head * width, (head + 1) * width)
        return matrix[at] if name == "w_output" else matrix[:, at]

    def feed_forward(self, stack: str, layer: int) -> tuple[FeedForward, Norm]:
        """A feed-forward layer and the norm before it, in float64."""
        model = self.reading.model
        block = model.encoders[layer] if stack == "encoder" else model.decoders[layer]
        norm = in_dtype(block.feed_forward_norm, np.float64)
        return in_dtype(block.feed_forward, np.float64), norm

    def query_norm(self, part: str, layer: int) -> FrozenNorm:
        """The norm before the queries of one attention, as it acted."""
        model, stream = self.reading.model, self.stream(part)
        name = "cross_attention_norm" if part == "cross" else "self_attention_norm"
        block = model.encoders[layer] if part == "encoder" else model.decoders[layer]
        norm: Norm = in_dtype(getattr(block, name), np.float64)
        return FrozenNorm.at(norm, stream.x_te(stream.before(part, layer)))

    def key_norm(self, part: str, layer: int) -> FrozenNorm:
        """The norm before the keys and values of one attention; for cross-attention the last."""
        if part != "cross":
            return self.query_norm(part, layer)
        norm = in_dtype(self.reading.model.encoder_norm, np.float64)
        return FrozenNorm.at(norm, self.source.x_te())

    def keys_before(self, part: str, layer: int) -> int:
        """Number of components that the keys of one attention are made of."""
        stream = self.keys_stream(part)
        return len(stream.components) if part == "cross" else stream.before(part, layer)

    @property
    def output_norm(self) -> FrozenNorm:
        """The norm before the logits, as it acted."""
        norm = in_dtype(self.reading.model.decoder_norm, np.float64)
        return FrozenNorm.at(norm, self.target.x_te())
