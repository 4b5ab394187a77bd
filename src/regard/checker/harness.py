"""A function and the way of calling it that was settled on, to be asked anything."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from regard.checker.calling import Calling, ask
from regard.checker.candidates import Features
from regard.checker.cases import FRAMES, Case, Probe, Sizes
from regard.checker.compare import rounded
from regard.textbook.stages import SPECIFICATION, run
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
class Bench:
    """A function and the way of calling it that was settled on."""

    function: Callable[..., Any]
    calling: Calling
    kinds: tuple[str, ...]
    features: Features

    def answer(self, case: Case) -> dict[str, Array] | None:
        """What comes back by kind; None where it cannot be asked or answered."""
        answer = ask(self.function, self.calling, case)
        if answer.error or len(answer.arrays) != len(self.kinds):
            return None
        return dict(zip(self.kinds, answer.arrays, strict=True))

    def cases(self, probe: Probe) -> Iterator[Case]:
        """The probe's inputs, the smallest first."""
        for sizes in ASCENDING:
            case = self.calling.fit(probe.build(sizes)) if self._possible(probe, sizes) else None
            if case is not None:
                yield rounded(case, self.calling.dtype)

    def _possible(self, probe: Probe, sizes: Sizes) -> bool:
        return self.features.covers(probe, self.calling) and (not probe.needs or sizes.k > 1)

    def expected(self, case: Case) -> dict[str, Array]:
        """What should come back, by kind."""
        return self.calling.expected(run(SPECIFICATION, case))
