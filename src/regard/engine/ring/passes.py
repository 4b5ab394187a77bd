"""Passes of a ring on the CPU: rows, columns and distances, or one pass over gathered keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import Problem, Requested, blocks
from regard.engine.observe import Gathered, gather, run_second_pass
from regard.engine.ring.layout import Chunk
from regard.engine.ring.rank_slice import RankSlice
from regard.engine.ring.transport import Message, Transfer, Transport, empty_tokens, ring_pass
from regard.engine.threads import run_in_order
from regard.engine.tiles.columns import ColumnSums, cut
from regard.engine.tiles.plan import Unit, choose
from regard.engine.tiles.rows import Rows, Scratch, stream_past
from regard.typing import Array


@dataclass
class RankDistances:
    """One rank's slice of the weights by distance.

    Entry n of all slices joined is the weight at key - query = n - (queries - 1).
    """

    rank_slice: RankSlice
    edges: list[int]
    weight_hn: Array
    transfer: Transfer | None = None
    incoming: list[tuple[int, slice, Array]] = field(default_factory=list)

    @classmethod
    def empty(cls, rank_slice: RankSlice) -> RankDistances:
        """Zeros, cut into slices as equal as they can be."""
        ranks = rank_slice.ranks
        edges = [rank * rank_slice.distances // ranks for rank in range(ranks + 1)]
        size = edges[rank_slice.rank + 1] - edges[rank_slice.rank]
        return cls(rank_slice, edges, np.zeros((rank_slice.problem.heads, size)))

    @property
    def back(self) -> NDArray[np.int64]:
        """This rank's distances as query - key with the offset, ascending, as in Profile."""
        highest = self.rank_slice.problem.visibility.offset + self.rank_slice.queries.tokens - 1
        start, stop = self.edges[self.rank_slice.rank : self.rank_slice.rank + 2]
        return np.arange(highest - stop + 1, highest - start + 1)

    def between(self, low: int, high: int) -> Array:
        """The weight at this rank's distances from low to high, (h,)."""
        inside = (self.back >= low) & (self.back <= high)
        return np.asarray(self.weight_hn[:, ::-1][:, inside].sum(axis=1))

    def exchange(self, transport: Transport, visitor: int, sums: list[Array | None]) -> None:
        """Send the sums of a visitor's queries to the owners of the distances; start receiving."""
        self.finish(transport)  # the step before, so that one step's messages are in memory at most
        rank, ranks = self.rank_slice.rank, self.rank_slice.ranks
        send: list[Message] = []
        for index, owner, inside, target in self._pieces(visitor, rank):
            weight_hn = sums[index]
            if weight_hn is not None and owner == rank:
                self.weight_hn[:, target] += weight_hn[:, inside]
            elif weight_hn is not None:
                send.append((owner, weight_hn[:, inside]))
        self.incoming = [
            (source, target, np.empty((self.weight_hn.shape[0], target.stop - target.start)))
            for source in self.rank_slice.others
            for _, owner, _, target in self._pieces((source - rank + visitor) % ranks, source)
            if owner == rank
        ]
        receive = [(source, buffer) for source, _, buffer in self.incoming]
        self.transfer = transport.exchange(send, receive)

    def finish(self, transport: Transport) -> None:
        """Wait for the sums of other ranks, and add them in the order of the ranks."""
        if self.transfer is not None:
            transport.wait(self.transfer)
        for _, target, part_hn in self.incoming:
            self.weight_hn[:, target] += part_hn
        self.transfer, self.incoming = None, []

    def _pieces(self, query_rank: int, key_rank: int) -> Iterator[tuple[int, int, slice, slice]]:
        """The distances between two ranks' chunks, cut by owner.

        Yields the index of the pair of chunks, the owner, the slice of the pair's distances and the
        slice of the owner's.
        """
        queries = self.rank_slice.queries.tokens
        for index, (rows, columns) in enumerate(
            self.rank_slice.visible_chunks(query_rank, key_rank)
        ):
            start = columns.sequence.start + queries - rows.sequence.stop
            stop = columns.sequence.stop + queries - rows.sequence.start - 1
            first = bisect_right(self.edges, start) - 1
            for owner in range(first, self.rank_slice.ranks):
                low, high = max(start, self.edges[owner]), min(stop, self.edges[owner + 1])
                if low >= stop:
                    break
                if low < high:
                    target = slice(low - self.edges[owner], high - self.edges[owner])
                    yield index, owner, slice(low - start, high - start), target


def row_pass(rank_slice: RankSlice, requested: Requested, transport: Transport) -> dict[str, Array]:
    """Facts of this rank's queries, (h, q, ...), and the shift and inverse of each (see Rows)."""
    problem = rank_slice.problem
    sums = {x.local.start: ChunkSums(rank_slice, x, requested) for x in rank_slice.chunks}

    def visit(source: int, arrays: list[Array]) -> None:
        key_gkd, value_gkv = arrays
        for rows, columns in rank_slice.visible_chunks(rank_slice.rank, source):
            part = rank_slice.subproblem(rows, columns, problem.query_hqd, key_gkd, value_gkv)
            sums[rows.local.start].add(part, columns.sequence.start)

    arrays = [problem.key_gkd, problem.value_gkv]
    ring_pass(rank_slice, transport, arrays, rank_slice.keys, visit)
    facts = empty_facts(rank_slice, requested)
    for chunk in sums.values():
        chunk.write_to(facts)
    return facts


class ChunkSums:
    """Running sums of one chunk of queries over the keys of every rank.

    Equals ``stream_rows`` over all keys at once; only the order of the keys differs.
    """

    def __init__(self, rank_slice: RankSlice, chunk: Chunk, requested: Requested) -> None:
        every_key = slice(0, rank_slice.keys.tokens)
        visibility = rank_slice.problem.visibility.part(chunk.sequence, every_key)
        query_hqd = rank_slice.problem.query_hqd[:, chunk.local]
        problem = replace(rank_slice.problem, query_hqd=query_hqd, visibility=visibility)
        self.chunk, self.requested = chunk, requested
        self.plan = choose(problem, False)
        self.units = [
            (unit, Rows.none_seen(problem, unit, requested)) for unit in self.plan.units(problem)
        ]

    def add(self, part: Problem, first: int) -> None:
        """Add the keys of a rank; ``first`` is the position of the first of them."""

        def work(item: tuple[Unit, Rows], scratch: Scratch) -> None:
            unit, rows = item
            stream_past(rows, part, self.plan, unit, self.requested, scratch, first)

        run_in_order(self.units, work)

    def write_to(self, facts: dict[str, Array]) -> None:
        """Write the facts that the sums come to, after the keys of the last rank."""
        start = self.chunk.local.start
        with np.errstate(all="ignore"):
            for unit, rows in self.units:
                target = slice(start + unit.rows.start, start + unit.rows.stop)
                _write_rows(facts, (unit.heads, target), rows)


def empty_facts(rank_slice: RankSlice, requested: Requested) -> dict[str, Array]:
    """Initial facts of this rank's queries, those of queries that see nothing."""
    problem = rank_slice.problem
    shape = problem.query_hqd.shape[:2]
    facts: dict[str, Array] = {"log2_total": np.full(shape, -np.inf)}
    facts |= {name: np.zeros(shape, problem.dtype) for name in ("shift", "inverse")}
    if requested.output:
        facts["output"] = np.zeros((*shape, problem.value_gkv.shape[-1]), problem.output_dtype)
    if requested.entropy:
        facts["entropy"] = np.zeros(shape, problem.dtype)
    if requested.top:
        facts["top_weights"] = np.zeros((*shape, requested.top), problem.dtype)
        facts["top_keys"] = np.full((*shape, requested.top), -1, np.int64)
    return facts


def _write_rows(facts: dict[str, Array], target: tuple[slice, slice], rows: Rows) -> None:
    rows.finish()
    facts["log2_total"][target] = rows.log2_total_hq()
    facts["shift"][target], facts["inverse"][target] = rows.shift_hq, rows.inverse_hq()
    if "entropy" in facts:
        facts["entropy"][target] = rows.entropy_hq()
    if "output" in facts:
        facts["output"][target] = rows.mean_output_hqv()
    if rows.best is not None:
        facts["top_weights"][target] = rows.best.values_hqn
        facts["top_keys"][target] = rows.best.columns_hqn


@dataclass
class RankColumns:
    """Sums over all queries for this rank's keys, in float64.

    ``map_hrc`` has the shape of the full map, with only these keys' share in it.
    """

    rank_slice: RankSlice
    requested: Requested
    received_hk: Array = field(init=False)
    map_hrc: Array | None = None
    distances: RankDistances | None = None

    def __post_init__(self) -> None:
        rank_slice = self.rank_slice
        heads = rank_slice.problem.heads
        self.received_hk = np.zeros((heads, rank_slice.keys.token_count(rank_slice.rank)))
        if self.requested.map:
            edges = self.edges
            self.map_hrc = np.zeros((heads, len(edges[0]) - 1, len(edges[1]) - 1))
        if self.requested.profile:
            self.distances = RankDistances.empty(self.rank_slice)

    @property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return (
            blocks(self.rank_slice.queries.tokens, self.requested.map),
            blocks(self.rank_slice.keys.tokens, self.requested.map),
        )

    def pass_queries(self, transport: Transport, arrays: list[Any]) -> None:
        """Send all ranks' arrays of queries around the ring, and add each to these keys' sums."""
        rank_slice, distances = self.rank_slice, self.distances

        def visit(source: int, arrays: list[Any]) -> None:
            here = [self.arrived(x) for x in arrays]
            pairs = rank_slice.visible_chunks(source, rank_slice.rank)
            sums = [self.add(*chunks, *here) for chunks in pairs]
            if distances is not None:
                distances.exchange(transport, source, sums)

        ring_pass(rank_slice, transport, arrays, rank_slice.queries, visit)
        if distances is not None:
            distances.finish(transport)

    def arrived(self, array: Any) -> Any:
        """An array of another rank, where this one computes with it."""
        return array

    def add(self, rows: Chunk, columns: Chunk, *arrays: Any) -> Array | None:
        """Add one chunk of queries for one chunk of keys; returns the weight at each distance."""
        query_hqd, shift_hq, inverse_hq = arrays
        rank_slice, requested = self.rank_slice, self.requested
        key_gkd, value_gk0 = rank_slice.problem.key_gkd, rank_slice.empty_value()
        part = rank_slice.subproblem(rows, columns, query_hqd, key_gkd, value_gk0)
        (row_edges, row), (column_edges, column) = (
            cut(edges, chunk.sequence)
            for edges, chunk in zip(self.edges, (rows, columns), strict=True)
        )
        sums = ColumnSums(part, replace(requested, edges=column_edges, row_edges=row_edges))
        some = shift_hq[:, rows.local], inverse_hq[:, rows.local]
        run_second_pass(part, choose(part, False), sums, *some)
        self.received_hk[:, columns.local] += sums.received_hk
        if self.map_hrc is not None:
            self.map_hrc[:, row, column] += sums.map_hrc
        return sums.distance_hn


MAX_GATHERED_BYTES = 2**28  # of all keys and values; beyond that they go around the ring


def fits_gathered(rank_slice: RankSlice, requested: Requested) -> bool:
    """Whether to gather keys and values; equal on every rank, as it follows from the sequence."""
    problem = rank_slice.problem
    if not isinstance(problem, Problem):
        return False  # on a device keys always go around the ring
    width = problem.key_gkd.shape[-1] + problem.value_gkv.shape[-1]
    size = problem.key_gkd.shape[0] * rank_slice.keys.tokens * width * problem.dtype.itemsize
    return (
        requested.column_facts
        and size <= MAX_GATHERED_BYTES
        and choose(problem, True).name == "panel"
    )


def gathered_pass(
    rank_slice: RankSlice, requested: Requested, transport: Transport
) -> tuple[dict[str, Array], RankColumns]:
    """Facts of this rank's queries, and of its keys once all ranks have added theirs."""
    key_gkd, value_gkv = _gather_keys_and_values(rank_slice, transport)
    columns, facts = RankColumns(rank_slice, requested), empty_facts(rank_slice, requested)
    received_hk = np.zeros((rank_slice.problem.heads, rank_slice.keys.tokens))
    distance_hn = np.zeros((rank_slice.problem.heads, rank_slice.distances))
    transport.monitor.step += 1
    for chunk in rank_slice.chunks:
        part = _observe_chunk(columns, chunk, key_gkd, value_gkv)
        sums = part.columns
        _write_gathered(facts, chunk.local, part)
        received_hk += sums.received_hk
        if columns.map_hrc is not None:
            columns.map_hrc[:, cut(columns.edges[0], chunk.sequence)[1]] += sums.map_hrc
        if sums.distance_hn is not None:
            start = rank_slice.queries.tokens - chunk.sequence.stop
            stop = start + sums.distance_hn.shape[1]
            distance_hn[:, start:stop] += sums.distance_hn
    _scatter_sums(columns, received_hk, distance_hn, transport)
    return facts, columns


def _gather_keys_and_values(rank_slice: RankSlice, transport: Transport) -> list[Array]:
    """Keys and values of all ranks, in the order of the sequence."""
    local = [rank_slice.problem.key_gkd, rank_slice.problem.value_gkv]
    keys, others = rank_slice.keys, rank_slice.others
    incoming = {rank: [empty_tokens(x, keys.token_count(rank)) for x in local] for rank in others}
    send = [(rank, x) for rank in others for x in local]
    receive = [(rank, x) for rank in others for x in incoming[rank]]
    transport.wait(transport.exchange(send, receive))
    gathered = [empty_tokens(x, keys.tokens) for x in local]
    for rank, arrays in (incoming | {rank_slice.rank: local}).items():
        for chunk in keys.ranks[rank]:
            for array, target in zip(arrays, gathered, strict=True):
                target[:, chunk.sequence] = array[:, chunk.local]
    return gathered


def _observe_chunk(
    columns: RankColumns, chunk: Chunk, key_gkd: Array, value_gkv: Array
) -> Gathered:
    rank_slice = columns.rank_slice
    every = Chunk(slice(0, rank_slice.keys.tokens), slice(0, rank_slice.keys.tokens))
    part = rank_slice.subproblem(chunk, every, rank_slice.problem.query_hqd, key_gkd, value_gkv)
    row_edges, _ = cut(columns.edges[0], chunk.sequence)
    return gather(part, replace(columns.requested, row_edges=row_edges), choose(part, True))


def _write_gathered(facts: dict[str, Array], local: slice, part: Gathered) -> None:
    rows = {
        "log2_total": part.log2_total_hq,
        "shift": part.shift_hq,
        "inverse": part.inverse_hq,
        "output": part.output_hqv,
        "entropy": part.entropy_hq,
        "top_weights": part.weights_hqn,
        "top_keys": part.keys_hqn,
    }
    for name, target in facts.items():
        target[:, local] = rows[name]


def _scatter_sums(
    columns: RankColumns, received_hk: Array, distance_hn: Array, transport: Transport
) -> None:
    """Send each rank the sums for its keys and its distances; add up this rank's own."""
    rank_slice, distances = columns.rank_slice, columns.distances

    def pieces(rank: int) -> list[Array]:
        keys = [received_hk[:, chunk.sequence] for chunk in rank_slice.keys.ranks[rank]]
        result = [np.concatenate(keys, axis=1)]
        if distances is not None:
            result.append(distance_hn[:, distances.edges[rank] : distances.edges[rank + 1]])
        return result

    sums = [columns.received_hk, *([] if distances is None else [distances.weight_hn])]
    incoming = {rank: [np.empty_like(x) for x in sums] for rank in rank_slice.others}
    send = [(rank, x) for rank in rank_slice.others for x in pieces(rank)]
    receive = [(rank, x) for rank in rank_slice.others for x in incoming[rank]]
    transport.wait(transport.exchange(send, receive))
    incoming[rank_slice.rank] = pieces(rank_slice.rank)
    for rank in range(rank_slice.ranks):  # in this order on every rank
        for total, piece in zip(sums, incoming[rank], strict=True):
            total += piece
