"""The passes of a ring on the CPU: rows, columns and distances, or one pass over gathered keys."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from regard.engine.observe import Gathered, gather
from regard.engine.ring.shares import Share
from regard.engine.ring.token_layout import Chunk
from regard.engine.ring.transport import Delivery, Letter, Post, around
from regard.engine.tiles.columns import ColumnPart, ColumnSums, cut, second_pass
from regard.engine.tiles.plan import Unit, blocks, choose
from regard.engine.tiles.problem import Problem
from regard.engine.tiles.rows import Requested, Rows, Scratch, stream_past
from regard.engine.tiles.threads import run_in_order
from regard.typing import Array


@dataclass
class Distances:
    """This rank's slice: entry n of the whole is the weight at key - query = n - (queries - 1)."""

    share: Share
    edges: list[int]
    weight_hn: Array
    coming: Delivery | None = None
    rooms: list[tuple[int, slice, Array]] = field(default_factory=list)

    @classmethod
    def none_yet(cls, share: Share) -> "Distances":
        """Slices as equal as they can be."""
        edges = [rank * share.distances // share.ranks for rank in range(share.ranks + 1)]
        own = edges[share.rank + 1] - edges[share.rank]
        return cls(share, edges, np.zeros((share.problem.heads, own)))

    @property
    def back(self) -> NDArray[np.int64]:
        """This rank's distances as query - key with the offset, ascending, as in Profile."""
        highest = self.share.problem.visibility.offset + self.share.queries.tokens - 1
        start, stop = self.edges[self.share.rank : self.share.rank + 2]
        return np.arange(highest - stop + 1, highest - start + 1)

    def between(self, low: int, high: int) -> Array:
        """The weight at this rank's distances from low to high, (h,)."""
        inside = (self.back >= low) & (self.back <= high)
        return np.asarray(self.weight_hn[:, ::-1][:, inside].sum(axis=1))

    def hand_out(self, post: Post, visitor: int, found: list[Array | None]) -> None:
        """Send what a step found to whom it belongs, and take what others found for this rank."""
        self.all_here(post)  # of the step before, so that no more than one step's letters are held
        me, ranks = self.share.rank, self.share.ranks
        send: list[Letter] = []
        for index, owner, inside, own in self._pieces(visitor, me):
            weight_hn = found[index]
            if weight_hn is not None and owner == me:
                self.weight_hn[:, own] += weight_hn[:, inside]
            elif weight_hn is not None:
                send.append((owner, weight_hn[:, inside]))
        self.rooms = [
            (source, own, np.empty((self.weight_hn.shape[0], own.stop - own.start)))
            for source in self.share.others
            for _, owner, _, own in self._pieces((source - me + visitor) % ranks, source)
            if owner == me
        ]
        self.coming = post.exchange(send, [(source, room) for source, _, room in self.rooms])

    def all_here(self, post: Post) -> None:
        """Add what others sent, in the order of their ranks."""
        if self.coming is not None:
            post.arrived(self.coming)
        for _, own, room_hn in self.rooms:
            self.weight_hn[:, own] += room_hn
        self.coming, self.rooms = None, []

    def _pieces(self, asking: int, answering: int) -> Iterator[tuple[int, int, slice, slice]]:
        """How the distances between two ranks' chunks fall to their owners.

        Gives the meeting, the owner, where in the meeting's distances, where in the owner's slice.
        """
        queries = self.share.queries.tokens
        for index, (rows, columns) in enumerate(self.share.meetings(asking, answering)):
            start = columns.there.start + queries - rows.there.stop
            stop = columns.there.stop + queries - rows.there.start - 1
            first = bisect_right(self.edges, start) - 1
            for owner in range(first, self.share.ranks):
                low, high = max(start, self.edges[owner]), min(stop, self.edges[owner + 1])
                if low >= stop:
                    break
                if low < high:
                    own = slice(low - self.edges[owner], high - self.edges[owner])
                    yield index, owner, slice(low - start, high - start), own


def row_pass(share: Share, requested: Requested, post: Post) -> dict[str, Array]:
    """What belongs to this rank's queries, (h, q, ...); base-2 log-sum-exp as ``log2_total``."""
    own = [share.problem.key_gkd, share.problem.value_gkv]
    sums = {x.here.start: ChunkSums(share, x, requested) for x in share.chunks}

    def work(visitor: int, arrays: list[Array]) -> None:
        key_gkd, value_gkv = arrays
        for rows, columns in share.meetings(share.rank, visitor):
            part = share.between(rows, columns, share.problem.query_hqd, key_gkd, value_gkv)
            sums[rows.here.start].take(part, columns.there.start)

    around(share, post, own, share.keys, work)
    facts = blank_facts(share, requested)
    for chunk in sums.values():
        chunk.put(facts)
    return facts


class ChunkSums:
    """The running sums of one chunk of queries: they go on from visitor to visitor.

    Equals ``stream_rows`` over all keys at once; only the order of the keys differs.
    """

    def __init__(self, share: Share, chunk: Chunk, requested: Requested) -> None:
        visibility = share.problem.visibility.part(chunk.there, slice(0, share.keys.tokens))
        query_hqd = share.problem.query_hqd[:, chunk.here]
        problem = replace(share.problem, query_hqd=query_hqd, visibility=visibility)
        self.chunk, self.requested = chunk, requested
        self.plan = choose(problem, False)
        self.units = [
            (unit, Rows.none_seen(problem, unit, requested)) for unit in self.plan.units(problem)
        ]

    def take(self, part: Problem, first: int) -> None:
        """Let a visitor's keys stream past; ``first`` is where they begin in the whole."""

        def work(place: tuple[Unit, Rows], scratch: Scratch) -> None:
            unit, rows = place
            stream_past(rows, part, self.plan, unit, self.requested, scratch, first)

        run_in_order(self.units, work)

    def put(self, facts: dict[str, Array]) -> None:
        """After the last visitor: what the sums come to."""
        start = self.chunk.here.start
        with np.errstate(all="ignore"):
            for unit, rows in self.units:
                place = slice(start + unit.rows.start, start + unit.rows.stop)
                _put(facts, (unit.heads, place), rows)


def blank_facts(share: Share, requested: Requested) -> dict[str, Array]:
    """Room for what belongs to this rank's queries; queries that see nothing keep what is here."""
    problem = share.problem
    shape = problem.query_hqd.shape[:2]
    facts: dict[str, Array] = {"log2_total": np.full(shape, -np.inf)}
    if requested.output:
        facts["output"] = np.zeros((*shape, problem.value_gkv.shape[-1]), problem.output_dtype)
    if requested.entropy:
        facts["entropy"] = np.zeros(shape, problem.dtype)
    if requested.top:
        facts["top_weights"] = np.zeros((*shape, requested.top), problem.dtype)
        facts["top_keys"] = np.full((*shape, requested.top), -1, np.int64)
    return facts


def _put(facts: dict[str, Array], place: tuple[slice, slice], rows: Rows) -> None:
    rows.settle()
    facts["log2_total"][place] = rows.log2_total_hq()
    if "entropy" in facts:
        facts["entropy"][place] = rows.entropy_hq()
    if "output" in facts:
        facts["output"][place] = rows.mean_output_hqv()
    if rows.best is not None:
        facts["top_weights"][place] = rows.best.values_hqn
        facts["top_keys"][place] = rows.best.columns_hqn


def column_pass(
    share: Share, requested: Requested, log2_total_hq: Array, post: Post
) -> "RankColumns":
    """What belongs to this rank's keys, and its part of the map and of the distances."""
    columns = RankColumns(share, requested)
    distances = columns.distances

    def work(visitor: int, arrays: list[Array]) -> None:
        found = [columns.take(*chunks, *arrays) for chunks in share.meetings(visitor, share.rank)]
        if distances is not None:
            distances.hand_out(post, visitor, found)

    around(share, post, [share.problem.query_hqd, log2_total_hq], share.queries, work)
    if distances is not None:
        distances.all_here(post)
    return columns


@dataclass
class RankColumns:
    """Sums over all queries for this rank's keys, in float64.

    ``map_hrc`` is the whole map, with only these keys' share in it.
    """

    share: Share
    requested: Requested
    received_hk: Array = field(init=False)
    map_hrc: Array | None = None
    distances: Distances | None = None

    def __post_init__(self) -> None:
        heads, keys = self.share.problem.heads, self.share.keys.held(self.share.rank)
        self.received_hk = np.zeros((heads, keys))
        if self.requested.map:
            edges = self.edges
            self.map_hrc = np.zeros((heads, len(edges[0]) - 1, len(edges[1]) - 1))
        if self.requested.profile:
            self.distances = Distances.none_yet(self.share)

    @property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the blocks of the whole map begin and end: of queries, of keys."""
        return (
            blocks(self.share.queries.tokens, self.requested.map),
            blocks(self.share.keys.tokens, self.requested.map),
        )

    def take(
        self, rows: Chunk, columns: Chunk, query_hqd: Array, log2_total_hq: Array
    ) -> Array | None:
        """Add one chunk of queries for one chunk of keys; give the weight at each distance."""
        share, requested = self.share, self.requested
        key_gkd, value_gk0 = share.problem.key_gkd, share.without_value()
        part = share.between(rows, columns, query_hqd, key_gkd, value_gk0)
        (row_edges, row), (column_edges, column) = (
            cut(edges, chunk.there)
            for edges, chunk in zip(self.edges, (rows, columns), strict=True)
        )
        sums = ColumnSums(part, replace(requested, edges=column_edges, row_edges=row_edges))
        _sum(part, sums, log2_total_hq[:, rows.here])
        self.received_hk[:, columns.here] += sums.received_hk
        if self.map_hrc is not None:
            self.map_hrc[:, row, column] += sums.map_hrc
        return sums.distance_hn


def _sum(part: Problem, sums: ColumnSums, log2_total_hq: Array) -> None:
    plan = choose(part, False)

    def work(unit: Unit, scratch: Scratch) -> list[ColumnPart]:
        known_hq = log2_total_hq[unit.heads, unit.rows]
        return second_pass(part, plan, unit, known_hq, scratch, sums)

    def commit(unit: Unit, parts: list[ColumnPart]) -> None:
        for found in parts:
            sums.add(found)

    run_in_order(plan.units(part), work, commit)


GATHERED_BYTES = 2**28  # of keys and values of the whole; beyond that they go around the ring


def fits(share: Share, requested: Requested) -> bool:
    """Whether to gather: the same answer on every rank, since it follows from the whole."""
    problem = share.problem
    if not isinstance(problem, Problem):
        return False  # on a device keys always go around
    width = problem.key_gkd.shape[-1] + problem.value_gkv.shape[-1]
    size = problem.key_gkd.shape[0] * share.keys.tokens * width * problem.dtype.itemsize
    return (
        requested.column_facts and size <= GATHERED_BYTES and choose(problem, True).name == "panel"
    )


def gathered_pass(
    share: Share, requested: Requested, post: Post
) -> tuple[dict[str, Array], RankColumns]:
    """What belongs to this rank's queries, and to its keys once all ranks have added theirs."""
    key_gkd, value_gkv = _gathered_arrays(share, post)
    columns, facts = RankColumns(share, requested), blank_facts(share, requested)
    received_hk = np.zeros((share.problem.heads, share.keys.tokens))
    distance_hn = np.zeros((share.problem.heads, share.distances))
    post.watch.at += 1
    for chunk in share.chunks:
        found = _observed(columns, chunk, key_gkd, value_gkv)
        _put_gathered(facts, chunk.here, found)
        received_hk += found.columns.received_hk
        if columns.map_hrc is not None:
            columns.map_hrc[:, cut(columns.edges[0], chunk.there)[1]] += found.columns.map_hrc
        if found.columns.distance_hn is not None:
            start = share.queries.tokens - chunk.there.stop
            stop = start + found.columns.distance_hn.shape[1]
            distance_hn[:, start:stop] += found.columns.distance_hn
    _hand_out(columns, received_hk, distance_hn, post)
    return facts, columns


def _gathered_arrays(share: Share, post: Post) -> list[Array]:
    """Keys and values of all ranks, in their order in the whole."""
    own = [share.problem.key_gkd, share.problem.value_gkv]
    coming = {rank: [_room(x, share.keys.held(rank)) for x in own] for rank in share.others}
    send = [(rank, x) for rank in share.others for x in own]
    receive = [(rank, x) for rank in share.others for x in coming[rank]]
    post.arrived(post.exchange(send, receive))
    whole = [_room(x, share.keys.tokens) for x in own]
    for rank, arrays in (coming | {share.rank: own}).items():
        for chunk in share.keys.ranks[rank]:
            for array, place in zip(arrays, whole, strict=True):
                place[:, chunk.there] = array[:, chunk.here]
    return whole


def _room(like: Array, tokens: int) -> Array:
    return np.empty((like.shape[0], tokens, like.shape[2]), like.dtype)


def _observed(columns: RankColumns, chunk: Chunk, key_gkd: Array, value_gkv: Array) -> Gathered:
    share = columns.share
    every = Chunk(slice(0, share.keys.tokens), slice(0, share.keys.tokens))
    part = share.between(chunk, every, share.problem.query_hqd, key_gkd, value_gkv)
    row_edges, _ = cut(columns.edges[0], chunk.there)
    return gather(part, replace(columns.requested, row_edges=row_edges), choose(part, True))


def _put_gathered(facts: dict[str, Array], here: slice, found: Gathered) -> None:
    rows = {"log2_total": found.log2_total_hq, "output": found.output_hqv,
            "entropy": found.entropy_hq, "top_weights": found.weights_hqn,
            "top_keys": found.keys_hqn}  # fmt: skip
    for name, place in facts.items():
        place[:, here] = rows[name]


def _hand_out(columns: RankColumns, received_hk: Array, distance_hn: Array, post: Post) -> None:
    """Send each rank the sums for its keys and its distances; add up this rank's own."""
    share, distances = columns.share, columns.distances

    def pieces(rank: int) -> list[Array]:
        keys = [received_hk[:, chunk.there] for chunk in share.keys.ranks[rank]]
        found = [np.concatenate(keys, axis=1)]
        if distances is not None:
            found.append(distance_hn[:, distances.edges[rank] : distances.edges[rank + 1]])
        return found

    sums = [columns.received_hk, *([] if distances is None else [distances.weight_hn])]
    rooms = {rank: [np.empty_like(x) for x in sums] for rank in share.others}
    send = [(rank, x) for rank in share.others for x in pieces(rank)]
    post.arrived(post.exchange(send, [(rank, x) for rank in share.others for x in rooms[rank]]))
    rooms[share.rank] = pieces(share.rank)
    for rank in range(share.ranks):  # in this order on every rank
        for total, piece in zip(sums, rooms[rank], strict=True):
            total += piece
