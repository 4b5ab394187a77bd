"""Exact merge of two observations of the same queries over disjoint keys."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from regard.arguments import suggest_keywords
from regard.engine.call import NORM_WEIGHTED_NOTE, Cost, ProblemLike, Requested, blocks
from regard.engine.observation import ArrayFacts, Observation
from regard.engine.observe import observe_problem
from regard.engine.pairs import chosen_rows
from regard.engine.tiles.columns import cut
from regard.engine.tiles.rows import HUGE_SUM
from regard.errors import ArgumentError
from regard.typing import Array

LARGEST_WITHOUT_SCORES = 2.0**39  # beyond, float64 rounds a log-sum-exp by more than 1e-4


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
    huge = _HugeRows(first, second, logsumexp)
    huge.correct_shares(shares)
    facts = {"logsumexp": logsumexp} | _row_facts(first, second, shares)
    columns, notes = _column_facts(first, second, huge)
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


class _HugeRows:
    """Rows whose log-sum-exp is too large to tell how their weight divides between two parts.

    A row of a mask's lowest number is one. What a log-sum-exp lost is in the scores themselves.
    """

    def __init__(self, first: Observation, second: Observation, logsumexp: Array) -> None:
        self.parts = first.parts + second.parts if first.parts and second.parts else ()
        self.first_keys, self.keys = first.keys, first.keys + second.keys
        self.logsumexp_hq = logsumexp.reshape(math.prod(first.head_shape), first.queries)
        size_hq = np.where(np.isfinite(self.logsumexp_hq), np.abs(self.logsumexp_hq), 0)
        self.huge_hq = size_hq > HUGE_SUM
        near = np.isclose(first.logsumexp, second.logsumexp, rtol=2.0**-50, atol=0)
        if not self.parts and (near & (size_hq.reshape(near.shape) > LARGEST_WITHOUT_SCORES)).any():
            raise ArgumentError(
                "merge must get query and key where all scores of a row are huge, got observations "
                "without: their log-sum-exp cannot say how the row divides."
            )

    def correct_shares(self, shares: list[Array]) -> None:
        """Replace the two parts' shares of each row, in place, where the scores are at hand."""
        flat_hq = [share.reshape(self.huge_hq.shape) for share in shares]
        for rows, weights_hqk in self.weights():
            huge_hq = self.huge_hq[:, rows]
            parts = np.split(weights_hqk, [self.first_keys], axis=-1)
            for share_hq, part_hqk in zip(flat_hq, parts, strict=True):
                sums_hq = part_hqk.sum(axis=-1, dtype=share_hq.dtype)
                np.copyto(share_hq[:, rows], sums_hq, where=huge_hq)

    def weights(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of rows with all their weights (h, q, k), 0 in rows that are not huge."""
        every = slice(0, len(self.huge_hq)), slice(0, self.huge_hq.shape[1])
        if self.parts:
            for rows, all_hqk in chosen_rows(self.parts, *every, self.logsumexp_hq, self.huge_hq):
                yield rows, all_hqk * self.huge_hq[:, rows, None]

    def add_to(self, received_hk: Array, map_hrc: Array, edges: tuple[Array, Array]) -> None:
        """Add what these rows give to facts of all others, in place; a map holds means of rows."""
        if not self.huge_hq.any():
            return
        live_hq = np.isfinite(self.logsumexp_hq)
        counts_hr = np.add.reduceat(live_hq, edges[0][:-1], axis=1, dtype=np.int64)
        huge_hr = np.add.reduceat(self.huge_hq, edges[0][:-1], axis=1, dtype=np.int64)
        per_row_hr1 = 1 / np.maximum(counts_hr, 1)[..., None]
        map_hrc *= (counts_hr - huge_hr)[..., None] * per_row_hr1
        for rows, weights_hqk in self.weights():
            received_hk += weights_hqk.sum(axis=1)
            inside, at_r = cut(edges[0], rows)
            sums_hqc = np.add.reduceat(weights_hqk, edges[1][:-1], axis=-1)
            sums_hrc = np.add.reduceat(sums_hqc, inside[:-1], axis=1)
            map_hrc[:, at_r] += sums_hrc * per_row_hr1[:, at_r]


def _row_facts(first: Observation, second: Observation, shares: list[Array]) -> dict[str, Array]:
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
    first: Observation, second: Observation, huge: _HugeRows
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
    heads, keys = len(huge.huge_hq), first.keys + second.keys
    edges = blocks(first.queries, max(1, map_size)), blocks(keys, max(1, map_size))
    total_hq = np.where(huge.huge_hq, -np.inf, huge.logsumexp_hq)
    pieces = _observed_parts(first.parts + second.parts, total_hq, map_size, edges[1])
    received_hk = np.concatenate(
        [piece.received.reshape(heads, piece.keys) for piece, _ in pieces], axis=-1
    )
    map_hrc = np.zeros((heads, *(len(edge) - 1 for edge in edges)), received_hk.dtype)
    for piece, columns in pieces if map_size else ():
        map_hrc[..., columns] += piece.map.reshape(map_hrc[..., columns].shape)
    huge.add_to(received_hk, map_hrc, edges)
    found = {"received": received_hk, "map": map_hrc}
    facts = {x: found[x].reshape(*first.head_shape, *found[x].shape[1:]) for x in requested}
    return facts, tuple(notes)


def _observed_parts(
    parts: tuple[ProblemLike, ...], logsumexp_hq: Array, map_size: int, edges: Array
) -> list[tuple[Observation, slice]]:
    """Each part with the joint log-sum-exp, and which blocks of the joint map it touches."""
    start, pieces = 0, []
    for part in parts:
        problem = part.on_host()
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
