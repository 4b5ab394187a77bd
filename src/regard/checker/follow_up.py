"""Questions after the explanation: rows that see nothing, masks that hide, the first departure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from regard.checker.calls import call_function
from regard.checker.candidates import Features
from regard.checker.cases import PROBES
from regard.checker.check_report import Departure
from regard.checker.compare import (
    Reference,
    agrees,
    differ,
    empty_elements,
    exact_trace,
    largest_gap,
    rounded,
    tolerance,
)
from regard.checker.explanation import CORRECT, Verdict
from regard.checker.mistakes import OF_FEATURES
from regard.checker.mistakes.entry import run_stages
from regard.checker.trials import Candidate, Explanation, run_trials
from regard.textbook.stages import SPECIFICATION
from regard.typing import Array

GIVES_NAN = "a row that may see nothing gives NaN"
GIVES_UNIFORM = "a row that may see nothing gives a uniform row"
INVERTED = "boolean mask inverted"


def empty_row_caveats(candidate: Candidate, explanation: Explanation | None) -> tuple[str, ...]:
    """What a function gives a row that may see nothing, where it is not zeros.

    A mistake of the mask itself leaves nothing to say about such rows.
    """
    if explanation is None or any(m.name in OF_FEATURES or m.unnamed for m in explanation[0]):
        return ()
    caveats = []
    for trial in candidate.successful:
        result = run_stages(explanation[1], trial.case)
        empty = empty_elements(Reference(result), candidate.convention)
        expected = candidate.convention.expected(result)
        for kind, array in zip(candidate.kinds, trial.result.arrays, strict=False):
            if kind not in empty or array.shape != expected[kind].shape:
                continue
            exact = expected[kind]
            allowed = tolerance(trial.case, candidate.convention.dtype, exact)
            if (differ(array, exact, allowed) & empty[kind]).any():
                gives_nan = np.isnan(array[empty[kind]]).any()
                caveats.append(GIVES_NAN if gives_nan else GIVES_UNIFORM)
    return tuple(dict.fromkeys(caveats))


def accept_hiding(function: Callable[..., Any], verdict: Verdict, features: Features) -> Verdict:
    """A mask of numbers that is multiplied by a large negative one: 1 is meant to hide.

    What tells such arithmetic from an inverted mask is how it takes other numbers than 0 and 1:
    1e-30 hides nothing, and 2 hides as 1 does.
    """
    explanation = verdict.explanation
    if explanation is None or [m.name for m in explanation[0]] != [INVERTED]:
        return verdict
    convention = replace(verdict.candidate.convention, mask_form="ones hide")
    claims = Features(features.claims | {"mask hides"})
    candidate = run_trials(function, convention, claims)
    if candidate is None or not candidate.explained_by(SPECIFICATION):
        return verdict
    if not _is_arithmetic(function, candidate):
        return verdict
    return Verdict(candidate, CORRECT, missing=candidate.unanswered(claims))


def _is_arithmetic(function: Callable[..., Any], candidate: Candidate) -> bool:
    probe = next(probe for probe in PROBES if probe.name == "mask")
    trials = [t for t in candidate.successful if t.probe.name == probe.name]
    convention = candidate.convention
    if not trials:
        return False
    trial = trials[0]

    def gives(number: float, mask: Array | None) -> bool:
        def scaled(*arrays: Any, **options: Any) -> Any:
            name = convention.roles.names["mask"]
            return function(*arrays, **(options | {name: options[name] * number}))

        if "mask" in convention.roles.leading:
            return False
        result = call_function(scaled, convention, trial.case)
        case = rounded(replace(trial.case, mask=mask), convention.dtype)
        return not result.error and agrees(
            SPECIFICATION, convention, case, result.arrays, candidate.kinds
        )

    return gives(1e-30, None) and gives(2.0, trial.case.mask)


def unchanged_input(candidate: Candidate) -> str:
    """The name of a function that gives back its value or its query as it went in."""
    trials = [trial for trial in candidate.plain if trial.result.shapes]
    for role in ("value", "query", "x"):
        arrays = [candidate.convention.arrays(trial.case).get(role) for trial in trials]
        if trials and all(
            array is not None
            and trial.result.arrays[0].shape == array.shape
            and not differ(trial.result.arrays[0], array, 1e-6).any()
            for trial, array in zip(trials, arrays, strict=True)
        ):
            return f"{'query' if role == 'x' else role} returned unchanged"
    return ""


def first_departure(candidate: Candidate) -> Departure | None:
    """The first question whose result is not the right one, and its largest difference."""
    for trial in candidate.judged:
        expected = candidate.convention.expected(exact_trace(trial.case))
        for kind, array in zip(candidate.kinds, trial.result.arrays, strict=False):
            exact = expected.get(kind)
            if exact is None:
                continue
            allowed = tolerance(trial.case, candidate.convention.dtype, exact)
            gap = largest_gap(array, exact, kind, allowed)
            if gap is not None and gap.index:
                element = f"{gap.kind}[{', '.join(map(str, gap.index))}]"
                return Departure(trial.probe.name, element, gap.wrong, gap.right)
    return None
