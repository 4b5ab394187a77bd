"""What one rank holds of a call, and the smaller calls between two chunks that it is made of."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.self_attention.backends.ring.layout import Chunk, Layout
from regard.self_attention.tiles.plan import choose, cost
from regard.self_attention.tiles.problem import Array, Problem
from regard.self_attention.tiles.sight import Sight


@dataclass(frozen=True)
class Share:
    """This rank's arrays, in a problem whose sight is that of the whole sequence."""

    problem: Problem
    queries: Layout
    keys: Layout
    rank: int

    @property
    def ranks(self) -> int:
        """How many ranks share the sequence."""
        return len(self.keys.ranks)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What facts are given in."""
        return self.problem.dtype

    @property
    def left(self) -> int:
        """Whose letters this rank receives."""
        return (self.rank - 1) % self.ranks

    @property
    def right(self) -> int:
        """Who receives this rank's letters."""
        return (self.rank + 1) % self.ranks

    @property
    def chunks(self) -> list[Chunk]:
        """This rank's chunks of queries, empty ones left out."""
        return [x for x in self.queries.ranks[self.rank] if x.here.stop > x.here.start]

    @property
    def others(self) -> list[int]:
        """Every rank but this one."""
        return [rank for rank in range(self.ranks) if rank != self.rank]

    @property
    def distances(self) -> int:
        """How many distances there are between a query and a key."""
        return max(0, self.queries.tokens + self.keys.tokens - 1)

    def visitor(self, step: int) -> int:
        """Whose slice visits this rank at a step of the ring; at step 0 its own."""
        return (self.rank - step) % self.ranks

    def meetings(self, asking: int, answering: int) -> Iterator[tuple[Chunk, Chunk]]:
        """The chunks of one rank's queries and another's keys, where any sees any."""
        for rows in self.queries.ranks[asking]:
            for columns in self.keys.ranks[answering]:
                sight = self.problem.sight.part(rows.there, columns.there)
                every = slice(0, self.problem.heads), slice(0, sight.queries)
                reach = sight.reach(*every)
                if sight.queries and reach.stop > reach.start:
                    yield rows, columns

    def flops(self, asking: int, answering: int, value_gkv: Array) -> int:
        """Products in which one rank's queries meet another's keys, and values of this width."""
        query_hqd, key_gkd = self.problem.query_hqd, self.problem.key_gkd
        parts = [
            self.between(*chunks, query_hqd, key_gkd, value_gkv)
            for chunks in self.meetings(asking, answering)
        ]
        return sum(cost(part, choose(part, False)).flops for part in parts)

    def sights(self) -> tuple[Sight, ...]:
        """What all queries see of each chunk of this rank's keys."""
        every, whole = slice(0, self.queries.tokens), self.problem.sight
        return tuple(whole.part(every, x.there) for x in self.keys.ranks[self.rank])

    def between(
        self, rows: Chunk, columns: Chunk, query_hqd: Array, key_gkd: Array, value_gkv: Array
    ) -> Problem:
        """The call in which one chunk of queries meets one chunk of keys."""
        return replace(
            self.problem,
            query_hqd=query_hqd[:, rows.here],
            key_gkd=key_gkd[:, columns.here],
            value_gkv=value_gkv[:, columns.here],
            sight=self.problem.sight.part(rows.there, columns.there),
        )

    def without_value(self) -> Array:
        """Values of width 0, for where only keys are needed."""
        return np.zeros((*self.problem.key_gkd.shape[:-1], 0), self.problem.dtype)
