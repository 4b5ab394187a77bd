"""Records of one layer and sentence over all calls: facts, a growing map, measures and steps."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import Cost, Problem, blocks, prepare
from regard.engine.observation import ArrayFacts, Observation
from regard.engine.profile import Profile
from regard.errors import count
from regard.heads.measures import HeadMeasures
from regard.typing import Array

if TYPE_CHECKING:
    from regard.watcher.capture.deferred import DeferredCheck


class QueryKey(NamedTuple):
    """Query and key of one call, and the positions of their first rows in the sentence."""

    problem: Problem
    row_start: int
    column_start: int


def joined_problem(query_keys: Sequence[QueryKey], keys: int) -> Problem:
    """One problem of the queries of all calls over all keys."""
    first = query_keys[0].problem
    query_hqd = np.concatenate([part.problem.query_hqd for part in query_keys], axis=1)
    key_gkd = np.zeros((first.key_gkd.shape[0], keys, first.key_gkd.shape[2]), first.dtype)
    for part, _, start in query_keys:
        key_gkd[:, start : start + part.visibility.keys] = part.key_gkd
    options: dict[str, Any] = {x: first.options[x] for x in ("window", "softcap", "causal")}
    options["offset"] = query_keys[0].row_start if first.options["offset"] is not None else None
    if any(part.problem.visibility.mask is not None or _is_cut(part, keys) for part in query_keys):
        options["mask"] = _joined_mask(query_keys, keys)
    return prepare(query_hqd, key_gkd, key_gkd[..., :0], scale=first.scale, **options)


def _is_cut(part: QueryKey, keys: int) -> bool:
    """Whether a call had fewer keys than its band alone would show, as of a packed sequence."""
    visibility = part.problem.visibility
    before = visibility.left is None and part.column_start > 0
    return before or (visibility.right is None and part.column_start + visibility.keys < keys)


def _joined_mask(query_keys: Sequence[QueryKey], keys: int) -> Array:
    """The masks of all calls in one; a call sees nothing outside its own keys."""
    masked = any(part.problem.visibility.mask is not None for part in query_keys)
    heads = query_keys[0].problem.heads if masked else 1
    rows = sum(part.problem.visibility.queries for part in query_keys)
    mask_hqk = np.full((heads, rows, keys), -np.inf, query_keys[0].problem.dtype)
    row = 0
    for part, _, start in query_keys:
        visibility = part.visibility
        every = slice(0, heads), slice(0, visibility.queries), slice(0, visibility.keys)
        tile_hqk = visibility.bias(*every)
        if tile_hqk is None:
            tile_hqk = np.zeros((1, visibility.queries, visibility.keys), mask_hqk.dtype)
        visible = visibility.visible(*every)
        if visible is not None:
            tile_hqk = np.where(visible, tile_hqk, -np.inf)
        mask_hqk[:, row : row + visibility.queries, start : start + visibility.keys] = tile_hqk
        row += visibility.queries
    return mask_hqk


Edges = NDArray[np.int64]


@dataclass
class GrowingMap:
    """Mean weight of a block of queries on a block of keys, (h, r, c); counts_hr queries a block.

    The first call keeps its blocks; later keys get blocks of the same width, later queries one
    each. Above twice ``most`` of either, neighbours are merged into the blocks that ``observe``
    would make: sums of columns and weighted means of rows stay exact.
    """

    map_hrc: Array
    counts_hr: Array
    row_edges: Edges
    column_edges: Edges
    most: int

    @classmethod
    def from_first_call(
        cls, map_hrc: Array, live_hq: Array, starts: tuple[int, int], keys: int, most: int
    ) -> GrowingMap:
        """The map of a first call as ``observe`` made it; ``starts`` of its rows and columns."""
        row_edges = blocks(live_hq.shape[1], map_hrc.shape[1])
        counts_hr = np.add.reduceat(live_hq, row_edges[:-1], axis=1, dtype=np.int64)
        columns = blocks(keys, map_hrc.shape[2]) + starts[1]
        return cls(map_hrc, counts_hr, row_edges + starts[0], columns, most)

    @property
    def width(self) -> int:
        return int(np.diff(self.column_edges).max(initial=1))

    def add(self, weights_hqk: Array, live_hq: Array, column_start: int) -> None:
        """Every weight of some more queries, on keys from column_start on."""
        self._reach(column_start + weights_hqk.shape[2])
        sums_hqc = self._by_column(weights_hqk, column_start)
        self.map_hrc = np.concatenate([self.map_hrc, sums_hqc], axis=1)
        self.counts_hr = np.concatenate([self.counts_hr, live_hq.astype(np.int64)], axis=1)
        first = int(self.row_edges[-1])
        more = np.arange(first + 1, first + 1 + weights_hqk.shape[1])
        self.row_edges = np.concatenate([self.row_edges, more])
        if self.map_hrc.shape[1] > 2 * self.most:
            self._merge_rows()
        if self.map_hrc.shape[2] > 2 * self.most:
            self._merge_columns()

    def _reach(self, keys: int) -> None:
        """Extend the columns to this many keys, filling up the last block first."""
        width, edges = self.width, self.column_edges.tolist()
        blocks_before = len(edges) - 1
        while edges[-1] < keys:
            space = width - (edges[-1] - edges[-2]) if len(edges) > 1 else 0
            if space > 0:
                edges[-1] = min(keys, edges[-1] + space)
            else:
                edges.append(min(keys, edges[-1] + width))
        self.column_edges = np.array(edges)
        more = len(edges) - 1 - blocks_before
        if more:
            self.map_hrc = np.pad(self.map_hrc, ((0, 0), (0, 0), (0, more)))

    def _by_column(self, weights_hqk: Array, column_start: int) -> Array:
        stop = column_start + weights_hqk.shape[2]
        inside = np.clip(self.column_edges, column_start, stop) - column_start
        full = np.diff(inside) > 0
        sums_hqc = np.zeros((*weights_hqk.shape[:2], len(inside) - 1), self.map_hrc.dtype)
        if full.any():
            sums_hqc[..., full] = np.add.reduceat(weights_hqk, inside[:-1][full], axis=2)
        return sums_hqc

    def _merge_rows(self) -> None:
        self.row_edges, groups = self._fewer(self.row_edges)
        totals_hrc = np.add.reduceat(self.map_hrc * self.counts_hr[..., None], groups, axis=1)
        self.counts_hr = np.add.reduceat(self.counts_hr, groups, axis=1)
        self.map_hrc = totals_hrc / np.maximum(self.counts_hr, 1)[..., None]

    def _merge_columns(self) -> None:
        self.column_edges, groups = self._fewer(self.column_edges)
        self.map_hrc = np.add.reduceat(self.map_hrc, groups, axis=2)

    def _fewer(self, edges: Edges) -> tuple[Edges, Edges]:
        """The edges of larger blocks, and the old block that each begins with."""
        fewer = blocks(edges[-1] - edges[0], self.most) + edges[0]
        return fewer, np.searchsorted(edges, fewer[:-1])


OWN_MEMORY_BYTES = 2**18  # of a record: with less its facts stay where they were made


def in_own_memory(tree: Any) -> Any:
    """Dicts, lists, tuples and dataclasses with copies of their arrays, in pages of their own.

    Arrays that stay, however small, lie between what a model frees after each layer, so that its
    next vectors do not fit there again: 12 MB of facts cost 370 MB.
    """
    starts = [0]

    def measured(array: Array) -> Array:
        starts.append(starts[-1] + -(-array.nbytes // 64) * 64)
        return array

    def copied_array(array: Array) -> Array:
        place = np.frombuffer(memory, array.dtype, array.size, next(positions))
        copied = place.reshape(array.shape)
        copied[...] = array
        return copied

    each_array(tree, measured)
    memory, positions = mmap.mmap(-1, max(1, starts[-1])), iter(starts)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # of a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return each_array(tree, copied_array)


def each_array(tree: Any, change: Callable[[Array], Array]) -> Any:
    """The same dicts, lists, tuples and dataclasses with every array changed."""
    if isinstance(tree, np.ndarray):
        return change(tree)
    if isinstance(tree, dict):
        return type(tree)({name: each_array(x, change) for name, x in tree.items()})
    if type(tree) in (list, tuple):
        return type(tree)(each_array(x, change) for x in tree)
    if is_dataclass(tree) and not isinstance(tree, type):
        values = {x.name: each_array(getattr(tree, x.name), change) for x in fields(tree)}
        return replace(tree, **values)
    return tree


ROW_FACTS = ("logsumexp", "entropy", "top_weights", "top_keys")
FIRST_WEIGHTS = "first_weights"  # of each query on the first key of the text, (h, q)


@dataclass(frozen=True)
class SentenceFacts:
    """Facts of one sentence from one call: an observation (h, ...) and its start positions."""

    seen: Observation
    row_start: int
    column_start: int
    measures: HeadMeasures
    span_sums: Array | None = None
    problem: Problem | None = None
    first_hq: Array | None = None


@dataclass(eq=False)
class Pending:
    """Facts of one sentence that ``make`` computes later; sizes and start positions are known.

    Until then ``device_bytes`` stay on a device, and ``checks`` are numeric checks of them.
    """

    queries: int
    keys: int
    row_start: int
    column_start: int
    make: Callable[[], SentenceFacts]
    device_bytes: int = 0
    checks: tuple[DeferredCheck, ...] = ()
    facts_bytes: int = 0  # in host memory, where facts are completed when they are read
    query_key_bytes: int = 0


@dataclass(eq=False)
class LayerRecord:
    """Facts of one layer and sentence, summed over calls; facts by query are concatenated.

    The numbers of queries and keys are current; the facts are after ``resolve``.
    """

    most: int  # blocks of the map
    pending: list[Pending] = field(default_factory=list)
    rows: dict[str, list[Array]] = field(default_factory=lambda: {x: [] for x in ROW_FACTS})
    received_hk: Array | None = None
    map: GrowingMap | None = None
    distances: DistanceSums | None = None
    measures: HeadMeasures | None = None
    span_sums: Array | None = None
    spans: Mapping[str, tuple[int, int]] | None = None  # those that the text tells
    query_keys: list[QueryKey] = field(default_factory=list)
    first_row: int = 0
    queries: int = 0
    keys: int = 0
    flops: int = 0
    peak: int = 0
    dtype: Any = np.float32
    smallest_sum: float = 1.0  # of a row's weights
    nan_rows: int = 0  # rows of all heads whose weights are nan
    mixed: bool = False  # whether a linear layer mixes the heads' weights before the values
    settled: bool = False  # whether the facts of the first call lie in memory of their own

    def note_sinks(self, smallest_sum: float) -> None:
        self.smallest_sum = min(self.smallest_sum, smallest_sum)

    @property
    def notes(self) -> tuple[str, ...]:
        notes: tuple[str, ...] = ()
        if self.smallest_sum <= 0.999:  # more is rounding of 16-bit weights
            notes += (
                f"rows of weights sum to {self.smallest_sum:.3f} or more: the rest goes to sinks "
                "of the softmax, or is masked after it.",
            )
        if self.nan_rows:
            notes += (
                "nan in the program, shown as seeing nothing: "
                f"{count(self.nan_rows, 'row')} of weights over all heads.",
            )
        if self.mixed:
            notes += (
                "talking heads: these are the weights of the softmax, which a linear layer mixes "
                "across heads before they meet the values.",
            )
        return notes

    def expect(self, pending: Pending) -> None:
        if not self.queries:
            self.first_row = pending.row_start
        self.queries += pending.queries
        self.keys = max(self.keys, pending.column_start + pending.keys)
        self.pending.append(pending)

    def resolve(self) -> None:
        """Add all pending facts; an error leaves them pending, and is raised each time."""
        while self.pending:
            self._add(self.pending[0].make())
            del self.pending[0]

    def complete(self) -> LayerRecord:
        self.resolve()
        return self

    @property
    def nbytes(self) -> int:
        arrays = [array for some in self.rows.values() for array in some]
        arrays += [x for x in (self.received_hk, self.span_sums) if x is not None]
        if self.map is not None:
            arrays += [self.map.map_hrc, self.map.counts_hr]
        if self.distances is not None:
            arrays.append(self.distances.weight_hn)
        waiting = sum(pending.facts_bytes for pending in self.pending)
        return waiting + sum(array.nbytes for array in arrays)

    @property
    def query_key_bytes(self) -> int:
        problems = [query_key.problem for query_key in self.query_keys]
        waiting = sum(pending.query_key_bytes for pending in self.pending)
        return waiting + sum(x.query_hqd.nbytes + x.key_gkd.nbytes for x in problems)

    @property
    def device_bytes(self) -> int:
        return sum(pending.device_bytes for pending in self.pending)

    def _add(self, new: SentenceFacts) -> None:
        seen = new.seen
        if self.measures is None:
            self.dtype = seen.facts["entropy"].dtype
        self.flops, self.peak = self.flops + seen.cost.flops, max(self.peak, seen.cost.peak_bytes)
        for name in ROW_FACTS:
            if name in seen.facts:
                self.rows[name].append(_shifted(name, seen.facts[name], new.column_start))
        if new.first_hq is not None:
            self.rows.setdefault(FIRST_WEIGHTS, []).append(new.first_hq)
        if "received" in seen.facts:
            self.received_hk = _added(self.received_hk, seen.received, new.column_start)
        if "map" in seen.facts:
            self._add_map(new)
        if seen._profile is not None:
            live_h = np.isfinite(seen.logsumexp).sum(axis=-1)
            first = new.column_start == 0
            self.distances = DistanceSums.from_profile(seen.profile, live_h, first).plus(
                self.distances
            )
        # The first key of a call that begins later is not the first of the text.
        measures = new.measures.without_first() if new.column_start else new.measures
        self.measures = measures if self.measures is None else self.measures + measures
        if new.span_sums is not None:
            self.span_sums = new.span_sums + (0 if self.span_sums is None else self.span_sums)
        if new.problem is not None:
            self.query_keys.append(QueryKey(new.problem, new.row_start, new.column_start))
        if self.nbytes >= OWN_MEMORY_BYTES and not self.settled:
            self._settle()

    def _settle(self) -> None:
        """Move what was recorded so far, the first call, out of the heap."""
        self.settled = True
        short = self.keys <= np.iinfo(np.int16).max
        keys = [x.astype(np.int16 if short else np.int32) for x in self.rows["top_keys"]]
        self.rows["top_keys"] = keys
        names = ("rows", "received_hk", "map", "distances", "measures", "span_sums")
        for name, moved in in_own_memory({x: getattr(self, x) for x in names}).items():
            setattr(self, name, moved)

    def _add_map(self, new: SentenceFacts) -> None:
        seen = new.seen
        live_hq = np.isfinite(seen.logsumexp)
        if self.map is None:
            starts = (new.row_start, new.column_start)
            self.map = GrowingMap.from_first_call(seen.map, live_hq, starts, seen.keys, self.most)
        else:
            self.map.add(seen.map, live_hq, new.column_start)

    def facts(self) -> ArrayFacts:
        joined = {
            x: np.concatenate(a, axis=1) if len(a) > 1 else a[0] for x, a in self.rows.items() if a
        }
        if "top_keys" in joined:
            joined["top_keys"] = joined["top_keys"].astype(np.int64, copy=False)
        if self.received_hk is not None:
            joined["received"] = self.received_hk.astype(self.dtype)
        if self.map is not None:
            joined["map"] = self.map.map_hrc.astype(self.dtype, copy=False)
        return ArrayFacts(joined)

    def profile(self) -> Profile | None:
        return None if self.distances is None else self.distances.profile(self.dtype)

    @property
    def cost(self) -> Cost:
        return Cost("watched", self.flops, self.peak)

    def problem(self) -> Problem | None:
        """Query and key of all calls as one problem, where they were recorded."""
        if len(self.query_keys) < 2:
            first = self.query_keys[0] if self.query_keys else None
            return first.problem if first is not None and not first.column_start else None
        return joined_problem(self.query_keys, self.keys)


@dataclass(frozen=True)
class DistanceSums:
    """Sums over queries of the weight at each distance, from ``low`` back up."""

    low: int
    weight_hn: Array
    first_h: Array
    live_h: Array

    @classmethod
    def from_profile(cls, profile: Profile, live_h: Array, first: bool) -> DistanceSums:
        """The sums of a profile; the first key gets none where a sliding cache dropped it."""
        low = int(profile.back[0]) if profile.back.size else 0
        share_h = np.asarray(profile.first, np.float64) * (1 if first else 0)
        weight_hn = np.asarray(profile.weight, np.float64) * live_h[:, None]
        return cls(low, weight_hn, share_h * live_h, live_h)

    def plus(self, other: DistanceSums | None) -> DistanceSums:
        if other is None:
            return self
        low = min(self.low, other.low)
        high = max(x.low + x.weight_hn.shape[1] for x in (self, other))
        weight_hn = np.zeros((self.weight_hn.shape[0], high - low))
        for x in (self, other):
            weight_hn[:, x.low - low : x.low - low + x.weight_hn.shape[1]] += x.weight_hn
        return DistanceSums(
            low, weight_hn, self.first_h + other.first_h, self.live_h + other.live_h
        )

    def profile(self, dtype: Any) -> Profile:
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


# Facts of one call, and the steps before it; several records may share them.
Steps = tuple[SentenceFacts, Any] | None


@dataclass(eq=False)
class SteppedRecord(LayerRecord):
    """A record up to some call, ``base``, and the decode steps since then."""

    base: LayerRecord | None = field(default=None, repr=False)
    last: Steps = field(default=None, repr=False)

    @classmethod
    def after(cls, record: LayerRecord) -> SteppedRecord:
        """Steps that follow a record; of a stepped record one that shares all its steps."""
        record.resolve()
        counts = {
            x: getattr(record, x)
            for x in ("first_row", "queries", "keys", "smallest_sum", "nan_rows", "mixed", "spans")
        }
        if isinstance(record, SteppedRecord):
            return cls(record.most, **counts, base=record.base, last=record.last)
        return cls(record.most, **counts, base=record if record.queries else None)

    def cut(self, row: int) -> None:
        self.resolve()
        while self.last is not None and self.last[0].row_start >= row:
            facts, self.last = self.last
            self.queries -= facts.seen.queries
        self.keys = 0 if self.base is None else self.base.keys
        if self.last is not None:
            self.keys = max(self.keys, self.last[0].column_start + self.last[0].seen.keys)

    def complete(self) -> LayerRecord:
        self.resolve()
        record = LayerRecord(self.most) if self.base is None else copied(self.base)
        for facts in reversed(self._steps):
            starts = facts.row_start, facts.column_start
            make = partial(_facts, facts)
            record.expect(Pending(facts.seen.queries, facts.seen.keys, *starts, make))
            record.resolve()
        record.note_sinks(self.smallest_sum)
        record.nan_rows, record.mixed, record.spans = self.nan_rows, self.mixed, self.spans
        return record

    @property
    def nbytes(self) -> int:
        base = 0 if self.base is None else self.base.nbytes
        return base + sum(x.nbytes for step in self._steps for x in step.seen.facts.values())

    @property
    def query_key_bytes(self) -> int:
        base = 0 if self.base is None else self.base.query_key_bytes
        problems = [step.problem for step in self._steps if step.problem is not None]
        return base + sum(x.query_hqd.nbytes + x.key_gkd.nbytes for x in problems)

    @property
    def _steps(self) -> list[SentenceFacts]:
        steps, step = [], self.last
        while step is not None:
            facts, step = step
            steps.append(facts)
        return steps

    def _add(self, new: SentenceFacts) -> None:
        self.last = new, self.last


def _facts(facts: SentenceFacts) -> SentenceFacts:
    return facts


def copied(record: LayerRecord) -> LayerRecord:
    """A record that can grow apart; arrays are shared, since none is written in place."""
    rows = {name: list(arrays) for name, arrays in record.rows.items()}
    grown, query_keys = copy(record.map), list(record.query_keys)
    return replace(record, pending=[], rows=rows, map=grown, query_keys=query_keys)
