"""Observation of one rank: facts of its queries and keys, and sums that all ranks share."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from regard.engine.interfaces import ArrayFacts
from regard.engine.observation import Head, Observation
from regard.engine.profile import Profile
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError, NotAskedError
from regard.typing import Array

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture


@dataclass(frozen=True)
class Traffic:
    """Communication of one rank: bytes sent, seconds of waiting, seconds in all."""

    sent_bytes: int
    waited_seconds: float
    seconds: float

    def __str__(self) -> str:
        waiting = self.waited_seconds / max(self.seconds, 1e-9)
        return (
            f"{self.sent_bytes / 1e6:,.3g} MB sent, {waiting:.0%} of {self.seconds:.3g} s waiting"
        )


@dataclass(frozen=True)
class RankProfile(Profile):
    """As Profile, but ``back`` and ``weight`` are this rank's slice of the distances.

    First, itself, previous, next and the histogram are the same on every rank.
    """

    near: dict[int, Array] = field(default_factory=dict)
    bands: list[tuple[int, int, Array]] = field(default_factory=list)

    def at(self, back: int) -> NDArray[Any]:
        """As Profile.at, for the distances of this rank."""
        if back in self.near:
            return self.near[back]
        if not self.back.size or not self.back[0] <= back <= self.back[-1]:
            raise NotAskedError(f"the weight at distance {back} is another rank's to say.")
        return super().at(back)

    def histogram(self) -> list[tuple[int, int, NDArray[Any]]]:
        """As Profile.histogram, of the whole sequence."""
        return self.bands


@dataclass(frozen=True)
class RankObservation(Observation):
    """One rank's slice of an observation.

    Facts of rows (output, logsumexp, entropy, top) are of this rank's queries, facts of columns
    (received) of its keys; ``query_positions`` and ``key_positions`` are their positions. The keys
    in ``top`` are positions in the sequence. The map is that of the sequence, on every rank.
    """

    query_positions: NDArray[np.int64] = field(default_factory=lambda: np.arange(0), repr=False)
    key_positions: NDArray[np.int64] = field(default_factory=lambda: np.arange(0), repr=False)
    # Of each chunk of this rank's keys to all queries.
    visibilities: tuple[Visibility, ...] = field(default=(), repr=False)
    sequence_sizes: tuple[int, int] = (0, 0)  # queries and keys of the whole sequence
    traffic: Traffic = Traffic(0, 0.0, 0.0)

    @property
    def received_mean(self) -> NDArray[Any]:
        """As received, as a mean over the queries that could see the key; 0 where none could."""
        heads = int(np.prod(self.leading, dtype=int))
        audience = np.concatenate(
            [visibility.audience(heads) for visibility in self.visibilities], axis=-1
        )
        audience = audience.reshape(self.received.shape)
        return np.asarray(self.received / np.maximum(audience, 1).astype(self.received.dtype))

    def tile(self, rows: slice | int, columns: slice | int, head: Head = None) -> NoReturn:
        """Not known to one rank: its queries meet keys that it does not hold."""
        raise NotAskedError(
            "tile needs all keys, and a rank holds a slice of them: gather the rows and columns "
            "you want, and give them to regard.observe_from_logsumexp or regard.self_attention."
        )

    def picture(self, head: Head = None, **options: Any) -> Picture:
        """The map of the whole sequence, one head of it, the first unless given."""
        queries, keys = self.sequence_sizes
        logsumexp = np.broadcast_to(0.0, (*self.leading, queries))
        facts = ArrayFacts(logsumexp=logsumexp, map=self.map)
        return Observation(facts, None, (), keys, self.cost).picture(head, **options)

    def save(self, path: str | Path, *, query_and_key: bool = False) -> None:
        """Not of one rank alone: a .regard file holds a whole observation."""
        raise NotAskedError(
            "save needs a whole observation, and this is one rank's slice: gather the arrays in "
            "facts, or write them with numpy.savez, one file a rank."
        )

    def check_mergeable(self) -> None:
        """Raise: a rank's rows are over all keys already."""
        raise ArgumentError(
            "merge needs two observations of the same queries over different keys, and what a rank "
            "of regard.distributed gets is of all keys already: put the ranks' rows side by side."
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        heads = int(np.prod(self.leading, dtype=int))
        lines = [
            f"One rank's slice of an observation: {heads:,} heads, {self.queries:,} queries "
            f"({_runs(self.query_positions)}), {self.keys:,} keys ({_runs(self.key_positions)}).",
            f"  cost: {self.cost}",
            f"  traffic: {self.traffic}",
        ]
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])


def _runs(positions: NDArray[np.int64]) -> str:
    """'0 to 511, 3,584 to 4,095'."""
    if not positions.size:
        return "none"
    breaks = np.flatnonzero(np.diff(positions) != 1) + 1
    runs = np.split(positions, breaks)
    return ", ".join(f"{run[0]:,} to {run[-1]:,}" for run in runs)
