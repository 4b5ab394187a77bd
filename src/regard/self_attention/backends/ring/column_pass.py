"""Pass two: query and log-sum-exp go around the ring, what belongs to keys is summed at home."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.backends.ring.around import around
from regard.self_attention.backends.ring.distances import Distances
from regard.self_attention.backends.ring.layout import Chunk
from regard.self_attention.backends.ring.post import Post
from regard.self_attention.backends.ring.share import Share
from regard.self_attention.tiles.columns import ColumnPart, ColumnSums, cut, second_pass
from regard.self_attention.tiles.plan import Unit, blocks, choose
from regard.self_attention.tiles.problem import Array, Problem
from regard.self_attention.tiles.rows import Scratch, Wanted
from regard.self_attention.tiles.threads import run_in_order


def column_pass(share: Share, wanted: Wanted, log2_total_hq: Array, post: Post) -> "RankColumns":
    """What belongs to this rank's keys, and its part of the map and of the distances."""
    columns = RankColumns(share, wanted)
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
    wanted: Wanted
    received_hk: Array = field(init=False)
    map_hrc: Array | None = None
    distances: Distances | None = None

    def __post_init__(self) -> None:
        heads, keys = self.share.problem.heads, self.share.keys.held(self.share.rank)
        self.received_hk = np.zeros((heads, keys))
        if self.wanted.map:
            edges = self.edges
            self.map_hrc = np.zeros((heads, len(edges[0]) - 1, len(edges[1]) - 1))
        if self.wanted.profile:
            self.distances = Distances.none_yet(self.share)

    @property
    def edges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the blocks of the whole map begin and end: of queries, of keys."""
        return (
            blocks(self.share.queries.tokens, self.wanted.map),
            blocks(self.share.keys.tokens, self.wanted.map),
        )

    def take(
        self, rows: Chunk, columns: Chunk, query_hqd: Array, log2_total_hq: Array
    ) -> Array | None:
        """Add one chunk of queries for one chunk of keys; give the weight at each distance."""
        share, wanted = self.share, self.wanted
        key_gkd, value_gk0 = share.problem.key_gkd, share.without_value()
        part = share.between(rows, columns, query_hqd, key_gkd, value_gk0)
        (row_edges, row), (column_edges, column) = (
            cut(edges, chunk.there)
            for edges, chunk in zip(self.edges, (rows, columns), strict=True)
        )
        sums = ColumnSums(part, replace(wanted, edges=column_edges, row_edges=row_edges))
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
