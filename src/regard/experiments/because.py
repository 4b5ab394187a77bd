"""Decomposition of one score into what was written into its query and its key.

score = scale * (query . key). The residual stream is a sum: embedding + position + the output of
every head and feed-forward layer before. With the scales of the norms frozen, query and key are
linear in these components, so the score is a sum over pairs of components, exact to rounding. A
component that is a head is itself a sum over the words it looked at, and so on down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from regard.blas import one_blas_thread
from regard.display import TextDisplay
from regard.errors import ArgumentError, check_choice
from regard.experiments.selection import check_number
from regard.typing import Array

SIDES = ("query", "key")
OPENABLE = ("head", "feed-forward")  # kinds of components that are sums themselves


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


# The inputs of a component, each with its share of the score.
Share = tuple[TokenComponent, float]
OpenComponent = Callable[[TokenComponent], Iterator[Share]]


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
    open_component: OpenComponent | None = field(default=None, repr=False, compare=False)

    def because(
        self, term: int | ScoreTerm | None = None, side: str | None = None
    ) -> ScoreDecomposition:
        """One term further down: the head or feed-forward layer in it as a sum of its inputs.

        Parameters
        ----------
        term : one of ``terms``, or its number, the largest being 0; by default the largest that can
            be opened.
        side : 'query' or 'key': the component to open; the query's where it can be opened.
        """
        if self.open_component is None:
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
        return self._opened(self.open_component, term, side)

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
        self, open_component: OpenComponent, term: ScoreTerm, side: str | None
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
            for source, value in open_component(opened)
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
