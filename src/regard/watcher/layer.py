"""The observation of one layer, with the tokens of its queries and keys and its visible band."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.arguments import named_arguments
from regard.engine.call import Problem
from regard.engine.observation import ArrayFacts, Head, Observation, index_range
from regard.engine.pairs import sums_by_span
from regard.engine.profile import Profile
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, NotAskedError
from regard.heads.measures import HeadMeasures, UniformBaseline, uniform_in_band
from regard.text.words import TokenizedText, to_words
from regard.typing import Array

Edges = NDArray[np.int64]
Span = str | int | tuple[int, int]
MAX_WEIGHTS_AT_ONCE = 2**23  # 64 MB in float64


@named_arguments
@dataclass(frozen=True)
class LayerObservation(Observation):
    """Facts of all heads of a layer, (h, ...), or of one head; rows are queries, columns are keys.

    ``query_text`` and ``key_text`` are the tokens of rows and columns. The map's blocks lie between
    ``row_edges`` and ``column_edges``; while each block is a single token the map is the weights.
    ``span_weights`` (h, r, c) is the mean weight that the queries of span r give to span c.
    """

    name: str = ""
    query_text: TokenizedText | None = field(default=None, repr=False)
    key_text: TokenizedText | None = field(default=None, repr=False)
    row_edges: Edges | None = field(default=None, repr=False)
    column_edges: Edges | None = field(default=None, repr=False)
    measures: HeadMeasures | None = field(default=None, repr=False)
    span_names: tuple[str, ...] = ()
    span_weights: NDArray[Any] | None = field(default=None, repr=False)

    every_weight = Observation.map_is_weights

    def tile(self, rows: slice | int, columns: slice | int, head: Head = None) -> NDArray[Any]:
        """The exact weights of a rectangle, from query and key or from a map of single tokens."""
        if self.parts or not self.map_is_weights:
            if not self.parts:
                raise NotAskedError(
                    f"tile needs query and key of {self.name}, and they were not kept: "
                    f"watch with keep=({self.name.split()[-1]},) or keep='all'."
                )
            return super().tile(rows, columns, head)
        self._heads(head)  # says what is wrong with head
        one = head is not None and self.head_shape
        index = () if not one else head if isinstance(head, tuple) else (head,)
        rows = index_range("rows", rows, self.queries)
        columns = index_range("columns", columns, self.keys)
        return np.array(self.facts["map"][index][..., rows, columns])

    def row(self, query: int | str, head: Head = None) -> NDArray[Any]:
        """The weights on every key of one query, or of a word, the mean of its tokens; (h, k).

        'the#2' is the second 'the'.
        """
        if not isinstance(query, str):
            return super().row(query, head)
        from regard.watcher.measures.links import word_tokens

        rows = word_tokens(self.texts_for(f"row({query!r})")[0], query)
        return np.asarray(self.tile(rows, slice(None), head).mean(axis=-2))

    @property
    def weights(self) -> NDArray[Any]:
        """Every weight, (h, q, k): from a map of single tokens, or from query and key.

        NotAskedError says what to watch with where neither is there.
        """
        if not self.parts and not self.map_is_weights:
            size = max(self.queries, self.keys)
            raise NotAskedError(
                f"{self.name} holds facts about its weights, and blocks of them in .map: watch "
                f"with map={size} for every weight, or keep='all' for any tile(rows, columns)."
            )
        return self.tile(slice(None), slice(None))

    def mean_weights(self) -> NDArray[np.float64]:
        """The mean of all heads, (q, k), from blocks of rows: all heads at once may not fit."""
        heads = int(np.prod(self.head_shape))
        mean_qk = np.empty((self.queries, self.keys))
        at_once = max(1, MAX_WEIGHTS_AT_ONCE // max(1, heads * self.keys))
        for start in range(0, self.queries, at_once):
            rows = slice(start, min(start + at_once, self.queries))
            weights_hqk = np.asarray(self.tile(rows, slice(None)), np.float64)
            mean_qk[rows] = weights_hqk.reshape(heads, -1, self.keys).mean(axis=0)
        return mean_qk

    def by_words(self, head: Head = None) -> NDArray[Any]:
        """Weights between words: added over the tokens of a key, averaged over those of a query."""
        texts = self.texts_for("by_words")
        return to_words(self.tile(slice(None), slice(None), head), *texts)

    def span(self, row: Span, column: Span) -> NDArray[Any]:
        """Mean weight that the queries of one span give to another, for each head.

        A span is a name or number of those given to ``watch``; or, where every weight is known, a
        piece of the text or (start, stop) in tokens.
        """
        row, column = self._in_tokens(row, self.query_text), self._in_tokens(column, self.key_text)
        if self.map_is_weights and isinstance(row, tuple) and isinstance(column, tuple):
            return np.asarray(self.tile(slice(*row), slice(*column)).sum(axis=-1).mean(axis=-1))
        indices = [self._span_index(x) for x in (row, column)]
        if self.span_weights is not None and None not in indices:
            weights: NDArray[Any] = self.span_weights[..., indices[0], indices[1]]
            return weights
        if not self.parts:
            raise NotAskedError(
                f"the span {row!r} to {column!r} was not asked for: give spans to watch, or keep "
                f"query and key with keep=..., then any (start, stop) can be asked later."
            )
        edges = [np.array(x) for x in (row, column) if isinstance(x, tuple)]
        if len(edges) != 2:
            raise ArgumentError(
                f"spans must both be one of {', '.join(self.span_names) or 'none given'}, or both "
                f"(start, stop) in tokens, got {row!r} and {column!r}."
            )
        part = self.parts[0]
        sums = sums_by_span(part, self.logsumexp.reshape(part.heads, -1), edges[0], edges[1])
        return np.asarray(sums.reshape(self.head_shape) / max(1, edges[0][1] - edges[0][0]))

    def head(self, head: int) -> LayerObservation:
        """The facts of one head alone."""
        if not self.head_shape:
            raise ArgumentError(f"{self.name} is one head already.")
        if not -self.head_shape[-1] <= head < self.head_shape[-1]:
            raise ArgumentError(
                f"{self.name} has {self.head_shape[-1]} heads, counted from 0, so there is no head "
                f"{head}."
            )
        one: LayerObservation = picked(self, head % self.head_shape[-1])
        return one

    def _in_tokens(self, span: Span, text: TokenizedText | None) -> Span:
        """A piece of the text as (start, stop) in tokens; a name that was given stays one."""
        known = self.parts or self.map_is_weights
        if not isinstance(span, str) or span in self.span_names or text is None or not known:
            return span
        try:
            return text.span(span)
        except ArgumentError:
            if self.span_names:  # a name that was not given
                return span
            raise

    def _span_index(self, span: Span) -> int | None:
        if isinstance(span, str):
            if span not in self.span_names:
                raise ArgumentError(
                    f"span must be one of {', '.join(self.span_names) or 'none given'}, "
                    f"got {span!r}."
                )
            return self.span_names.index(span)
        if isinstance(span, int) and not 0 <= span < len(self.span_names):
            raise ArgumentError(
                f"span must be a number below {len(self.span_names)}, as many as were given to "
                f"watch, got {span}."
            )
        return span if isinstance(span, int) else None

    def texts_for(self, what: str) -> tuple[TokenizedText, TokenizedText]:
        """Tokens and words of rows and of columns, which something needs."""
        if self.query_text is None or self.key_text is None:
            raise NotAskedError(f"{what} needs words: give watch the model's tokenizer.")
        return self.query_text, self.key_text

    def check_weights(self, what: str, watch: str = "watch") -> None:
        """Raise where weights that something needs are neither in the map nor computable."""
        if not self.parts and not self.map_is_weights:
            raise NotAskedError(
                f"{what} needs the weights of {self.name}, and its map's blocks hold more than one "
                f"token: {watch} with map={max(self.queries, self.keys)} (every weight), or with "
                "keep='all'."
            )

    def __str__(self) -> str:
        from regard.engine.observation import summary

        shown = summary(self)
        if self.map_is_weights:
            shown = shown.replace("none of them kept", "all of them in .weights")
        elif self.parts:
            shown = shown.replace("none of them kept", "any of them by .tile(rows, columns)")
        return f"{self.name}\n{shown}"


def picked(seen: Any, index: int) -> Any:
    """One entry of the first leading axis: a sentence of a batch, or a head of a layer."""
    facts = ArrayFacts({name: array[index] for name, array in seen.facts.items()})
    profile = None
    if seen._profile is not None:
        profile = seen.profile
        profile = Profile(profile.first[index], profile.back, profile.weight[index])
    parts = tuple(picked_problem(part.on_host(), index) for part in seen.parts)
    changes: dict[str, Any] = {"facts": facts, "_profile": profile, "parts": parts}
    if isinstance(seen, LayerObservation):
        changes["name"] = f"{seen.name} head {index}"
        if seen.span_weights is not None:
            changes["span_weights"] = seen.span_weights[index]
    return replace(seen, **changes)


def picked_problem(problem: Problem, index: int) -> Problem:
    """One entry of the first leading axis of a problem."""
    each = problem.heads // problem.leading[0]
    heads = slice(index * each, (index + 1) * each)
    shared = slice(heads.start // problem.group, (heads.stop - 1) // problem.group + 1)
    options = problem.options.copy()
    if options["lengths"] is not None and len(problem.leading) > 1:
        options["lengths"] = np.asarray(options["lengths"])[index]
    mask = problem.visibility.mask
    if mask is not None and not callable(mask):
        mask = options["mask"] = mask[index]
    return replace(
        problem,
        query_hqd=problem.query_hqd[heads],
        key_gkd=problem.key_gkd[shared],
        value_gkv=problem.value_gkv[shared],
        leading=problem.leading[1:],
        visibility=_picked_visibility(problem.visibility, heads, mask),
        options=options,
    )


def _picked_visibility(visibility: Visibility, heads: slice, mask: Any) -> Visibility:
    lengths_h = None if visibility.lengths_h is None else visibility.lengths_h[heads]
    return replace(visibility, leading=visibility.leading[1:], mask=mask, lengths_h=lengths_h)


Band = tuple[int, int | None, int | None]  # offset, left, right


def visible_band(layer: LayerObservation) -> Visibility | None:
    """The band that gives the layer's uniform baseline; None where no band does.

    A watched layer records baselines, not its mask. A band (all keys, causal, a window) is taken
    where its entropy and its shares by distance are the recorded ones; a mask has none.
    """
    measures = layer.measures
    if measures is None or layer._profile is None:
        return None
    for offset, left, right in dict.fromkeys(_candidates(layer)):
        uniform = uniform_in_band(layer.queries, layer.keys, offset, left, right)
        if _is_uniform(layer, uniform):
            return Visibility((), layer.queries, layer.keys, offset, left, right)
    return None


def _candidates(layer: LayerObservation) -> Iterator[Band]:
    back, weight_hn = layer.profile.back, np.asarray(layer.profile.weight)
    seen = back[(weight_hn.reshape(-1, len(back)) > 0).any(axis=0)]
    left, right = (int(seen.max()), int(-seen.min())) if seen.size else (0, 0)
    for offset in (0, layer.keys - layer.queries):
        yield offset, None, 0
        yield offset, None, None
        yield offset, max(left, 0), 0
        yield offset, max(left, 0), max(right, 0)


def _is_uniform(layer: LayerObservation, uniform: UniformBaseline) -> bool:
    """Whether the recorded sums are these, up to the rounding of as many additions."""
    assert layer.measures is not None  # the caller looked
    entropy, distance = layer.measures.entropy, layer.measures.distance
    allowed = 1e-9 * max(1, layer.queries) * np.log(layer.keys + 1.0)
    pairs = ((uniform.entropy_h, entropy.uniform_h), (uniform.distance_hb, distance.uniform_h))
    return all(bool(np.abs(np.asarray(a)[:1] - b).max() <= allowed) for a, b in pairs)


def even_shares(band: Visibility) -> NDArray[np.float64]:
    """Share of all attention that each key gets where every query weights its keys evenly, (k,).

    >>> even_shares(Visibility((), queries=2, keys=2, right=0))
    array([0.75, 0.25])
    """
    low_q, high_q, even_q = even_rows(band)
    steps_k = np.zeros(band.keys + 1)
    live_q = even_q > 0
    np.add.at(steps_k, low_q[live_q], even_q[live_q])
    np.add.at(steps_k, high_q[live_q], -even_q[live_q])
    received_k = np.maximum(np.cumsum(steps_k)[:-1], 0)
    return np.asarray(received_k / max(received_k.sum(), np.finfo(float).tiny))


def even_rows(band: Visibility) -> tuple[Array, Array, Array]:
    """The first key of each query, the one after its last, and the even weight of each key."""
    low_hq, high_hq = band.key_ranges()
    choices_q = np.maximum(high_hq[0] - low_hq[0], 0)
    even_q = np.where(choices_q > 0, 1 / np.maximum(choices_q, 1), 0.0)
    return low_hq[0], high_hq[0], even_q
