"""The simplest explanation of all answers: right, one mistake, two at once, or none with a name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from regard.checker.calling import Answer, Calling, ask
from regard.checker.candidates import Features
from regard.checker.cases import FRAMES, PROBES, SAME, Case, Probe, Sizes
from regard.checker.compare import ODD, agrees, kinds_of, roughly, rounded
from regard.checker.mistakes import BY_NAME, Mistake, pairs, single
from regard.checker.mistakes.entry import combined
from regard.textbook.stages import SPECIFICATION, Stages

Named = tuple[tuple[Mistake, ...], Stages]


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

    def explained_by(self, plan: Stages) -> bool:
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


FOR_PAIRS = 8


RIGHTLY: Named = ((), SPECIFICATION)


def explained(
    function: Callable[..., Any], layouts: list[Candidate], features: Features
) -> tuple[Candidate, Named | None]:
    """Right in any layout; else one mistake; else two; else nothing that has a name."""
    candidates: list[Candidate] = []
    partly: list[Candidate] = []
    for layout in layouts:
        for candidate in _questioned(function, layout.calling, features):
            if not candidate.explained_by(SPECIFICATION):
                candidates.append(candidate)
            elif candidate.refused:
                partly.append(candidate)
            else:
                return _or_inverted((candidate, RIGHTLY), candidates)
    # Shapes of masks that end in exceptions leave less to explain: the most answers come first.
    candidates.sort(key=lambda c: (c.calling.always, c.kinds[0] == ODD, len(c.refused)))
    if partly:
        right = min(partly, key=lambda c: len(c.refused))
        fuller = [c for c in candidates if c.refused < right.refused]
        found = simplest(fuller, ((single(), len(fuller)),)) or (right, RIGHTLY)
        return _or_inverted(found, candidates)
    if any(ODD not in c.kinds for c in candidates):
        candidates = [c for c in candidates if ODD not in c.kinds]
    candidates = [c for c in candidates if not any(_says_more(other, c) for other in candidates)]
    simple = (
        simplest(candidates, ((single(), len(candidates)),))
        or _in_half(candidates)
        or simplest(candidates, ((pairs(), FOR_PAIRS),))
    )
    return _or_inverted(simple, candidates) if simple else ((candidates or layouts)[0], None)


def _questioned(
    function: Callable[..., Any], calling: Calling, features: Features
) -> Iterator[Candidate]:
    """Every variant of a calling that is answered, without asking anything twice."""
    known: dict[tuple[str, str], Candidate | None] = {}
    settled: dict[str, str] = {}  # the first shape of masks that a form is understood in
    for variant in features.variants(calling):
        form = f"{variant.mask_form} {variant.pad_form}"
        if settled.get(form, variant.mask_shape) != variant.mask_shape:
            continue
        key = (form, variant.mask_shape)
        if key not in known:
            known[key] = question(function, variant, features)
        candidate = known[key]
        if candidate is not None:
            if candidate.understood():
                settled[form] = variant.mask_shape
            yield candidate.read_as(variant)


def _says_more(one: Candidate, other: Candidate) -> bool:
    """The same axes, and an answer where the other ends in an exception."""
    return one.calling.layout == other.calling.layout and one.refused < other.refused


def simplest(
    candidates: list[Candidate], plans: tuple[tuple[list[Named], int], ...]
) -> tuple[Candidate, Named] | None:
    """The first explanation, looked for among the first so many candidates."""
    for some, most in plans:
        for candidate in islice(candidates, most):
            named = candidate.explanation(some)
            if named is not None:
                return candidate, named
    return None


def _in_half(candidates: list[Candidate]) -> tuple[Candidate, Named] | None:
    """Right to three digits and no more, wherever scores are moderate."""
    half = BY_NAME["statistics in half precision"]
    for candidate in candidates:
        if candidate.roughly_right():
            return candidate, ((half,), half.plans[0])
    return None


def _or_inverted(
    found: tuple[Candidate, Named], others: list[Candidate]
) -> tuple[Candidate, Named]:
    """A function that adds a float mask rightly may still read a bool mask the wrong way round."""
    (candidate, (mistakes, plan)), inverted = found, BY_NAME["boolean mask inverted"]
    if candidate.calling.mask_form == "bool":
        return found
    both = [combined(plan, turned) for turned in inverted.plans]
    plans: list[Named] = [((*mistakes, inverted), one) for one in both if one is not None]
    same = [c for c in others if c.calling.layout == candidate.calling.layout]
    by_bool = [c for c in same if c.calling.mask_form == "bool" and not c.refused]
    return simplest(by_bool, ((plans, len(by_bool)),)) or found
