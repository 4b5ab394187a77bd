"""Observation of one rank: facts of its queries and keys, and sums that all ranks share."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import Cost, Requested
from regard.engine.observation import ArrayFacts, Head, Observation
from regard.engine.profile import Profile, bands_between
from regard.engine.ring.gpu_passes import DeviceColumns, device_row_pass, natural_total
from regard.engine.ring.passes import RankColumns, fits_gathered, gathered_pass, row_pass
from regard.engine.ring.rank_slice import DeviceRankSlice, RankSlice
from regard.engine.ring.transport import Transport, sum_over_ranks
from regard.engine.tensors import as_array, is_tensor
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
        if back in self.near:
            return self.near[back]
        if not self.back.size or not self.back[0] <= back <= self.back[-1]:
            raise NotAskedError(f"the weight at distance {back} is on another rank.")
        return super().at(back)

    def histogram(self) -> list[tuple[int, int, NDArray[Any]]]:
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
        heads = int(np.prod(self.head_shape, dtype=int))
        audience = np.concatenate(
            [visibility.audience(heads) for visibility in self.visibilities], axis=-1
        )
        audience = audience.reshape(self.received.shape)
        return np.asarray(self.received / np.maximum(audience, 1).astype(self.received.dtype))

    def tile(self, rows: slice | int, columns: slice | int, head: Head = None) -> NoReturn:
        raise NotAskedError(
            "tile needs all keys, but a rank has a slice of them: gather the rows and columns "
            "you want, and give them to regard.observe_from_logsumexp or regard.self_attention."
        )

    def picture(self, head: Head = None, **options: Any) -> Picture:
        """Picture of the map of the whole sequence; options as for ``Observation.picture``."""
        queries, keys = self.sequence_sizes
        logsumexp = np.broadcast_to(0.0, (*self.head_shape, queries))
        facts = ArrayFacts(logsumexp=logsumexp, map=self.map)
        return Observation(facts, None, (), keys, self.cost).picture(head, **options)

    def save(self, path: str | Path, *, query_and_key: bool = False) -> None:
        raise NotAskedError(
            "save needs a whole observation, and this is one rank's slice: gather the arrays in "
            "facts, or write them with numpy.savez, one file a rank."
        )

    def _check_mergeable(self) -> None:
        raise ArgumentError(
            "merge must get two observations of the same queries over different keys, got a "
            "rank's, which is of all keys already: concatenate the ranks' rows."
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def __str__(self) -> str:
        heads = int(np.prod(self.head_shape, dtype=int))
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


NEAR_DISTANCES = (-1, 0, 1)


def build_rank_observation(
    rank_slice: RankSlice, requested: Requested, transport: Transport, begin: float
) -> RankObservation:
    """One pass for facts of queries and, where requested, one more for facts of keys."""
    problem, profile = rank_slice.problem, None
    columns: RankColumns | None = None
    if isinstance(rank_slice, DeviceRankSlice):
        rows = device_row_pass(rank_slice, requested, transport)
        if requested.column_facts:
            columns = DeviceColumns(rank_slice, requested)
            total_hq = natural_total(rank_slice, rows["log2_total"])
            columns.pass_queries(transport, [problem.query_hqd, total_hq])
    elif fits_gathered(rank_slice, requested):
        rows, columns = gathered_pass(rank_slice, requested, transport)
    else:
        rows = row_pass(rank_slice, requested, transport)
        if requested.column_facts:
            columns = RankColumns(rank_slice, requested)
            arrays = [problem.query_hqd, rows["shift"], rows["inverse"]]
            columns.pass_queries(transport, arrays)
    log2_total_hq, output = rows.pop("log2_total"), rows.get("output")
    logsumexp_hq = log2_total_hq * math.log(2)
    if not isinstance(rank_slice, DeviceRankSlice):
        logsumexp_hq = problem.restore_clipped(logsumexp_hq)
    for name in ("shift", "inverse"):
        rows.pop(name, None)
    tensor = output.reshape((*problem.leading, *output.shape[1:])) if is_tensor(output) else None
    rows |= {} if tensor is None else {"output": as_array(output)}
    facts = {"logsumexp": logsumexp_hq, **rows}
    if columns is not None:
        if requested.received:
            facts["received"] = columns.received_hk.astype(rank_slice.dtype)
        sums = _small_sums(columns, np.isfinite(log2_total_hq))
        totals = sum_over_ranks(rank_slice, transport, sums)
        if "map" in totals:
            counts_hr1 = np.maximum(totals["live_hr"], 1)[..., None]
            facts["map"] = (totals["map"] / counts_hr1).astype(rank_slice.dtype)
        profile = _profile(columns, totals)
    shaped = {name: a.reshape((*problem.leading, *a.shape[1:])) for name, a in facts.items()}
    return RankObservation(
        ArrayFacts(shaped),
        profile,
        parts=(),
        keys=rank_slice.keys.token_count(rank_slice.rank),
        cost=_cost(rank_slice, requested),
        _tensor=tensor,
        query_positions=rank_slice.queries.positions(rank_slice.rank),
        key_positions=rank_slice.keys.positions(rank_slice.rank),
        visibilities=rank_slice.visibilities(),
        sequence_sizes=(rank_slice.queries.tokens, rank_slice.keys.tokens),
        traffic=Traffic(transport.sent_bytes, transport.waited_seconds, time.monotonic() - begin),
    )


def _small_sums(columns: RankColumns, live_hq: Array) -> dict[str, Array]:
    """Sums that every rank needs in the end; their size does not grow with the sequence."""
    rank_slice, arrays = columns.rank_slice, {"live": live_hq.sum(axis=1, dtype=np.float64)}
    if columns.map_hrc is not None:
        arrays["map"] = columns.map_hrc
        at_q = rank_slice.queries.positions(rank_slice.rank)
        block_q = np.searchsorted(columns.edges[0], at_q, side="right") - 1
        blocks = columns.map_hrc.shape[1]
        counts = [np.bincount(block_q, live_q, blocks) for live_q in live_hq]
        arrays["live_hr"] = np.array(counts).reshape(-1, blocks)
    if columns.distances is not None:
        is_first_k = rank_slice.keys.positions(rank_slice.rank) == 0
        arrays["first"] = columns.received_hk[:, is_first_k].sum(axis=1)
        for name, low, high in _bands(rank_slice):
            arrays[name] = columns.distances.between(low, high)
    return arrays


def _bands(rank_slice: RankSlice) -> list[tuple[str, int, int]]:
    """Ranges of distance whose weight every rank needs: the nearest and the doubling ones."""
    low, high = reach(rank_slice)
    near = [(f"near {back}", back, back) for back in NEAR_DISTANCES]
    doubling = [(f"band {i}", min(x), max(x)) for i, x in enumerate(bands_between(low, high))]
    return near + (doubling if high >= low else [])


def reach(rank_slice: RankSlice) -> tuple[int, int]:
    """The farthest distances ahead (negative) and back."""
    low = rank_slice.problem.visibility.offset - (rank_slice.keys.tokens - 1)
    return low, low + rank_slice.queries.tokens + rank_slice.keys.tokens - 2


def _profile(columns: RankColumns, totals: dict[str, Array]) -> RankProfile | None:
    if columns.distances is None:
        return None
    problem, rank_slice = columns.rank_slice.problem, columns.rank_slice
    live_h = np.maximum(totals["live"], 1)

    def mean(sums: Array) -> Array:
        means = sums / (live_h[:, None] if sums.ndim > 1 else live_h)
        shape = (*problem.leading, *sums.shape[1:])
        return np.asarray(means.astype(rank_slice.dtype).reshape(shape))

    low, high = reach(rank_slice)
    doubling = bands_between(low, high) if high >= low else []
    return RankProfile(
        mean(totals["first"]),
        columns.distances.back,
        mean(columns.distances.weight_hn[:, ::-1]),
        {back: mean(totals[f"near {back}"]) for back in NEAR_DISTANCES},
        [(*band, mean(totals[f"band {i}"])) for i, band in enumerate(doubling)],
    )


def _cost(rank_slice: RankSlice, requested: Requested) -> Cost:
    """Operations of this rank, and its memory in addition to its slice and the facts."""
    problem, this_rank = rank_slice.problem, rank_slice.rank
    width, value_width = problem.key_gkd.shape[-1], problem.value_gkv.shape[-1]
    at_once = fits_gathered(rank_slice, requested)
    ranks, value_gkv = range(rank_slice.ranks), problem.value_gkv
    flops = sum(rank_slice.flops(this_rank, rank, value_gkv) for rank in ranks)
    if requested.column_facts and not at_once:
        empty = rank_slice.empty_value()
        flops += sum(rank_slice.flops(rank, this_rank, empty) for rank in ranks)
    largest = max(rank_slice.keys.token_count(rank) for rank in ranks)
    tokens = rank_slice.keys.tokens if at_once else 2 * largest  # of this step and of the next
    elements = problem.key_gkd.shape[0] * tokens * (width + value_width)
    plan = f"{'gathered over' if at_once else 'ring of'} {rank_slice.ranks}"
    return Cost(plan, flops, elements * problem.key_gkd.dtype.itemsize)
