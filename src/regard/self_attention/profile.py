"""How far away the weight lies: the first key, itself, its neighbours, and every distance."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.self_attention.tiles.problem import Array, Problem


@dataclass(frozen=True)
class Profile:
    """Mean weight by place, over the queries that see anything; heads keep the caller's axes.

    ``back`` holds query position - key position (with the offset), ``weight`` (..., h, n) the
    share at that distance: the shares of a head sum to 1.
    """

    first: NDArray[Any]
    back: NDArray[np.int64]
    weight: NDArray[Any]

    @classmethod
    def of(
        cls, problem: Problem, received_hk: Array, distance_hn: Array, live_hq: Array
    ) -> "Profile":
        """Means from the sums of a call; distances come in as key - query, ascending."""
        sight = problem.sight
        live_h = np.maximum(live_hq.sum(axis=1), 1)
        first_h = received_hk[:, :1].sum(axis=1) / live_h
        low = sight.offset - (sight.keys - 1)
        back = np.arange(low, low + distance_hn.shape[1])
        weight_hn = distance_hn[:, ::-1] / live_h[:, None]
        return cls(
            first_h.astype(problem.dtype).reshape(problem.leading),
            back,
            weight_hn.astype(problem.dtype).reshape(*problem.leading, len(back)),
        )

    def at(self, back: int) -> NDArray[Any]:
        """Mean weight on the key this many positions before the query; negative: after it."""
        index = back - int(self.back[0]) if self.back.size else -1
        if not 0 <= index < self.back.size:
            return np.zeros_like(self.first)
        result: NDArray[Any] = self.weight[..., index]
        return result

    @property
    def itself(self) -> NDArray[Any]:
        """Mean weight of a position on itself."""
        return self.at(0)

    @property
    def previous(self) -> NDArray[Any]:
        """Mean weight on the position just before."""
        return self.at(1)

    @property
    def next(self) -> NDArray[Any]:
        """Mean weight on the position just after."""
        return self.at(-1)

    def histogram(self) -> list[tuple[int, int, NDArray[Any]]]:
        """Shares by doubling distance, both directions: (nearest, farthest, share), far back first.

        Distances are how far back; negative ones lie ahead.
        """
        if not self.back.size:
            return []
        reach = max(abs(int(self.back[0])), abs(int(self.back[-1])))
        steps = [(2**i, 2 ** (i + 1) - 1) for i in range(reach.bit_length())]
        bands = [*reversed(steps), (0, 0), *[(-a, -b) for a, b in steps]]
        found = []
        for near, far in bands:
            low, high = min(near, far), max(near, far)
            inside = (self.back >= low) & (self.back <= high)
            if inside.any():
                found.append((near, far, self.weight[..., inside].sum(axis=-1)))
        return found
