"""The simplest explanation of all results: right, one mistake, two at once, or none with a name."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from regard.checker.candidates import Features
from regard.checker.cases import FRAMES, PROBES, SAME, Case, Probe, Sizes
from regard.checker.compare import ODD, agrees, kinds_of, roughly, rounded
from regard.checker.convention import CallingConvention, CallResult, call_function
from regard.checker.mistakes import BY_NAME, Mistake, pairs, single
from regard.checker.mistakes.entry import combined
from regard.textbook.stages import SPECIFICATION, Stages

Explanation = tuple[tuple[Mistake, ...], Stages]

CORRECT: Explanation = ((), SPECIFICATION)
CANDIDATES_FOR_PAIRS = 8  # two mistakes at once are many combinations: only these are tried


@dataclass(frozen=True)
class Trial:
    """One call: the probe, its input in one calling convention, and the result."""

    probe: Probe
    sizes: Sizes
    case: Case
    result: CallResult


@dataclass(frozen=True)
class Candidate:
    """A calling convention that gives results, its trials, and the kind of each result."""

    convention: CallingConvention
    trials: tuple[Trial, ...]
    kinds: tuple[str, ...]

    @property
    def successful(self) -> list[Trial]:
        """The trials that did not end in an exception."""
        return [trial for trial in self.trials if not trial.result.error]

    @property
    def refused(self) -> frozenset[str]:
        """The probes that ended in an exception at every size."""
        probes = {trial.probe.name for trial in self.trials}
        return frozenset(probes - {trial.probe.name for trial in self.successful})

    def explained_by(self, stages: Stages) -> bool:
        """Whether these stages give every result."""
        return bool(self.successful) and all(
            agrees(stages, self.convention, trial.case, trial.result.arrays, self.kinds)
            for trial in self.successful
            if len(trial.result.arrays) == len(self.kinds)
        )

    def roughly_right(self) -> bool:
        """Whether every result from moderate scores is right to the digits of 16 bits."""
        moderate = [trial for trial in self.successful if "large" not in trial.probe.name]
        return bool(moderate) and all(
            roughly(self.convention, trial.case, trial.result.arrays, self.kinds)
            for trial in moderate
        )

    def understood(self) -> bool:
        """Whether nothing was refused and every result has the kinds of the first."""
        return not self.refused and all(
            kinds_of(self.convention, trial.case, trial.result.shapes) == self.kinds
            for trial in self.successful
            if trial.sizes != SAME
        )

    def read_as(self, convention: CallingConvention) -> "Candidate":
        """The same results under a convention that differs in meaning alone: same arguments."""
        if convention == self.convention:
            return self
        cases = [convention.fit(trial.probe.build(trial.sizes)) for trial in self.trials]
        trials = tuple(
            replace(trial, case=rounded(case, convention.dtype))
            for trial, case in zip(self.trials, cases, strict=True)
            if case is not None
        )
        return replace(self, convention=convention, trials=trials)

    def explanation(self, explanations: list[Explanation]) -> Explanation | None:
        """The first of these explanations whose stages give every result."""
        return next((one for one in explanations if self.explained_by(one[1])), None)


def run_trial(
    function: Callable[..., Any], convention: CallingConvention, probe: Probe, sizes: Sizes
) -> Trial | None:
    """One trial; None where this convention cannot express the probe."""
    case = convention.fit(probe.build(sizes))
    if case is None:
        return None
    case = rounded(case, convention.dtype)
    return Trial(probe, sizes, case, call_function(function, convention, case))


def run_trials(
    function: Callable[..., Any], convention: CallingConvention, features: Features
) -> Candidate | None:
    """The trials of every probe that the features cover; None where all end in exceptions."""
    probes = [probe for probe in PROBES if features.covers(probe, convention)]
    trials: list[Trial] = []
    for probe in probes:
        for trial in _trials_of(function, convention, probe):
            trials.append(trial)
            if not trial.result.error and not probe.everywhere:
                break
    first = next((trial for trial in trials if not trial.result.error), None)
    if first is None:
        return None
    kinds = kinds_of(convention, first.case, first.result.shapes)
    return Candidate(convention, tuple(trials), kinds)


def _trials_of(
    function: Callable[..., Any], convention: CallingConvention, probe: Probe
) -> Iterator[Trial]:
    for sizes in FRAMES:
        trial = run_trial(function, convention, probe, sizes)
        if trial is not None:
            yield trial


def working_layouts(
    function: Callable[..., Any], conventions: list[CallingConvention]
) -> tuple[list[Candidate], list[tuple[CallingConvention, str]]]:
    """The conventions that give any plain result, and the errors of the others."""
    plain = PROBES[0]
    working, refused = [], []
    for convention in conventions:
        trials = tuple(_trials_of(function, convention, plain))
        successful = [trial for trial in trials if not trial.result.error]
        if successful:
            kinds = kinds_of(convention, successful[0].case, successful[0].result.shapes)
            working.append(Candidate(convention, trials, kinds))
        elif trials:
            refused.append((convention, trials[0].result.error))
    # Where only as many words as features fit, the axes were probably misread.
    working.sort(key=lambda c: all(trial.sizes == SAME for trial in c.successful))
    return working, refused


def with_groups(
    function: Callable[..., Any], candidate: Candidate, explanation: Explanation
) -> Explanation | None:
    """The explanation with grouped heads, repeated rightly or tiled; None where neither fits."""
    probe = next(probe for probe in PROBES if probe.name == "grouped heads")
    trials = _trials_of(function, candidate.convention, probe)
    trial = next((trial for trial in trials if not trial.result.error), None)
    if trial is None:
        return None
    alone = replace(candidate, trials=(trial,))
    mistakes, stages = explanation
    tiled = BY_NAME["grouped heads tiled instead of interleaved"]
    both = combined(stages, tiled.variants[0])
    explanations = [explanation] + ([((*mistakes, tiled), both)] if both is not None else [])
    return alone.explanation(explanations)


def explain(
    function: Callable[..., Any], layouts: list[Candidate], features: Features
) -> tuple[Candidate, Explanation | None]:
    """The simplest explanation: right in any layout, else one mistake, else two, else None."""
    candidates: list[Candidate] = []
    partly: list[Candidate] = []
    for layout in layouts:
        for candidate in _variant_candidates(function, layout.convention, features):
            if not candidate.explained_by(SPECIFICATION):
                candidates.append(candidate)
            elif candidate.refused:
                partly.append(candidate)
            else:
                return _or_inverted((candidate, CORRECT), candidates)
    # Shapes of masks that end in exceptions leave less to explain: the most results come first.
    candidates.sort(key=lambda c: (c.convention.always, c.kinds[0] == ODD, len(c.refused)))
    if partly:
        right = min(partly, key=lambda c: len(c.refused))
        fuller = [c for c in candidates if c.refused < right.refused]
        return _or_inverted(simplest(fuller, single()) or (right, CORRECT), candidates)
    if any(ODD not in c.kinds for c in candidates):
        candidates = [c for c in candidates if ODD not in c.kinds]
    candidates = [c for c in candidates if not any(_covers_more(other, c) for other in candidates)]
    simple = (
        simplest(candidates, single())
        or _in_half(candidates)
        or simplest(candidates, pairs(), CANDIDATES_FOR_PAIRS)
    )
    return _or_inverted(simple, candidates) if simple else ((candidates or layouts)[0], None)


def _variant_candidates(
    function: Callable[..., Any], convention: CallingConvention, features: Features
) -> Iterator[Candidate]:
    """Every variant of a convention that gives results; equal calls are made once."""
    cache: dict[tuple[str, str], Candidate | None] = {}
    understood: dict[str, str] = {}  # the first shape of masks that a form is understood in
    for variant in features.variants(convention):
        form = f"{variant.mask_form} {variant.pad_form}"
        if understood.get(form, variant.mask_shape) != variant.mask_shape:
            continue
        key = (form, variant.mask_shape)
        if key not in cache:
            cache[key] = run_trials(function, variant, features)
        candidate = cache[key]
        if candidate is not None:
            if candidate.understood():
                understood[form] = variant.mask_shape
            yield candidate.read_as(variant)


def _covers_more(one: Candidate, other: Candidate) -> bool:
    """Whether one has the axes of the other, and a result where that ends in an exception."""
    return one.convention.layout == other.convention.layout and one.refused < other.refused


def simplest(
    candidates: list[Candidate], explanations: list[Explanation], most: int | None = None
) -> tuple[Candidate, Explanation] | None:
    """The first candidate, of the first ``most``, that one of these explains."""
    for candidate in islice(candidates, most):
        explanation = candidate.explanation(explanations)
        if explanation is not None:
            return candidate, explanation
    return None


def _in_half(candidates: list[Candidate]) -> tuple[Candidate, Explanation] | None:
    """The first candidate that is right to three digits and no more where scores are moderate."""
    half = BY_NAME["statistics in half precision"]
    for candidate in candidates:
        if candidate.roughly_right():
            return candidate, ((half,), half.variants[0])
    return None


def _or_inverted(
    explained: tuple[Candidate, Explanation], others: list[Candidate]
) -> tuple[Candidate, Explanation]:
    """The same, or an inverted bool mask: a float mask added rightly does not exclude one."""
    (candidate, (mistakes, stages)), inverted = explained, BY_NAME["boolean mask inverted"]
    if candidate.convention.mask_form == "bool":
        return explained
    both = [combined(stages, variant) for variant in inverted.variants]
    explanations: list[Explanation] = [
        ((*mistakes, inverted), one) for one in both if one is not None
    ]
    same = [c for c in others if c.convention.layout == candidate.convention.layout]
    by_bool = [c for c in same if c.convention.mask_form == "bool" and not c.refused]
    return simplest(by_bool, explanations) or explained
