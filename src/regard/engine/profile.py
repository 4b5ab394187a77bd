"""Mean weight by distance: on the first key, itself, its neighbours, and at every distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.distances import bands_between
from regard.engine.tiles.problem import Problem
from regard.engine.visibility import Visibility
from regard.typing import Array


@dataclass(frozen=True)
class Profile:
    """Mean weight by position, over the queries that see anything; heads keep the caller's axes.

    ``back`` holds query position - key position (with the offset), ``weight`` (..., h, n) the
    share at that distance: the shares of a head sum to 1.
    """

    first: NDArray[Any]
    back: NDArray[np.int64]
    weight: NDArray[Any]

    @classmethod
    def of(
        cls, problem: Problem, received_hk: Array, distance_hn: Array, live_hq: Array
    ) -> Profile:
        """Means from the sums of a call; distances come in as key - query, ascending."""
        leading, dtype = problem.leading, problem.dtype
        return cls.of_sums(problem.visibility, leading, dtype, received_hk, distance_hn, live_hq)

    @classmethod
    def of_sums(
        cls,
        visibility: Visibility,
        leading: tuple[int, ...],
        dtype: np.dtype[Any],
        received_hk: Array,
        distance_hn: Array,
        live_hq: Array,
    ) -> Profile:
        """The same where the numbers lie elsewhere than in a Problem."""
        live_h = np.maximum(live_hq.sum(axis=1), 1)
        first_h = received_hk[:, :1].sum(axis=1) / live_h
        low = visibility.offset - (visibility.keys - 1)
        back = np.arange(low, low + distance_hn.shape[1])
        weight_hn = distance_hn[:, ::-1] / live_h[:, None]
        return cls(
            first_h.astype(dtype).reshape(leading),
            back,
            weight_hn.astype(dtype).reshape(*leading, len(back)),
        )

    @property
    def device_bytes(self) -> int:
        """0: nothing is on a device."""
        return 0

    def resolve(self) -> Profile:
        """This profile, which is on the host already."""
        return self

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
        shares = []
        for near, far in bands_between(int(self.back[0]), int(self.back[-1])):
            inside = (self.back >= min(near, far)) & (self.back <= max(near, far))
            shares.append((near, far, self.weight[..., inside].sum(axis=-1)))
        return shares
