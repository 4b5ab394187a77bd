"""Ask a function every question it can be asked, and look for the plan that gives its answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from regard.check.ask import Answer, ask
from regard.check.calling import Calling
from regard.check.case import Case, Sizes
from regard.check.compare import agrees, kinds_of, roughly, rounded
from regard.check.features import Features
from regard.check.mistakes import BY_NAME, Mistake
from regard.check.mistakes.entry import combined
from regard.check.plan import Plan
from regard.check.probes import FRAMES, PROBES, SAME, Probe

Named = tuple[tuple[Mistake, ...], Plan]


@dataclass(frozen=True)
class Asked:
    """One question, put in one way, and its answer."""

    probe: Probe
    sizes: Sizes
    case: Case
    answer: Answer


@dataclass(frozen=True)
class Candidate:
    """A way of calling that gives answers, and what they are."""

    calling: Calling
    asked: tuple[Asked, ...]
    kinds: tuple[str, ...]

    @property
    def answered(self) -> list[Asked]:
        """The questions that did not end in an exception."""
        return [asked for asked in self.asked if not asked.answer.error]

    @property
    def refused(self) -> frozenset[str]:
        """The probes that ended in an exception at every size."""
        asked = {a.probe.name for a in self.asked}
        return frozenset(asked - {a.probe.name for a in self.answered})

    def explained_by(self, plan: Plan) -> bool:
        """Whether this plan gives every answer."""
        return bool(self.answered) and all(
            agrees(plan, self.calling, asked.case, asked.answer.arrays, self.kinds)
            for asked in self.answered
            if len(asked.answer.arrays) == len(self.kinds)
        )

    def roughly_right(self) -> bool:
        """Whether every answer to moderate scores is right to the digits of 16 bits."""
        moderate = [a for a in self.answered if "large" not in a.probe.name]
        return bool(moderate) and all(
            roughly(self.calling, a.case, a.answer.arrays, self.kinds) for a in moderate
        )

    def understood(self) -> bool:
        """Whether nothing was refused and every answer has the shapes of the first."""
        return not self.refused and all(
            kinds_of(self.calling, a.case, a.answer.shapes) == self.kinds
            for a in self.answered
            if a.sizes != SAME
        )

    def read_as(self, calling: Calling) -> "Candidate":
        """The same answers, taken for those of another meaning: what goes in is the same."""
        if calling == self.calling:
            return self
        cases = [calling.fit(a.probe.build(a.sizes)) for a in self.asked]
        asked = tuple(
            replace(a, case=rounded(case, calling.dtype))
            for a, case in zip(self.asked, cases, strict=True)
            if case is not None
        )
        return replace(self, calling=calling, asked=asked)

    def explanation(self, plans: list[Named]) -> Named | None:
        """The first of these plans that gives every answer."""
        return next((named for named in plans if self.explained_by(named[1])), None)


def put(function: Callable[..., Any], calling: Calling, probe: Probe, sizes: Sizes) -> Asked | None:
    """Ask one question; None where this way of calling cannot."""
    case = calling.fit(probe.build(sizes))
    if case is None:
        return None
    case = rounded(case, calling.dtype)
    return Asked(probe, sizes, case, ask(function, calling, case))


def question(
    function: Callable[..., Any], calling: Calling, features: Features
) -> Candidate | None:
    """Ask everything that the function claims to know; None where it answers nothing."""
    probes = [probe for probe in PROBES if features.covers(probe, calling)]
    asked: list[Asked] = []
    for probe in probes:
        for found in _answers(function, calling, probe):
            asked.append(found)
            if not found.answer.error and not probe.everywhere:
                break
    first = next((a for a in asked if not a.answer.error), None)
    if first is None:
        return None
    kinds = kinds_of(calling, first.case, first.answer.shapes)
    return Candidate(calling, tuple(asked), kinds)


def _answers(function: Callable[..., Any], calling: Calling, probe: Probe) -> Iterator[Asked]:
    for sizes in FRAMES:
        found = put(function, calling, probe, sizes)
        if found is not None:
            yield found


def layouts_that_answer(
    function: Callable[..., Any], callings: list[Calling]
) -> tuple[list[Candidate], list[tuple[Calling, str]]]:
    """The ways of calling that give any plain answer, and why the others do not."""
    plain = PROBES[0]
    found, refused = [], []
    for calling in callings:
        asked = tuple(_answers(function, calling, plain))
        answered = [a for a in asked if not a.answer.error]
        if answered:
            kinds = kinds_of(calling, answered[0].case, answered[0].answer.shapes)
            found.append(Candidate(calling, asked, kinds))
        elif asked:
            refused.append((calling, asked[0].answer.error))
    # Where only as many words as features fit, the axes were probably misread.
    found.sort(key=lambda c: all(a.sizes == SAME for a in c.answered))
    return found, refused


def with_groups(function: Callable[..., Any], candidate: Candidate, named: Named) -> Named | None:
    """Whether grouped heads are understood too: by the plan as it is, or tiled; None: neither."""
    probe = next(probe for probe in PROBES if probe.name == "grouped heads")
    asked = next((a for a in _answers(function, candidate.calling, probe)
                  if not a.answer.error), None)  # fmt: skip
    if asked is None:
        return None
    alone = replace(candidate, asked=(asked,))
    tiled = BY_NAME["grouped heads tiled instead of interleaved"]
    both = combined(named[1], tiled.plans[0])
    plans = [named] + ([((*named[0], tiled), both)] if both is not None else [])
    return alone.explanation(plans)
