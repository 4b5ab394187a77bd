"""Calls of one layer on one sentence, stitched: a prompt, then token by token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.models.growing_map import GrowingMap
from regard.models.kept import Kept, joined_problem
from regard.self_attention.heads import HeadMeasures
from regard.self_attention.observation import Observation
from regard.self_attention.profile import Profile
from regard.self_attention.tiles.plan import Cost
from regard.self_attention.tiles.problem import Array, Problem

if TYPE_CHECKING:
    from regard.models.doubts import Doubt

ROW_FACTS = ("logsumexp", "entropy", "top_weights", "top_keys")


@dataclass(frozen=True)
class Piece:
    """What one call said of one sentence: an observation (h, ...), and where it stands."""

    seen: Observation
    row_start: int
    column_start: int
    measures: HeadMeasures
    span_sums: Array | None = None
    kept: Problem | None = None


@dataclass(frozen=True)
class Later:
    """A piece that is still to be made: how much it is of what, and where it stands.

    ``held`` bytes lie on a device until then; ``doubt`` is what the device has still to say of it.
    """

    queries: int
    keys: int
    row_start: int
    column_start: int
    make: Callable[[], Piece]
    held: int = 0
    doubt: Doubt | None = None


@dataclass(eq=False)
class Track:
    """All pieces so far, added up; everything a query or a key has is kept in its own place.

    How many there are of each is known at once; what was seen, when the track is settled.
    """

    most: int  # blocks of the map
    waiting: list[Later] = field(default_factory=list)
    rows: dict[str, list[Array]] = field(default_factory=lambda: {x: [] for x in ROW_FACTS})
    received_hk: Array | None = None
    map: GrowingMap | None = None
    distances: Distances | None = None
    measures: HeadMeasures | None = None
    span_sums: Array | None = None
    kept: list[Kept] = field(default_factory=list)
    first_row: int = 0
    queries: int = 0
    keys: int = 0
    flops: int = 0
    peak: int = 0
    dtype: Any = np.float32

    def expect(self, later: Later) -> None:
        """Take in a call; its queries follow those before."""
        if not self.queries:
            self.first_row = later.row_start
        self.queries += later.queries
        self.keys = max(self.keys, later.column_start + later.keys)
        self.waiting.append(later)

    def settle(self) -> None:
        """Make what is still to be made; what cannot be made says so each time."""
        while self.waiting:
            self._add(self.waiting[0].make())
            del self.waiting[0]

    @property
    def held(self) -> int:
        """Bytes that lie on a device."""
        return sum(later.held for later in self.waiting)

    def _add(self, piece: Piece) -> None:
        seen = piece.seen
        if self.measures is None:
            self.dtype = seen.facts["entropy"].dtype
        self.flops, self.peak = self.flops + seen.cost.flops, max(self.peak, seen.cost.peak_bytes)
        for name in ROW_FACTS:
            if name in seen.facts:
                self.rows[name].append(_shifted(name, seen.facts[name], piece.column_start))
        if "received" in seen.facts:
            self.received_hk = _added(self.received_hk, seen.received, piece.column_start)
        if "map" in seen.facts:
            self._add_map(piece)
        if seen._profile is not None:
            live_h = np.isfinite(seen.logsumexp).sum(axis=-1)
            first = piece.column_start == 0
            self.distances = Distances.of(seen.profile, live_h, first).plus(self.distances)
        self.measures = piece.measures if self.measures is None else self.measures + piece.measures
        if piece.span_sums is not None:
            self.span_sums = piece.span_sums + (0 if self.span_sums is None else self.span_sums)
        if piece.kept is not None:
            self.kept.append(Kept(piece.kept, piece.row_start, piece.column_start))

    def _add_map(self, piece: Piece) -> None:
        seen = piece.seen
        live_hq = np.isfinite(seen.logsumexp)
        if self.map is None:
            starts = (piece.row_start, piece.column_start)
            self.map = GrowingMap.of(seen.map, live_hq, starts, seen.keys, self.most)
        else:
            self.map.add(seen.map, live_hq, piece.column_start)

    def facts(self) -> dict[str, Array]:
        """Every fact under its name in an observation."""
        joined = {x: np.concatenate(a, axis=1) if len(a) > 1 else a[0]
                  for x, a in self.rows.items() if a}  # fmt: skip
        if self.received_hk is not None:
            joined["received"] = self.received_hk.astype(self.dtype)
        if self.map is not None:
            joined["map"] = self.map.map_hrc.astype(self.dtype, copy=False)
        return joined

    def profile(self) -> Profile | None:
        """Means by distance over all queries."""
        return None if self.distances is None else self.distances.profile(self.dtype)

    @property
    def cost(self) -> Cost:
        """The work of all calls."""
        return Cost("watched", self.flops, self.peak)

    def problem(self) -> Problem | None:
        """Query and key of all calls as one problem, where they were kept."""
        if len(self.kept) < 2:
            return self.kept[0].problem if self.kept and not self.kept[0].column_start else None
        return joined_problem(self.kept, self.keys)


@dataclass(frozen=True)
class Distances:
    """Sums over queries of the weight at each distance, from ``low`` back up."""

    low: int
    weight_hn: Array
    first_h: Array
    live_h: Array

    @classmethod
    def of(cls, profile: Profile, live_h: Array, first: bool) -> Distances:
        """The sums behind a profile; where the first key is no longer there it gets nothing."""
        low = int(profile.back[0]) if profile.back.size else 0
        share_h = np.asarray(profile.first, np.float64) * (1 if first else 0)
        weight_hn = np.asarray(profile.weight, np.float64) * live_h[:, None]
        return cls(low, weight_hn, share_h * live_h, live_h)

    def plus(self, other: Distances | None) -> Distances:
        """Both together, over the distances of either."""
        if other is None:
            return self
        low = min(self.low, other.low)
        high = max(x.low + x.weight_hn.shape[1] for x in (self, other))
        weight_hn = np.zeros((self.weight_hn.shape[0], high - low))
        for x in (self, other):
            weight_hn[:, x.low - low : x.low - low + x.weight_hn.shape[1]] += x.weight_hn
        return Distances(low, weight_hn, self.first_h + other.first_h, self.live_h + other.live_h)

    def profile(self, dtype: Any) -> Profile:
        """Means over the queries that see anything."""
        live_h = np.maximum(self.live_h, 1)
        back = np.arange(self.low, self.low + self.weight_hn.shape[1])
        weight_hn = (self.weight_hn / live_h[:, None]).astype(dtype)
        return Profile((self.first_h / live_h).astype(dtype), back, weight_hn)


def _shifted(name: str, array: Array, column_start: int) -> Array:
    """Keys are counted from the first of the sentence, not of the call."""
    if name == "top_keys" and column_start:
        return np.where(array >= 0, array + column_start, -1)
    return array


def _added(sums_hk: Array | None, more_hk: Array, start: int) -> Array:
    stop = start + more_hk.shape[1]
    before = 0 if sums_hk is None else sums_hk.shape[1]
    grown = np.zeros((more_hk.shape[0], max(stop, before)))
    if sums_hk is not None:
        grown[:, :before] = sums_hk
    grown[:, start:stop] += more_hk
    return grown
