"""Choice of the passes, and the observation made of their facts."""

from __future__ import annotations

import math
import time

import numpy as np

from regard.engine.distances import bands_between
from regard.engine.interfaces import ArrayFacts
from regard.engine.ring.gpu_passes import device_column_pass, device_row_pass
from regard.engine.ring.passes import (
    RankColumns,
    column_pass,
    fits_gathered,
    gathered_pass,
    row_pass,
)
from regard.engine.ring.rank_observation import RankObservation, RankProfile, Traffic
from regard.engine.ring.rank_slice import DeviceRankSlice, RankSlice
from regard.engine.ring.transport import Transport, sum_over_ranks
from regard.engine.tensors import as_array, is_tensor
from regard.engine.tiles.plan import Cost
from regard.engine.tiles.rows import Requested
from regard.typing import Array

NEAR = (-1, 0, 1)


def build_rank_observation(
    rank_slice: RankSlice, requested: Requested, transport: Transport, begin: float
) -> RankObservation:
    """One pass for facts of queries and, where requested, one more for facts of keys."""
    problem, profile = rank_slice.problem, None
    columns = None
    if isinstance(rank_slice, DeviceRankSlice):
        rows = device_row_pass(rank_slice, requested, transport)
        if requested.column_facts:
            columns = device_column_pass(rank_slice, requested, rows["log2_total"], transport)
    elif fits_gathered(rank_slice, requested):
        rows, columns = gathered_pass(rank_slice, requested, transport)
    else:
        rows = row_pass(rank_slice, requested, transport)
        if requested.column_facts:
            columns = column_pass(rank_slice, requested, rows["log2_total"], transport)
    log2_total_hq, output = rows.pop("log2_total"), rows.get("output")
    tensor = output.reshape((*problem.leading, *output.shape[1:])) if is_tensor(output) else None
    rows |= {} if tensor is None else {"output": as_array(output)}
    facts = {"logsumexp": log2_total_hq * math.log(2), **rows}
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
        keys=rank_slice.keys.tokens_of(rank_slice.rank),
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
    near = [(f"near {back}", back, back) for back in NEAR]
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
        {back: mean(totals[f"near {back}"]) for back in NEAR},
        [(*band, mean(totals[f"band {i}"])) for i, band in enumerate(doubling)],
    )


def _cost(rank_slice: RankSlice, requested: Requested) -> Cost:
    """The products that this rank computed, and its memory beside its slice and the facts."""
    problem, this_rank = rank_slice.problem, rank_slice.rank
    width, value_width = problem.key_gkd.shape[-1], problem.value_gkv.shape[-1]
    at_once = fits_gathered(rank_slice, requested)
    ranks, value_gkv = range(rank_slice.ranks), problem.value_gkv
    flops = sum(rank_slice.flops(this_rank, rank, value_gkv) for rank in ranks)
    if requested.column_facts and not at_once:
        empty = rank_slice.empty_value()
        flops += sum(rank_slice.flops(rank, this_rank, empty) for rank in ranks)
    largest = max(rank_slice.keys.tokens_of(rank) for rank in ranks)
    tokens = rank_slice.keys.tokens if at_once else 2 * largest  # of this step and of the next
    elements = problem.key_gkd.shape[0] * tokens * (width + value_width)
    plan = f"{'gathered over' if at_once else 'ring of'} {rank_slice.ranks}"
    return Cost(plan, flops, elements * problem.key_gkd.dtype.itemsize)
