"""observe: attention with exact facts about all its weights, in memory that grows with n."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from regard.arguments import suggest_keywords
from regard.engine.call import (
    NORM_WEIGHTED_NOTE,
    Cost,
    Problem,
    Requested,
    check_weighted,
    gather_options,
    prepare,
    with_norm_bias,
)
from regard.engine.native.attend import NativeFacts, attend_natively, reason_against
from regard.engine.observation import ArrayFacts, Observation
from regard.engine.profile import Profile
from regard.engine.tensors import as_array, cast_like, is_tensor, on_device
from regard.engine.threads import run_in_order
from regard.engine.tiles.columns import ColumnPart, ColumnSums, panel_rows, second_pass
from regard.engine.tiles.plan import TilePlan, Unit, choose, cost
from regard.engine.tiles.rows import Rows, Scratch, stream_rows
from regard.errors import ArgumentError, expect
from regard.textbook.options import AttentionOptions, MaskRule, Window
from regard.typing import Array

MAX_EMPTY_TOP_ENTRIES = 2**26  # 0.8 GB


@suggest_keywords
def observe(  # noqa: PLR0913 (the options of attention, and what to report)
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    *,
    mask: ArrayLike | MaskRule | None = None,
    causal: bool = False,
    offset: int | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    lengths: ArrayLike | None = None,
    top: int = 16,
    map: int = 256,
    entropy: bool = True,
    received: bool = True,
    profile: bool = True,
    weighted: str | None = None,
    w_output: ArrayLike | None = None,
) -> Observation:
    """Attention with exact statistics of all its weights, in memory that grows with n.

    The observation has its own copies of query, key, mask and lengths, from which it computes
    tiles. With torch tensors the output is one too; facts are NumPy arrays, which leave a GPU when
    they are first read.

    Parameters
    ----------
    query, key, value, mask, causal, offset, window, softcap, scale, lengths : as for ``attention``.
    top : number of best keys of each query; 0 for none.
    map : largest number of blocks a side of the map; 0 for none. Blocks have one size, a power of
        two of tokens; the last may be smaller.
    entropy, received, profile : whether to compute these facts; False saves their cost.
    weighted : with 'norm' every fact is about p_ij |v_j W_O| as a share of its row, not about the
        attention weights.
    w_output : (h d_v, e), the matrix after the heads, for weighted='norm'; without it the values'
        own lengths count.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> seen = observe(x, x, x)
    >>> seen.received.round(3)
    array([0.847, 0.847, 1.306])
    >>> seen.entropy.round(3)
    array([1.053, 1.053, 1.037])
    """
    options = gather_options(mask, causal, offset, window, softcap, scale, lengths)
    requested = Requested(
        True, entropy, from_zero("top", top), from_zero("map", map), received, profile
    )
    if check_weighted(weighted):
        query = query if is_tensor(query) else as_array(query)
        biased = with_norm_bias(query, value, w_output, options)
        seen = _observe(query, key, value, requested, biased)
        return replace(seen, notes=(*seen.notes, NORM_WEIGHTED_NOTE))
    return _observe(query, key, value, requested, options)


def _observe(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    requested: Requested,
    options: AttentionOptions,
) -> Observation:
    if on_device(query=query, key=key, value=value):
        from regard.engine.gpu.dispatch import observe_on_device

        return observe_on_device(query, key, value, requested, options)
    seen = observe_problem(prepare(query, key, value, copy=True, **options), requested)
    return replace(seen, _tensor=cast_like(seen.output, query)) if is_tensor(query) else seen


@suggest_keywords
def observe_from_logsumexp(
    query: ArrayLike,
    key: ArrayLike,
    logsumexp: ArrayLike,
    *,
    mask: ArrayLike | MaskRule | None = None,
    causal: bool = False,
    offset: int | None = None,
    window: Window | None = None,
    softcap: float | None = None,
    scale: float | None = None,
    lengths: ArrayLike | None = None,
    top: int = 16,
    map: int = 256,
    entropy: bool = True,
    received: bool = True,
    profile: bool = True,
) -> Observation:
    """Statistics of weights that another kernel computed, from its log-sum-exp.

    Parameters
    ----------
    logsumexp : (..., h, q), natural. It may be over more keys than are given here: then the facts
        are these keys' share, and those of disjoint keys can be concatenated.
    query, key, and all others : as for ``observe``. There is no output.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> seen = observe(x, x, x)
    >>> again = observe_from_logsumexp(x, x, seen.logsumexp)
    >>> bool(np.allclose(again.received, seen.received))
    True
    """
    options = gather_options(mask, causal, offset, window, softcap, scale, lengths)
    requested = Requested(
        False, entropy, from_zero("top", top), from_zero("map", map), received, profile
    )
    if on_device(query=query, key=key):
        from regard.engine.gpu.dispatch import observe_from_logsumexp_on_device

        return observe_from_logsumexp_on_device(query, key, logsumexp, requested, options)
    keys = as_array(key)
    expect("key", keys, "... k d")
    no_value = np.zeros((*keys.shape[:-1], 0), keys.dtype)
    problem = prepare(query, keys, no_value, copy=True, **options)
    array, shape = as_array(logsumexp), (*problem.leading, problem.visibility.queries)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"logsumexp must be numbers or -inf, got {logsumexp!r:.80}.")
    array = array.astype(np.float64)
    if array.shape != shape or np.isnan(array).any() or (array == np.inf).any():
        raise ArgumentError(
            f"logsumexp must be numbers or -inf of shape {shape}, got shape {array.shape}"
            + ("." if array.shape != shape else " with nan or +inf in it.")
        )
    log2_total_hq = problem.log2_total(array.reshape(problem.heads, problem.visibility.queries))
    return observe_problem(problem, replace(requested, log2_total_hq=log2_total_hq))


def observe_problem(problem: Problem, requested: Requested) -> Observation:
    """Run native kernels where they serve, else a plan of tiles, and gather the facts."""
    _check_top(problem, requested.top)
    reason = reason_against(problem, requested)
    if reason is None:
        return _observe_natively(problem, requested)
    plan = choose(problem, requested.column_facts)
    seen = gather(problem, requested, plan).observation(plan)
    return replace(seen, cost=replace(seen.cost, kernels=f"NumPy: {reason}"))


def _check_top(problem: Problem, top: int) -> None:
    """Refuse best keys that do not exist where room for them does not either."""
    keys, queries = problem.visibility.keys, problem.heads * problem.visibility.queries
    if top > keys and queries * top > MAX_EMPTY_TOP_ENTRIES:
        raise ArgumentError(f"top must be at most {keys:,}, the number of keys, got {top:,}.")


def _observe_natively(problem: Problem, requested: Requested) -> Observation:
    native, spent = attend_natively(problem, requested)
    if native.shares_hq is not None:
        _check_external_total(native.shares_hq)
    facts = {"logsumexp": native.logsumexp_hq, "entropy": native.entropy_hq}
    facts |= {"top_weights": native.top_weights_hqn, "top_keys": native.top_keys_hqn}
    facts |= {"received": native.received_hk if requested.received else None}
    facts |= {"map": native.map_hrc}
    if native.output_hqv is not None:
        facts["output"] = np.asarray(native.output_hqv, problem.output_dtype)
    requested_facts = {name: fact for name, fact in facts.items() if fact is not None}
    return _observation(problem, requested_facts, _native_profile(problem, native), spent)


def _native_profile(problem: Problem, native: NativeFacts) -> Profile | None:
    if native.distance_hn is None or native.received_hk is None or native.logsumexp_hq is None:
        return None
    live_hq = np.isfinite(native.logsumexp_hq)
    return _profile(problem, native.received_hk, native.distance_hn, live_hq)


def _profile(problem: Problem, received_hk: Array, distance_hn: Array, live_hq: Array) -> Profile:
    about = problem.visibility, problem.leading, problem.dtype
    return Profile.from_sums(*about, received_hk, distance_hn, live_hq)


def _observation(
    problem: Problem, facts: dict[str, Array], profile: Profile | None, spent: Cost
) -> Observation:
    """Facts in the caller's shapes."""
    facts["logsumexp"] = problem.restore_clipped(facts["logsumexp"])
    shaped = {x: a.reshape(*problem.leading, *a.shape[1:]) for x, a in facts.items()}
    # logsumexp stays float64: at 1e6 a float32 one would be off by several percent of a weight.
    for name in ("received", "map"):
        if name in shaped:
            shaped[name] = shaped[name].astype(problem.dtype, copy=False)
    # Weights do not depend on the values: without them the caller's memory can be freed.
    part = replace(problem, value_gkv=np.zeros((*problem.key_gkd.shape[:2], 0), problem.dtype))
    return Observation(ArrayFacts(shaped), profile, (part,), problem.visibility.keys, spent)


def gather(problem: Problem, requested: Requested, plan: TilePlan) -> Gathered:
    """Run a plan; what belongs to columns is left as sums."""
    gathered = Gathered(problem, requested)
    if plan.name == "panel":
        _run_panels(plan, gathered)
    else:
        _run_tiles(plan, gathered)
    if plan.name == "two passes":
        run_second_pass(problem, plan, gathered.columns, gathered.shift_hq, gathered.inverse_hq)
    return gathered


class Gathered:
    """The facts of one call, written block by block by its units of work."""

    def __init__(self, problem: Problem, requested: Requested) -> None:
        shape = (problem.heads, problem.visibility.queries)
        self.problem, self.requested = problem, requested
        self.log2_total_hq = np.zeros(shape)
        self.shift_hq, self.inverse_hq = np.zeros(shape, problem.dtype), np.zeros(shape)
        self.entropy_hq = np.zeros(shape, problem.dtype)
        self.output_hqv = np.zeros((*shape, problem.value_gkv.shape[-1]), problem.output_dtype)
        self.weights_hqn = np.zeros((*shape, requested.top), problem.dtype)
        self.keys_hqn = np.zeros((*shape, requested.top), np.int64)
        self.columns = ColumnSums(problem, requested)

    def put_rows(self, unit: Unit, rows: Rows) -> None:
        """Each unit writes to its own block, so no order is needed."""
        block = (unit.heads, unit.rows)
        self.log2_total_hq[block] = rows.log2_total_hq()
        self.shift_hq[block], self.inverse_hq[block] = rows.shift_hq, rows.inverse_hq()
        if self.requested.entropy:
            self.entropy_hq[block] = rows.entropy_hq()
        if self.requested.output:
            self.output_hqv[block] = rows.mean_output_hqv()
        if rows.best is not None:
            self.weights_hqn[block] = rows.best.values_hqn
            self.keys_hqn[block] = rows.best.columns_hqn
        if rows.external_log2_hq is not None:
            _check_external_total(rows.inverse_hq() * rows.total_hq)

    def observation(self, plan: TilePlan) -> Observation:
        problem, requested, columns = self.problem, self.requested, self.columns
        live_hq = np.isfinite(self.log2_total_hq)
        facts: dict[str, Array] = {"logsumexp": self.log2_total_hq * math.log(2)}
        if requested.output:
            facts["output"] = self.output_hqv
        if requested.entropy:
            facts["entropy"] = self.entropy_hq
        if requested.top:
            facts |= {"top_weights": self.weights_hqn, "top_keys": self.keys_hqn}
        if requested.received:
            facts["received"] = columns.received_hk
        if columns.map_hrc is not None:
            facts["map"] = _mean_map(columns.map_hrc, live_hq, columns.row_edges)
        profile = None
        if columns.distance_hn is not None:
            profile = _profile(problem, columns.received_hk, columns.distance_hn, live_hq)
        return _observation(problem, facts, profile, cost(problem, plan))


def _run_panels(plan: TilePlan, gathered: Gathered) -> None:
    problem, requested, columns = gathered.problem, gathered.requested, gathered.columns

    def work(unit: Unit, scratch: Scratch) -> ColumnPart:
        rows, panel = panel_rows(problem, plan, unit, requested, scratch)
        gathered.put_rows(unit, rows)
        return columns.part(unit, panel, rows.inverse_hq().astype(problem.dtype))

    run_in_order(plan.units(problem), work, lambda unit, part: columns.add(part))


def _run_tiles(plan: TilePlan, gathered: Gathered) -> None:
    problem, requested = gathered.problem, gathered.requested

    def work(unit: Unit, scratch: Scratch) -> None:
        gathered.put_rows(unit, stream_rows(problem, plan, unit, requested, scratch))

    run_in_order(plan.units(problem), work)


def run_second_pass(
    problem: Problem, plan: TilePlan, columns: ColumnSums, shift_hq: Array, inverse_hq: Array
) -> None:
    """Add what belongs to columns, from shift and inverse of every row (see Rows)."""

    def work(unit: Unit, scratch: Scratch) -> list[ColumnPart]:
        rows = shift_hq[unit.heads, unit.rows], inverse_hq[unit.heads, unit.rows]
        return second_pass(problem, plan, unit, *rows, scratch, columns)

    def commit(unit: Unit, parts: list[ColumnPart]) -> None:
        for part in parts:
            columns.add(part)

    run_in_order(plan.units(problem), work, commit)


def _mean_map(sums_hrc: Array, live_hq: Array, edges: Array) -> Array:
    """The mean over the queries of a block that see anything, so that each row sums to 1."""
    if not live_hq.size or sums_hrc.shape[1] == live_hq.shape[1]:  # of one query each
        return sums_hrc
    counts_hr = np.add.reduceat(live_hq, edges[:-1], axis=1, dtype=np.int64)
    sums_hrc /= np.maximum(counts_hr, 1)[..., None].astype(sums_hrc.dtype)
    return sums_hrc


def _check_external_total(sums_hq: Array) -> None:
    """A sum of weights above 1 means that the log-sum-exp belongs to other scores."""
    if sums_hq.size and sums_hq.max() > 1.01:
        raise ArgumentError(
            f"logsumexp does not belong to these scores: a row's weights would sum to "
            f"{sums_hq.max():.3g}. It must be natural (multiply a base-2 one by ln 2 = 0.6931) "
            "and made with the same scale and masks."
        )


def from_zero(name: str, number: int) -> int:
    """A validated number of best keys, or of blocks a side of the map; 0 for none."""
    if not isinstance(number, int | np.integer) or number < 0:
        raise ArgumentError(f"{name} must be a whole number from 0 up, got {number!r}.")
    return int(number)
