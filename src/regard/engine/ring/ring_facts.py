"""Both passes, and what they found made into one rank's observation."""

import math
import time

import numpy as np

from regard.engine.distances import bands_between
from regard.engine.interfaces import ArrayFacts
from regard.engine.ring.gpu_passes import device_column_pass, device_row_pass
from regard.engine.ring.passes import RankColumns, column_pass, fits, gathered_pass, row_pass
from regard.engine.ring.rank_observation import RankObservation, RankProfile, Traffic
from regard.engine.ring.shares import DeviceShare, Share
from regard.engine.ring.transport import Post, summed
from regard.engine.tensors import as_array, is_tensor
from regard.engine.tiles.plan import Cost
from regard.engine.tiles.rows import Requested
from regard.typing import Array

NEAR = (-1, 0, 1)


def observation(share: Share, requested: Requested, post: Post, begin: float) -> RankObservation:
    """Go around once for what belongs to queries and, where asked, once more for keys."""
    problem, profile = share.problem, None
    columns = None
    if isinstance(share, DeviceShare):
        found = device_row_pass(share, requested, post)
        if requested.column_facts:
            columns = device_column_pass(share, requested, found["log2_total"], post)
    elif fits(share, requested):
        found, columns = gathered_pass(share, requested, post)
    else:
        found = row_pass(share, requested, post)
        if requested.column_facts:
            columns = column_pass(share, requested, found["log2_total"], post)
    log2_total_hq, output = found.pop("log2_total"), found.get("output")
    tensor = output.reshape((*problem.leading, *output.shape[1:])) if is_tensor(output) else None
    found |= {} if tensor is None else {"output": as_array(output)}
    facts = {"logsumexp": log2_total_hq * math.log(2), **found}
    if columns is not None:
        if requested.received:
            facts["received"] = columns.received_hk.astype(share.dtype)
        whole = summed(share, post, _small_sums(columns, np.isfinite(log2_total_hq)))
        if "map" in whole:
            counts_hr1 = np.maximum(whole["live_hr"], 1)[..., None]
            facts["map"] = (whole["map"] / counts_hr1).astype(share.dtype)
        profile = _profile(columns, whole)
    shaped = {name: a.reshape((*problem.leading, *a.shape[1:])) for name, a in facts.items()}
    return RankObservation(
        ArrayFacts(shaped),
        profile,
        parts=(),
        keys=share.keys.held(share.rank),
        cost=_cost(share, requested),
        _tensor=tensor,
        query_positions=share.queries.positions(share.rank),
        key_positions=share.keys.positions(share.rank),
        visibilities=share.visibilities(),
        in_all=(share.queries.tokens, share.keys.tokens),
        traffic=Traffic(post.sent_bytes, post.waited_seconds, time.monotonic() - begin),
    )


def _small_sums(columns: RankColumns, live_hq: Array) -> dict[str, Array]:
    """What every rank is to know in the end; its size does not grow with the sequence."""
    share, arrays = columns.share, {"live": live_hq.sum(axis=1, dtype=np.float64)}
    if columns.map_hrc is not None:
        arrays["map"] = columns.map_hrc
        at_q = share.queries.positions(share.rank)
        block_q = np.searchsorted(columns.edges[0], at_q, side="right") - 1
        blocks = columns.map_hrc.shape[1]
        counts = [np.bincount(block_q, live_q, blocks) for live_q in live_hq]
        arrays["live_hr"] = np.array(counts).reshape(-1, blocks)
    if columns.distances is not None:
        is_first_k = share.keys.positions(share.rank) == 0
        arrays["first"] = columns.received_hk[:, is_first_k].sum(axis=1)
        for name, low, high in _bands(share):
            arrays[name] = columns.distances.between(low, high)
    return arrays


def _bands(share: Share) -> list[tuple[str, int, int]]:
    """Ranges of distance whose weight every rank is to know: the near ones and the doubling."""
    low, high = reach(share)
    near = [(f"near {back}", back, back) for back in NEAR]
    doubling = [(f"band {i}", min(x), max(x)) for i, x in enumerate(bands_between(low, high))]
    return near + (doubling if high >= low else [])


def reach(share: Share) -> tuple[int, int]:
    """The farthest distances ahead (negative) and back."""
    low = share.problem.visibility.offset - (share.keys.tokens - 1)
    return low, low + share.queries.tokens + share.keys.tokens - 2


def _profile(columns: RankColumns, whole: dict[str, Array]) -> RankProfile | None:
    if columns.distances is None:
        return None
    problem, share = columns.share.problem, columns.share
    live_h = np.maximum(whole["live"], 1)

    def mean(sums: Array) -> Array:
        means = sums / (live_h[:, None] if sums.ndim > 1 else live_h)
        shape = (*problem.leading, *sums.shape[1:])
        return np.asarray(means.astype(share.dtype).reshape(shape))

    low, high = reach(share)
    doubling = bands_between(low, high) if high >= low else []
    return RankProfile(
        mean(whole["first"]),
        columns.distances.back,
        mean(columns.distances.weight_hn[:, ::-1]),
        {back: mean(whole[f"near {back}"]) for back in NEAR},
        [(*band, mean(whole[f"band {i}"])) for i, band in enumerate(doubling)],
    )


def _cost(share: Share, requested: Requested) -> Cost:
    """The products this rank computed, and what it held beside its slice and the facts."""
    problem, me = share.problem, share.rank
    width, value_width = problem.key_gkd.shape[-1], problem.value_gkv.shape[-1]
    at_once = fits(share, requested)
    flops = sum(share.flops(me, rank, problem.value_gkv) for rank in range(share.ranks))
    if requested.column_facts and not at_once:
        flops += sum(share.flops(rank, me, share.without_value()) for rank in range(share.ranks))
    held = max(share.keys.held(rank) for rank in range(share.ranks))
    tokens = share.keys.tokens if at_once else 2 * held  # one slice visits, the next is coming
    travelling = problem.key_gkd.shape[0] * tokens * (width + value_width)
    plan = f"{'gathered over' if at_once else 'ring of'} {share.ranks}"
    return Cost(plan, flops, travelling * problem.key_gkd.dtype.itemsize)
