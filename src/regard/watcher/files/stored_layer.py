"""Facts, profile, query and key of one layer of a file, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from regard.engine.call import Problem, Requested, blocks
from regard.engine.observation import FactsLike
from regard.engine.observe import observe_problem
from regard.engine.profile import Profile
from regard.typing import Array
from regard.watcher.files.packed_arrays import StoredArrays

DERIVED = 2**24  # pairs of a query and a key up to which a map is computed from query and key
RTOL, ATOL = 1e-4, 1e-9  # a device sums in another order


class StoredFacts(FactsLike):
    """Facts by name; ``in_memory`` they are arrays once they are read, else they stay in the file.

    ``derived`` are facts that the file does not hold: their shapes, and functions that make them.
    """

    def __init__(
        self,
        arrays: StoredArrays,
        names: Mapping[str, str],
        in_memory: bool,
        derived: Mapping[str, tuple[tuple[int, ...], Callable[[], Array]]],
    ) -> None:
        self._arrays, self._names, self._in_memory = arrays, dict(names), in_memory
        self._derived = dict(derived)
        self._read: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._read:
            if name in self._derived:
                self._read[name] = self._derived[name][1]()
            else:
                stored = self._arrays[self._names[name]]
                self._read[name] = np.asarray(stored) if self._in_memory else stored
        array: Array = self._read[name]
        return array

    @property
    def on_device(self) -> bool:
        """False: they are in a file."""
        return False

    @property
    def device_bytes(self) -> int:
        """0: nothing is on a device."""
        return 0

    def fact_shape(self, name: str) -> tuple[int, ...]:
        """The shape of a fact, which is not read."""
        if name in self._derived:
            return self._derived[name][0]
        return self._arrays.shape_of(self._names[name])

    def tensor(self, name: str) -> Array:
        """The fact."""
        return self[name]

    def without(self, name: str) -> StoredFacts:
        """All facts but one."""
        names = {other: x for other, x in self._names.items() if other != name}
        derived = {other: x for other, x in self._derived.items() if other != name}
        return StoredFacts(self._arrays, names, self._in_memory, derived)

    def __contains__(self, name: object) -> bool:
        return name in self._names or name in self._derived

    def __iter__(self) -> Iterator[str]:
        return iter([*self._names, *self._derived])

    def __len__(self) -> int:
        return len(self._names) + len(self._derived)


class StoredProfile:
    """A profile that ``make`` reads when it is first resolved."""

    def __init__(self, make: Callable[[], Profile]) -> None:
        self._make = make

    @property
    def device_bytes(self) -> int:
        """0: nothing is on a device."""
        return 0

    @cached_property
    def _profile(self) -> Profile:
        return self._make()

    def resolve(self) -> Profile:
        """The profile, read once."""
        return self._profile


class StoredProblem:
    """A problem that ``make`` reads when anything of it is first used."""

    def __init__(self, make: Callable[[], Problem]) -> None:
        self._make = make

    @cached_property
    def _problem(self) -> Problem:
        return self._make()

    def on_host(self) -> Problem:
        """The problem in memory, or with its query and key in the file."""
        return self._problem

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._problem, name)


def derived_map(problem: Problem, shape: tuple[int, ...]) -> Array:
    """The map (..., r, c) of a problem in memory, with so many blocks."""
    requested = Requested(False, True, 0, max(shape[-2:]), True, True)
    return np.asarray(observe_problem(problem, requested).facts["map"]).reshape(shape)


def is_derived(map_hrc: Array, problem: Problem, edges: tuple[Any, Any]) -> bool:
    """Whether a map is that of ``derived_map``, so that a file with query and key can do without.

    ``edges`` are those of its blocks; a map that grew has blocks of several sizes.
    """
    visibility, shape = problem.visibility, map_hrc.shape
    sizes = visibility.queries, visibility.keys
    if sizes[0] * sizes[1] > DERIVED or 0 in shape or callable(visibility.mask):
        return False
    for axis, size in enumerate(sizes):
        regular = blocks(size, max(shape[-2:]))
        given = edges[axis]
        if len(regular) - 1 != shape[axis - 2]:
            return False
        if given is not None and not np.array_equal(regular, given - given[0]):
            return False
    return np.allclose(derived_map(problem, shape), map_hrc, rtol=RTOL, atol=ATOL)
