"""The weight at every distance, each rank holding a slice of the distances.

There are as many distances as queries and keys together, so no rank may hold them all.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.backends.ring.post import Delivery, Letter, Post
from regard.self_attention.backends.ring.share import Share
from regard.self_attention.tiles.problem import Array


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
        highest = self.share.problem.sight.offset + self.share.queries.tokens - 1
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
