"""Trials of a function: every question in one calling convention, and what came back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from regard.checker.calls import CallResult, call_function
from regard.checker.candidates import Features
from regard.checker.cases import FRAMES, PROBES, SAME, Case, Probe, Sizes
from regard.checker.compare import ODD, agrees, kinds_of, roughly, rounded
from regard.checker.convention import CallingConvention
from regard.checker.mask_forms import shapes_for
from regard.checker.mistakes import Mistake
from regard.textbook.stages import SPECIFICATION, Stages

Explanation = tuple[tuple[Mistake, ...], Stages]


@dataclass(frozen=True, eq=False)
class Trial:
    """One call: the probe, its input in one calling convention, and the result."""

    probe: Probe
    sizes: Sizes
    case: Case
    result: CallResult
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Candidate:
    """A calling convention that gives results, its trials, and the kind of each result."""

    convention: CallingConvention
    trials: tuple[Trial, ...]
    kinds: tuple[str, ...]

    @cached_property
    def successful(self) -> list[Trial]:
        """The trials that did not end in an exception."""
        return [trial for trial in self.trials if not trial.result.error]

    @cached_property
    def judged(self) -> list[Trial]:
        """The successful trials in which every row may see something."""
        return [trial for trial in self.successful if not trial.probe.is_about_empty_rows]

    @cached_property
    def plain(self) -> list[Trial]:
        """The successful trials without masks and other features."""
        return [trial for trial in self.successful if not trial.probe.needs]

    @property
    def refused(self) -> frozenset[str]:
        """The probes that ended in an exception at every size."""
        probes = {trial.probe.name for trial in self.trials}
        return frozenset(probes - {trial.probe.name for trial in self.successful})

    def unanswered(self, features: Features) -> frozenset[str]:
        """The features that have to be answered, and are not by any result of the usual kinds."""
        answered = {
            need
            for trial in self.successful
            if len(trial.result.arrays) == len(self.kinds) and self._usual(trial)
            for need in trial.probe.needs
        }
        return features.needed(self.convention) - answered

    def _usual(self, trial: Trial) -> bool:
        """Whether a result has the kinds of the first."""
        if trial.sizes == SAME or self.kinds[0] == ODD:
            return True
        return trial.kinds[0] == self.kinds[0]

    @property
    def regular(self) -> bool:
        """Whether it answers at other sizes than that with as many words as features."""
        return any(trial.sizes != SAME for trial in self.plain)

    def explains(self, stages: Stages, trials: list[Trial]) -> bool:
        """Whether these stages give the results of these trials."""
        return all(
            agrees(stages, self.convention, trial.case, trial.result.arrays, self.kinds)
            for trial in trials
        )

    def explained_by(self, stages: Stages) -> bool:
        """Whether these stages give every result."""
        if stages is SPECIFICATION:
            return bool(self.judged) and not self.departing
        return self.explains(stages, self.departing) and self.explains(stages, self.agreeing)

    @cached_property
    def plainly_right(self) -> bool:
        """Whether every result without masks and other features is right."""
        return bool(self.plain) and not any(trial in self.departing for trial in self.plain)

    @cached_property
    def departing(self) -> list[Trial]:
        """The trials whose results are not right."""
        return [trial for trial in self.judged if not self.explains(SPECIFICATION, [trial])]

    @cached_property
    def agreeing(self) -> list[Trial]:
        """The trials whose results are right."""
        return [trial for trial in self.judged if trial not in self.departing]

    def roughly_right(self) -> bool:
        """Whether every result from moderate scores is right to the digits of 16 bits."""
        moderate = [trial for trial in self.judged if "large" not in trial.probe.name]
        return bool(moderate) and all(
            roughly(self.convention, trial.case, trial.result.arrays, self.kinds)
            for trial in moderate
        )

    def understood(self, features: Features) -> bool:
        """Whether every feature is answered, with results of the usual kinds."""
        if self.kinds[0] == ODD or self.unanswered(features):
            return False
        return all(self._usual(trial) for trial in self.judged)

    def explanation(self, explanations: list[Explanation]) -> Explanation | None:
        """The first of these explanations whose stages give every result."""
        return next((one for one in explanations if self.explained_by(one[1])), None)


Calls = dict[tuple[str, ...], tuple[CallResult, tuple[str, ...]]]


def run_trial(
    function: Callable[..., Any],
    convention: CallingConvention,
    probe: Probe,
    sizes: Sizes,
    calls: Calls | None = None,
) -> Trial | None:
    """One trial; None where this convention cannot express the probe.

    ``calls`` holds earlier results in the same layout: what has no mask is called once.
    """
    case = convention.fit(probe.build(sizes))
    if case is None or ("cache" in probe.needs and not case.cached):
        return None
    case = rounded(case, convention.dtype)
    mask = f"{convention.mask_form} {convention.mask_shape}" if case.mask is not None else ""
    padding = convention.pad_form if case.lengths is not None else ""
    key = (probe.name, sizes.text, mask, padding)
    if calls is not None and key in calls:
        return Trial(probe, sizes, case, *calls[key])
    result = call_function(function, convention, case)
    kinds = () if result.error else kinds_of(convention, case, result.shapes)
    if calls is not None:
        calls[key] = (result, kinds)
    return Trial(probe, sizes, case, result, kinds)


def run_trials(
    function: Callable[..., Any],
    convention: CallingConvention,
    features: Features,
    calls: Calls | None = None,
    plain: bool = False,
) -> Candidate | None:
    """The trials of every probe that the features cover; None where all end in exceptions.

    ``plain``: only those without masks and other features.
    """
    probes = [probe for probe in PROBES if features.covers(probe, convention)]
    probes = [probe for probe in probes if not (plain and probe.needs)]
    trials: list[Trial] = []
    for probe in probes:
        for trial in trials_of(function, convention, probe, calls):
            trials.append(trial)
            if not trial.result.error and not probe.everywhere:
                break
    first = next((trial for trial in trials if not trial.result.error), None)
    return None if first is None else Candidate(convention, tuple(trials), first.kinds)


def trials_of(
    function: Callable[..., Any],
    convention: CallingConvention,
    probe: Probe,
    calls: Calls | None = None,
) -> Iterator[Trial]:
    for sizes in FRAMES:
        trial = run_trial(function, convention, probe, sizes, calls)
        if trial is not None:
            yield trial


def working_layouts(
    function: Callable[..., Any], conventions: list[CallingConvention]
) -> tuple[list[Candidate], list[tuple[CallingConvention, str]]]:
    """The conventions that give any plain result, and the errors of the others."""
    working, refused = [], []
    for convention in conventions:
        candidates = [_plain_trials(function, one) for one in _forms_of_mask(convention)]
        answering = [c for c in candidates if c.successful]
        if answering:
            usual = [c for c in answering if c.kinds[0] != ODD]
            working.append((usual or answering)[0])
        elif candidates[0].trials:
            refused.append((convention, candidates[0].trials[0].result.error))
    # Where only as many words as features fit, the axes were probably misread.
    working.sort(key=lambda c: not c.regular)
    return working, refused


def _forms_of_mask(convention: CallingConvention) -> list[CallingConvention]:
    """The convention, or one for each form and shape of a mask that has to be given."""
    if "mask" not in convention.roles.required:
        return [convention]
    forms = ("added",) if convention.roles.added else ("bool", "added")
    shapes = shapes_for(convention.batched, convention.headed)
    return [
        replace(convention, mask_form=form, mask_shape=shape) for shape in shapes for form in forms
    ]


def _plain_trials(function: Callable[..., Any], convention: CallingConvention) -> Candidate:
    trials = tuple(trials_of(function, convention, PROBES[0]))
    kinds = next((trial.kinds for trial in trials if not trial.result.error), ())
    return Candidate(convention, trials, kinds)
