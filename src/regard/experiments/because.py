"""Decomposition of one score into what was written into its query and its key.

score = scale * (query . key). The residual stream is a sum: embedding + position + the output of
every head and feed-forward layer before. With the scales of the norms frozen, query and key are
linear in these components, so the score is a sum over pairs of components, exact to rounding. A
component that is a head is itself a sum over the words it looked at, and so on down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from regard.blas import one_blas_thread
from regard.display import TextDisplay
from regard.errors import ArgumentError, check_choice
from regard.experiments.selection import check_number
from regard.typing import Array

SIDES = ("query", "key")
OPENABLE = ("head", "feed-forward")  # kinds of components that are sums themselves
ROUNDING = 1e-9  # a head's output differs from its weighted sum by more only if it was changed


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


NORM_BIAS = Component("norm bias")
FEED_FORWARD_BIAS = Component("feed-forward bias")
CHANGE_BY_HAND = Component("change by hand")


@dataclass(frozen=True)
class FrozenNorm:
    """A normalisation with the scale that it had in one run: linear in x.

    LayerNorm removes the mean, RMSNorm does not (``centred=False``).
    """

    factor_te: Array
    bias_e: Array
    centred: bool = True

    @classmethod
    def from_run(
        cls, gain_e: Array, bias_e: Array, x_te: Array, *, epsilon: float, centred: bool = True
    ) -> FrozenNorm:
        deviation_te = x_te - x_te.mean(axis=-1, keepdims=True) if centred else x_te
        scale_t1 = np.sqrt((deviation_te**2).mean(axis=-1, keepdims=True) + epsilon)
        return cls(gain_e / scale_t1, bias_e, centred)

    def apply(self, written_nte: Array) -> Array:
        """Each component through the norm, without the norm's bias."""
        if self.centred:
            written_nte = written_nte - written_nte.mean(axis=-1, keepdims=True)
        return np.asarray(written_nte * self.factor_te)

    def pull_back(self, direction_te: Array) -> Array:
        """The directions in x that have the same product with x as these have with its norm.

        The norm's bias is not in it.
        """
        scaled_te: Array = direction_te * self.factor_te
        return scaled_te - scaled_te.mean(axis=-1, keepdims=True) if self.centred else scaled_te

    def at(self, position: int) -> FrozenNorm:
        """The norm of one token."""
        return FrozenNorm(self.factor_te[position], self.bias_e, self.centred)


@dataclass(frozen=True)
class Stream:
    """One text's residual stream: written_nte by component."""

    components: tuple[Component, ...]
    written_nte: Array = field(repr=False)

    def before(self, part: str, layer: int) -> int:
        """Number of components that were written before one attention."""
        for number, component in enumerate(self.components):
            if (component.part, component.layer) == (part, layer):
                return number
        return len(self.components)

    def x_te(self, components: int | None = None) -> Array:
        """The sum of the first components, or of all."""
        total: Array = self.written_nte[:components].sum(axis=0)
        return total

    def index(self, component: Component) -> int:
        return self.components.index(component)


class ResidualStreams(Protocol):
    """Residual streams of a run whose components can be opened: see ``transformer.residual``."""

    @property
    def source(self) -> Stream:
        """The encoder's stream."""

    @property
    def target(self) -> Stream:
        """The decoder's stream."""

    def attention(self, part: str, layer: int) -> Any:
        """Query, key, value, weights and outputs of one attention."""

    def keys_stream(self, part: str) -> Stream:
        """The stream that a part's keys are read from."""

    def keys_before(self, part: str, layer: int) -> int:
        """Number of components that the keys of one attention are made of."""

    def key_norm(self, part: str, layer: int) -> FrozenNorm:
        """The norm before the keys and values of one attention."""

    def matrix(self, part: str, layer: int, name: str, head: int | None = None) -> Array:
        """w_query, w_key, w_value or w_output of one attention, or one head's share."""

    def feed_forward(self, stack: str, layer: int) -> tuple[Any, Any]:
        """A feed-forward layer and the norm before it."""

    def frozen(self, norm: Any, x_te: Array) -> FrozenNorm:
        """A norm as it acts on these vectors."""

    def token_name(self, text: str, position: int) -> str:
        """A token of the 'source' or the 'target'."""


@dataclass(frozen=True)
class TokenComponent:
    """A component at one token, and the direction whose product with it is its share of a score.

    ``text`` is 'source' or 'target', or 'text' in a watched model. A constant, such as the bias of
    a norm, has no direction.
    """

    text: str
    position: int
    word: str
    component: Component
    direction_e: Array | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.word}: {self.component}"

    @property
    def opens(self) -> bool:
        """Whether it is a sum over other components."""
        return self.direction_e is not None and self.component.kind in OPENABLE


@dataclass(frozen=True)
class ScoreTerm:
    """One term of a score: its value, and what it comes from on the query's and the key's side."""

    value: float
    query: TokenComponent
    key: TokenComponent

    def __str__(self) -> str:
        return f"{self.value:+.3f}  {self.query}  x  {self.key}"

    def opens(self, sides: Sequence[str] = SIDES) -> bool:
        """Whether a component of one of these sides is a sum over other components."""
        return any(getattr(self, side).opens for side in sides)

    def to_dict(self) -> dict[str, Any]:
        return {"value": self.value, "query": str(self.query), "key": str(self.key)}


@dataclass(frozen=True, repr=False)
class ScoreDecomposition(TextDisplay):
    """A score, or one term of it, as a sum of terms, the largest first.

    ``total`` is what the terms sum to; ``score`` and ``weight`` are those of the head's query and
    key, at the token ``positions`` of both; ``path`` names the terms that were followed down to it.
    With ``against`` it is the score on the key minus that on another one, ``score_against``: a row
    of weights depends on differences of scores alone.
    """

    part: str
    layer: int
    head: int
    query: str
    key: str
    positions: tuple[int, int]
    score: float
    weight: float
    total: float
    terms: tuple[ScoreTerm, ...] = field(repr=False)
    path: tuple[str, ...] = ()
    against: str = ""
    score_against: float = 0.0
    sentence: str = ""
    streams: ResidualStreams | None = field(default=None, repr=False, compare=False)

    def because(
        self, term: int | ScoreTerm | None = None, side: str | None = None
    ) -> ScoreDecomposition:
        """One term further down: the head or feed-forward layer in it as a sum of its inputs.

        Parameters
        ----------
        term : int or ScoreTerm, optional
            A term, or its number in ``terms``, the largest being 0; by default the largest that can
            be opened.
        side : str, optional
            'query' or 'key': the component to open; the query's where it can be opened.
        """
        if self.streams is None:
            raise ArgumentError(
                "the terms of a watched model's score cannot be opened further: that needs a "
                "reading of the shipped model."
            )
        if side is not None:
            check_choice("side", side, SIDES)
        if term is None:
            term = self._largest_open(side)
        elif not isinstance(term, ScoreTerm):
            term = self.terms[check_number("term", term, len(self.terms))]
        return self._opened(self.streams, term, side)

    def by(self, side: str) -> dict[str, float]:
        """The terms summed by the component of one side, 'query' or 'key'; the largest first."""
        check_choice("side", side, SIDES)
        sums: dict[str, float] = {}
        for term in self.terms:
            name = str(getattr(term, side))
            sums[name] = sums.get(name, 0.0) + term.value
        return dict(sorted(sums.items(), key=lambda item: -abs(item[1])))

    def to_dict(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence,
            "part": self.part,
            "layer": self.layer,
            "head": self.head,
            "query": self.query,
            "key": self.key,
            "positions": list(self.positions),
            "against": self.against or None,
            "score": self.score,
            "score_against": self.score_against if self.against else None,
            "weight": self.weight,
            "total": self.total,
            "path": list(self.path),
            "terms": [term.to_dict() for term in self.terms],
            "counting": "layers and heads count from 0",
        }

    def _largest_open(self, side: str | None) -> ScoreTerm:
        for term in self.terms:
            if term.opens(SIDES if side is None else (side,)):
                return term
        raise ArgumentError(
            "because needs a term with a head or a feed-forward layer in it, but none is left: "
            "this is where the score begins."
        )

    @one_blas_thread()
    def _opened(
        self, streams: ResidualStreams, term: ScoreTerm, side: str | None
    ) -> ScoreDecomposition:
        """The decomposition of one term, by what one of its components is made of."""
        side = side or next((x for x in SIDES if getattr(term, x).opens), "query")
        opened: TokenComponent = getattr(term, side)
        if not opened.opens:
            raise ArgumentError(_closed(opened))
        # The other component's direction is spent: it is part of the opened one's direction now.
        fixed = replace(term.key if side == "query" else term.query, direction_e=None)
        terms = [
            ScoreTerm(value, *((source, fixed) if side == "query" else (fixed, source)))
            for source, value in _shares(streams, opened)
        ]
        return replace(
            self,
            total=float(sum(x.value for x in terms)),
            terms=sorted_terms(terms),
            path=(*self.path, str(term)),
        )


@dataclass(frozen=True)
class ScoreFactor:
    """Query or key of a score by components (n, d), in the d features of the head.

    With a ``norm`` and the matrix behind it the components get directions, so that they can be
    opened.
    """

    sources: tuple[TokenComponent, ...]
    vectors_nd: Array
    matrix_ed: Array | None = None
    norm: FrozenNorm | None = None

    def toward(self, number: int, direction_e: Array | None) -> TokenComponent:
        """A component with the direction whose product with it is its share of the score."""
        source = self.sources[number]
        return source if source.component == NORM_BIAS else replace(source, direction_e=direction_e)

    def directions(self, fixed_md: Array) -> Array | list[None]:
        """direction_me in the stream for each of the other side's vectors, which are fixed."""
        if self.norm is None or self.matrix_ed is None:
            return [None] * len(fixed_md)
        return self.norm.pull_back(fixed_md @ self.matrix_ed.T)


def pair_terms(query: ScoreFactor, key: ScoreFactor, scale: float) -> Iterator[ScoreTerm]:
    """The terms of scale * (query . key), one for each pair of components."""
    values_nm = query.vectors_nd @ key.vectors_nd.T * scale
    query_me = query.directions(key.vectors_nd * scale)
    key_ne = key.directions(query.vectors_nd * scale)
    for n, m in np.ndindex(*values_nm.shape):
        yield ScoreTerm(
            float(values_nm[n, m]), query.toward(n, query_me[m]), key.toward(m, key_ne[n])
        )


def sorted_terms(terms: Iterable[ScoreTerm]) -> tuple[ScoreTerm, ...]:
    """Terms by absolute value, the largest first."""
    return tuple(sorted(terms, key=lambda term: -abs(term.value)))


def _closed(source: TokenComponent) -> str:
    if source.component.kind in OPENABLE:
        return (
            f"because needs a component on the side that was opened, but {source} is on the other: "
            "open that one first, in the decomposition before."
        )
    return (
        f"because needs a head or a feed-forward layer to go further down, but {source} is where "
        "it begins: take another term."
    )


Share = tuple[TokenComponent, float]


def _shares(streams: ResidualStreams, source: TokenComponent) -> Iterator[Share]:
    """Inputs of one component, each with its share of the score."""
    if source.component.kind == "head":
        return _head_shares(streams, source)
    return _feed_forward_shares(streams, source)


def _head_shares(streams: ResidualStreams, source: TokenComponent) -> Iterator[Share]:
    """By the words that the head looked at, and by the components of each word's value."""
    component, direction_e = source.component, source.direction_e
    part, layer, head = component.part, component.layer, component.head
    result = streams.attention(part, layer)
    direction_d = streams.matrix(part, layer, "w_output", head) @ direction_e
    weights_k = result.weights_bhqk[0, head, source.position]
    value_e = streams.matrix(part, layer, "w_value", head) @ direction_d
    norm, stream = streams.key_norm(part, layer), streams.keys_stream(part)
    number = streams.keys_before(part, layer)
    pulled_ke = norm.pull_back(np.broadcast_to(value_e, norm.factor_te.shape))
    text = "source" if stream is streams.source else "target"
    for key, weight in enumerate(weights_k):
        if weight > 0:
            word = streams.token_name(text, key)
            yield from _stream_shares(stream, number, (text, key, word), weight * pulled_ke[key])
            bias = float(weight * (norm.bias_e @ value_e))
            yield TokenComponent(text, key, word, NORM_BIAS), bias
    # Ablated and patched heads wrote something else than their weighted sum.
    own_d = weights_k @ result.value_bhkd[0, head]
    by_hand = float((result.output_bhqd[0, head, source.position] - own_d) @ direction_d)
    if abs(by_hand) > ROUNDING:
        yield replace(source, component=CHANGE_BY_HAND, direction_e=None), by_hand


def _feed_forward_shares(streams: ResidualStreams, source: TokenComponent) -> Iterator[Share]:
    """By the components before it at the same word, the relu frozen."""
    component = source.component
    stream = streams.source if source.text == "source" else streams.target
    feed_forward, norm = streams.feed_forward(component.part, component.layer)
    number = stream.index(component)
    x_te = stream.x_te(number)
    normed_e = norm(x_te)[source.position]
    w_in, w_out = np.asarray(feed_forward.w_in), np.asarray(feed_forward.w_out)
    active_f = normed_e @ w_in + feed_forward.b_in > 0
    direction_f: Array = active_f * (w_out @ source.direction_e)
    direction_e = w_in @ direction_f
    frozen = streams.frozen(norm, x_te)
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
