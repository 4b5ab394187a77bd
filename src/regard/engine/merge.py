"""Exact merge of two observations of the same queries over disjoint keys."""

from __future__ import annotations

import numpy as np

from regard.engine.call import NORM_WEIGHTED_NOTE, Cost, ProblemLike, Requested, blocks
from regard.engine.observation import ArrayFacts, Observation
from regard.engine.observe import observe_problem
from regard.engine.tiles.columns import cut
from regard.errors import ArgumentError, suggest_keywords
from regard.typing import Array


@suggest_keywords
def merge(first: Observation, second: Observation) -> Observation:
    """Merge two observations of the same queries over disjoint keys, the first's keys first.

    Facts of rows (output, logsumexp, entropy, top) follow from the two results alone. Facts of keys
    (received, map) depend on the joint log-sum-exp, so they are computed again from query and key;
    where these were not kept they are left out, and ``notes`` lists them.

    Examples
    --------
    >>> from regard.engine.observe import observe
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> both = merge(observe(x, x[:1], x[:1]), observe(x, x[1:], x[1:]))
    >>> bool(np.allclose(both.received, observe(x, x, x).received))
    True
    """
    first._check_mergeable()
    second._check_mergeable()
    if (first.head_shape, first.queries) != (second.head_shape, second.queries):
        raise ArgumentError(
            "merge must get two observations of the same queries, got axes "
            f"{(*first.head_shape, first.queries)} and {(*second.head_shape, second.queries)}."
        )
    _check_same_queries(first, second)
    logsumexp = np.logaddexp(first.logsumexp, second.logsumexp)
    shares = [_share(part.logsumexp, logsumexp) for part in (first, second)]
    facts = {"logsumexp": logsumexp} | _row_facts(first, second, shares, logsumexp)
    columns, notes = _column_facts(first, second, logsumexp)
    if (NORM_WEIGHTED_NOTE in first.notes) != (NORM_WEIGHTED_NOTE in second.notes):
        raise ArgumentError(
            "merge must get two observations weighted alike, got one that is norm-weighted: "
            "observe both with weighted='norm', or both without."
        )
    return Observation(
        ArrayFacts(facts | columns),
        None,
        first.parts + second.parts if first.parts and second.parts else (),
        first.keys + second.keys,
        _joint_cost(first.cost, second.cost),
        (*notes, NORM_WEIGHTED_NOTE) if NORM_WEIGHTED_NOTE in first.notes else notes,
    )


def _check_same_queries(first: Observation, second: Observation) -> None:
    """Compare the queries, where both observations still have them."""
    if not (first.parts and second.parts):
        return
    one, other = first.parts[0].on_host(), second.parts[0].on_host()
    if (one.scale, one.softcap) != (other.scale, other.softcap):
        raise ArgumentError(
            "merge must get two observations with the same scale and softcap, got "
            f"{one.scale:.6g} and {one.softcap}, then {other.scale:.6g} and {other.softcap}."
        )
    if not np.array_equal(one.query_hqd, other.query_hqd):
        raise ArgumentError(
            "merge must get two observations of the same queries, got different queries."
        )


def _share(part: Array, total: Array) -> Array:
    """The share of each row's weight that lies in a part; 0 where nothing is visible."""
    seen = np.isfinite(part)
    return np.where(seen, np.exp(np.where(seen, part, 0) - np.where(seen, total, 0)), 0)


def _row_facts(
    first: Observation, second: Observation, shares: list[Array], logsumexp: Array
) -> dict[str, Array]:
    facts: dict[str, Array] = {}
    parts = (first, second)
    if all("output" in part.facts for part in parts):
        outputs = [part.facts["output"] for part in parts]  # arrays, where seen.output is a tensor
        mixed = sum(s[..., None] * output for s, output in zip(shares, outputs, strict=True))
        facts["output"] = np.asarray(mixed, outputs[0].dtype)
    if all("entropy" in part.facts for part in parts):
        # The entropy of a part, plus what choosing that part adds.
        pairs = list(zip(shares, parts, strict=True))
        total = sum(s * (p.entropy - np.log(np.where(s > 0, s, 1))) for s, p in pairs)
        facts["entropy"] = np.asarray(total, first.entropy.dtype)
    if all("top_keys" in part.facts for part in parts):
        facts |= _joint_top(first, second, shares)
    return facts


def _joint_top(first: Observation, second: Observation, shares: list[Array]) -> dict[str, Array]:
    weights = [s[..., None] * p.top().weights for s, p in zip(shares, (first, second), strict=True)]
    keys_after = second.top().keys
    keys = [first.top().keys, np.where(keys_after >= 0, keys_after + first.keys, -1)]
    joint_weights, joint_keys = (np.concatenate(x, axis=-1) for x in (weights, keys))
    # Beyond this number one part may have had larger weights that it did not keep.
    number = min(part.shape[-1] for part in weights)
    order = np.argsort(-joint_weights, axis=-1, kind="stable")[..., :number]
    return {
        "top_weights": np.take_along_axis(joint_weights, order, axis=-1),
        "top_keys": np.take_along_axis(joint_keys, order, axis=-1),
    }


def _column_facts(
    first: Observation, second: Observation, logsumexp: Array
) -> tuple[dict[str, Array], tuple[str, ...]]:
    requested = [x for x in ("received", "map") if x in first.facts and x in second.facts]
    notes = ["profile is not known after a merge: observe all keys at once."]
    if not (first.parts and second.parts):
        why = "is left out after a merge: it needs query and key, and they were not kept."
        return {}, (*notes, *(f"{name} {why}" for name in requested))
    # The larger number of blocks of the two: the blocks of queries stay as they are, and those of
    # keys are the blocks of one observation of all keys where there are as many keys as queries.
    maps = [part.facts["map"] for part in (first, second) if "map" in requested]
    map_size = max((size for array in maps for size in array.shape[-2:]), default=0)
    pieces = _observed_parts(
        first.parts + second.parts, logsumexp, map_size, first.keys + second.keys
    )
    facts: dict[str, Array] = {}
    if "received" in requested:
        facts["received"] = np.concatenate([piece.received for piece, _ in pieces], axis=-1)
    if "map" in requested:
        blocks_in_all = len(blocks(first.keys + second.keys, map_size)) - 1
        first_map = pieces[0][0].map
        facts["map"] = np.zeros((*first_map.shape[:-1], blocks_in_all), first_map.dtype)
        for piece, columns in pieces:
            facts["map"][..., columns] += piece.map
    return facts, tuple(notes)


def _observed_parts(
    parts: tuple[ProblemLike, ...], logsumexp: Array, map_size: int, keys: int
) -> list[tuple[Observation, slice]]:
    """Each part with the joint log-sum-exp, and which blocks of the joint map it touches."""
    edges, start, pieces = blocks(keys, max(1, map_size)), 0, []
    for part in parts:
        problem = part.on_host()
        logsumexp_hq = logsumexp.reshape(part.heads, part.visibility.queries)
        log2_total_hq = problem.log2_total(logsumexp_hq)
        inside, columns = cut(edges, slice(start, start + part.visibility.keys))
        requested = Requested(
            output=False, map=map_size, received=True, log2_total_hq=log2_total_hq, edges=inside
        )
        pieces.append((observe_problem(problem, requested), columns))
        start += part.visibility.keys
    return pieces


def _joint_cost(first: Cost, second: Cost) -> Cost:
    peak = max(first.peak_bytes, second.peak_bytes)
    kernels = " + ".join(dict.fromkeys(x.kernels for x in (first, second) if x.kernels))
    return Cost(f"{first.plan} + {second.plan}", first.flops + second.flops, peak, kernels)
