"""Facts of layers without a softmax as they are printed and saved: a line for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np

from regard.typing import Array

MAX_ROWS = 64  # whose measures are averaged; of a longer text they are evenly spaced
MOST_DRAWN = 512  # tokens of a text whose rows are drawn and saved
MEASURES = ("reach", "spread", "cancelled", "negative", "itself")
HEADINGS = ("mixer", "rows", "columns", *MEASURES, "error")
NOTE = (
    "Weights are signed, so they are no attention. reach and spread are in tokens, by shares of "
    "|w v|; cancelled is 1 - |sum w| / sum |w|, negative the negative part of sum |w|, itself the "
    "share of the own column, with a skip connection inside the layer: means over heads and rows."
)
NONE = "No layer that mixes positions without a softmax ran."


def evenly(positions: int, most: int = MAX_ROWS) -> list[int]:
    """All positions, or some of them evenly spaced, the first and the last among them.

    >>> evenly(9, 3)
    [0, 4, 8]
    """
    spaced = np.linspace(0, positions - 1, min(most, positions)).round().astype(int)
    return sorted(set(spaced.tolist()))


class MixerFacts(ABC):
    """The facts of some layers, printed as a table.

    ``facts`` are those of each layer: its measures for each head, or the ``problem`` for which
    nothing is shown.
    """

    @property
    @abstractmethod
    def facts(self) -> Sequence[Mapping[str, Any]]:
        """One of each layer."""

    @abstractmethod
    def drawn(self, number: int) -> Array | None:
        """Signed shares (heads, rows, tokens) of a layer, of the rows ``evenly(tokens)``.

        Negative where what a token wrote points against all that the row took: it is taken back.
        None of a layer that is not shown, and of a long text.
        """

    @property
    def refused(self) -> dict[str, str]:
        """The reason of each layer of which nothing was proven, by its path."""
        return {x["path"]: x["problem"] for x in self.facts if x.get("problem")}

    def report(self) -> str:
        """A line for each layer, with its error; and why others are not shown."""
        return table(self.facts)

    def __str__(self) -> str:
        return self.report()


class StoredMixers(MixerFacts):
    """The layers without a softmax of a file, one by one; their weights need a model."""

    facts: tuple[Mapping[str, Any], ...] = ()

    def __init__(self, facts: Sequence[Mapping[str, Any]], drawn: Callable[[int], Any]) -> None:
        self.facts, self._drawn = tuple(facts), drawn

    def drawn(self, number: int) -> Array | None:
        found: Array | None = self._drawn(number)
        return found

    def __len__(self) -> int:
        return len(self.facts)


def table(facts: Sequence[Mapping[str, Any]]) -> str:
    """A line for each layer, a note, and the reasons of those that are not shown."""
    shown = [x for x in facts if not x.get("problem")]
    lines = [HEADINGS, *map(_cells, shown)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    rows = [
        "  ".join(x.ljust(w) if i < 3 else x.rjust(w) for i, (x, w) in enumerate(pairs)).rstrip()
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    ]
    parts = ["\n".join(rows), fill(NOTE, 80)] if shown else []
    refused = [x for x in facts if x.get("problem")]
    reasons = [fill(f"{_name(x)} is not shown: {x['problem']}.", 80) for x in refused]
    return "\n\n".join([*parts, *(["\n".join(reasons)] if reasons else [])]) or NONE


def _name(facts: Mapping[str, Any]) -> str:
    return str(facts["path"] or facts["kind"])


def _cells(facts: Mapping[str, Any]) -> tuple[str, ...]:
    heads, of_channels = facts["heads"], facts["width"] == 1
    means = {name: sum(facts[name]) / len(facts[name]) for name in MEASURES}
    return (
        _name(facts),
        f"{heads} {'channels' if of_channels else 'heads'}",
        facts["columns"] + (" through a convolution" if facts["convolved"] else ""),
        *(f"{means[name]:.1f}" for name in MEASURES[:2]),
        *(f"{means[name]:.0%}" for name in MEASURES[2:]),
        f"{facts['error']:.0e}",
    )
