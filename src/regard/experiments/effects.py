"""Effects of all heads on one next word against another: real runs, and a formula.

The effect of a head is the difference of the two words' logits with it minus without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.display import TextDisplay, render
from regard.errors import ArgumentError, check_choice
from regard.typing import Array

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture

ByLayer = Mapping[tuple[str, int], NDArray[np.float64]]


@dataclass(frozen=True)
class Choice:
    """Two tokens that may follow the same beginning of a text, and the words they begin.

    ``prefix`` are the tokens before them, ``prefix_words`` the words where they are known.
    """

    of: str
    against: str
    tokens: tuple[int, int]
    prefix: tuple[int, ...]
    prefix_words: tuple[str, ...] = ()


@dataclass(frozen=True)
class HeadEffect:
    """One head's effect by a real run without it, and by formula where there is one."""

    part: str
    layer: int
    head: int
    effect: float
    direct: float | None = None


@dataclass(frozen=True, repr=False)
class Effects(TextDisplay):
    """Effects of every head on the logit of one word against another.

    ``by_layer`` has effect_h of every (part, layer) from real runs with one head ablated.
    ``direct_by_layer`` is the formula with norms and weights frozen, for the shipped model. Both
    are in logits, positive where a head favours ``choice.of``. ``logit_difference`` is that of the
    run with all heads. ``to`` says what an ablated head writes: zero, or its mean.
    """

    choice: Choice
    logit_difference: float
    by_layer: ByLayer = field(repr=False)
    direct_by_layer: ByLayer | None = field(default=None, repr=False)
    to: str = "zero"
    run: Any = field(default=None, repr=False, compare=False)
    where: str = ""  # in words, of a watched model

    @property
    def of(self) -> str:
        """The word that a positive effect favours."""
        return self.choice.of

    @property
    def against(self) -> str:
        """The word that it is compared with."""
        return self.choice.against

    @property
    def ids(self) -> tuple[int, int]:
        return self.choice.tokens

    @property
    def position(self) -> int:
        """The token after which the two words are compared, from 0."""
        return len(self.choice.prefix) - 1

    @property
    def parts(self) -> tuple[str, ...]:
        """Parts of the model, in the order of its layers."""
        return tuple(dict.fromkeys(part for part, _ in self.by_layer))

    @cached_property
    def heads(self) -> tuple[HeadEffect, ...]:
        """Every head, the largest effect first."""
        direct = self.direct_by_layer
        rows = [
            HeadEffect(
                *key, head, float(effect), None if direct is None else float(direct[key][head])
            )
            for key, effect_h in self.by_layer.items()
            for head, effect in enumerate(effect_h)
        ]
        return tuple(sorted(rows, key=lambda row: -abs(row.effect)))

    def grid(self, part: str, *, direct: bool = False) -> NDArray[np.float64]:
        """effect_lh of one part, or the formula's."""
        check_choice("part", part, self.parts)
        table = self.direct_by_layer if direct else self.by_layer
        if table is None:
            raise ArgumentError("direct effects need a reading of the shipped model.")
        return np.stack([effect_h for key, effect_h in table.items() if key[0] == part])

    @cached_property
    def effect_mlh(self) -> NDArray[np.float64]:
        """Effects by real runs; m goes through ``parts``."""
        return np.stack([self.grid(part) for part in self.parts])

    @cached_property
    def direct_mlh(self) -> NDArray[np.float64]:
        """Effects by formula; m goes through ``parts``."""
        return np.stack([self.grid(part, direct=True) for part in self.parts])

    @property
    def correlation(self) -> float:
        """Pearson's correlation of formula and runs over all heads; NaN where one is constant."""
        return _correlation(self.effect_mlh, self.direct_mlh)

    def part_correlation(self, part: str) -> float:
        """The same over the heads of one part."""
        return _correlation(self.grid(part), self.grid(part, direct=True))

    def picture(
        self, part: str | None = None, *, what: str = "effect", kind: str = "heatmap"
    ) -> Picture:
        """The grid of effects to look at and to save: rows are layers, columns are heads.

        ``what`` is 'effect', or 'direct' for the formula.
        """
        picture: Picture = render("picture", self, part, what=what, kind=kind)
        return picture

    def to_dict(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "of": self.of,
            "against": self.against,
            "logit_difference": self.logit_difference,
            "unit": "logits; positive where the head favours 'of'",
            "counting": "layers and heads count from 0",
        }
        if self.direct_by_layer is None:
            rows = [vars(row).copy() for row in self.heads]
            for row in rows:
                row.pop("direct")
            return values | {
                "position": self.position,
                "where": self.where,
                "to": self.to,
                "heads": rows,
            }
        correlations = {part: self.part_correlation(part) for part in self.parts}
        correlations["all"] = self.correlation
        return values | {
            "sentence": self.run.sentence,
            "translation": self.run.translation,
            "prefix": list(self.choice.prefix_words),
            "effect": {part: self.grid(part).tolist() for part in self.parts},
            "direct": {part: self.grid(part, direct=True).tolist() for part in self.parts},
            "correlation": {x: None if np.isnan(y) else y for x, y in correlations.items()},
        }

    def _repr_html_(self) -> str:
        return str(render("html", self))


def _correlation(one: Array, other: Array) -> float:
    if one.std() == 0 or other.std() == 0:
        return float("nan")
    return float(np.corrcoef(one.reshape(-1), other.reshape(-1))[0, 1])
