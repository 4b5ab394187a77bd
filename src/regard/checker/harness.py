"""The harness of a check: a function with its calling convention, called with any case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.checker.calls import call_function
from regard.checker.candidates import Features
from regard.checker.cases import FRAMES, Case, Probe, Sizes
from regard.checker.compare import empty_elements, exact_reference, exact_trace, rounded
from regard.checker.convention import CallingConvention
from regard.typing import Array

SMALL = (
    Sizes(1, 1, 1, 1, 1, 1),
    Sizes(1, 1, 1, 2, 1, 1),
    Sizes(1, 1, 2, 2, 1, 1),
    Sizes(1, 1, 2, 2, 2, 2),
    Sizes(1, 1, 2, 3, 2, 2),
    Sizes(2, 1, 2, 2, 2, 2),
    Sizes(1, 2, 2, 2, 2, 2),
    Sizes(2, 2, 3, 3, 2, 2),
)
ASCENDING = (*SMALL, *FRAMES)


@dataclass(frozen=True)
class Harness:
    """A function, its calling convention, and the kinds of its results."""

    function: Callable[..., Any]
    convention: CallingConvention
    kinds: tuple[str, ...]
    features: Features

    def call(self, case: Case) -> dict[str, Array] | None:
        """The returned arrays by kind; None where the call ended in an exception."""
        result = call_function(self.function, self.convention, case)
        if result.error or len(result.arrays) != len(self.kinds):
            return None
        return dict(zip(self.kinds, result.arrays, strict=True))

    def cases(self, probe: Probe) -> Iterator[Case]:
        """The probe's inputs, the smallest first."""
        for sizes in ASCENDING:
            case = self.convention.fit(probe.build(sizes)) if self._possible(probe, sizes) else None
            if case is not None:
                yield rounded(case, self.convention.dtype)

    def _possible(self, probe: Probe, sizes: Sizes) -> bool:
        return self.features.covers(probe, self.convention) and (not probe.needs or sizes.k > 1)

    def expected(self, case: Case) -> dict[str, Array]:
        """The arrays of the specification, by kind."""
        return self.convention.expected(exact_trace(case))

    def call_seen(self, case: Case, probe: Probe) -> dict[str, Array] | None:
        """As ``call``; rows that may see nothing hold what is right, unless the probe asks."""
        arrays = self.call(case)
        if arrays is None or probe.is_about_empty_rows:
            return arrays
        empty = empty_elements(exact_reference(case), self.convention)
        exact = self.expected(case) if empty else {}
        return {
            kind: np.where(empty[kind], exact[kind], array)
            if kind in empty and array.shape == exact[kind].shape
            else array
            for kind, array in arrays.items()
        }
