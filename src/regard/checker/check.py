"""regard.check: the verdict on a function that should be attention, and its first wrong step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from regard.checker.calls import call_function
from regard.checker.candidates import (
    Features,
    PreparedFunction,
    describe,
    merged,
    prepare,
    read_features,
)
from regard.checker.cases import PROBES, seeded
from regard.checker.check_report import (
    FAIL,
    PASS,
    RIGHT,
    UNKNOWN,
    UNLESS_EMPTY,
    WRONG,
    Finding,
    Report,
)
from regard.checker.compare import ODD, differ, exact_trace, tolerance
from regard.checker.explanation import CORRECT, LIKELY, NAMELESS, Verdict, explain, with_groups
from regard.checker.follow_up import (
    INVERTED,
    accept_hiding,
    empty_row_caveats,
    first_departure,
    unchanged_input,
)
from regard.checker.frameworks import DTYPES
from regard.checker.harness import Harness
from regard.checker.mistakes import single
from regard.checker.properties import (
    batch_independence,
    causality,
    permutation_of_keys,
    precision,
    rows_sum_to_one,
    values_of,
)
from regard.checker.trials import Candidate, Explanation, working_layouts
from regard.errors import ArgumentError, count

DIFFER = "results that differ between two calls"
CHANGED = "inputs changed in place"
NO_MAXIMUM = "no maximum subtracted"


def judge(
    prepared: PreparedFunction, name: str, layouts: list[Candidate], features: Features
) -> Report:
    """The report on a function that gives results in these layouts."""
    function = prepared.function
    repeated = _repeats(function, layouts[0])
    if repeated.status == FAIL:
        called = describe(layouts[0].convention, name)
        return Report(name, WRONG, (DIFFER,), called, (repeated,), confidence="certain")
    unchanged_name = unchanged_input(layouts[0])
    if unchanged_name:
        called = describe(layouts[0].convention, name)
        return Report(
            name, WRONG, (unchanged_name,), called, (_same_as_input(layouts[0]),),
            confidence="certain",
        )  # fmt: skip
    verdict = accept_hiding(function, explain(function, layouts, features), features)
    if verdict.explanation == CORRECT and verdict.missing:
        return _unanswered(name, verdict, prepared)
    candidate, explanation = verdict.candidate, verdict.explanation
    grouped = (
        explanation
        and candidate.convention.headed
        and with_groups(function, candidate, explanation)
    )
    if grouped:
        explanation, features = grouped, Features(features.claims | {"grouped heads"})
    harness = Harness(function, candidate.convention, candidate.kinds, features)
    overflows = _overflow(candidate)
    unchanged = _unchanged(candidate)
    findings = (
        *_properties(harness),
        *overflows,
        precision(harness, explanation == CORRECT),
        repeated,
        unchanged,
    )
    mistakes = tuple(mistake.name for mistake in explanation[0]) if explanation else ()
    mistakes += (NO_MAXIMUM,) if overflows and NO_MAXIMUM not in mistakes else ()
    mistakes += (CHANGED,) if unchanged.status == FAIL else ()
    caveats = empty_row_caveats(candidate, explanation)
    failed = [f for f in findings if f.status == FAIL and not (caveats and f.name == "empty rows")]
    wrong = explanation is None or bool(mistakes) or bool(failed)
    return Report(
        function=name,
        verdict=WRONG if wrong else UNLESS_EMPTY if caveats else RIGHT,
        mistakes=mistakes,
        called=_called(candidate, name),
        findings=findings,
        notes=(*prepared.notes, *_notes(candidate, layouts, explanation)),
        confidence=_confidence(verdict, mistakes, wrong),
        others=verdict.others,
        caveats=caveats,
        departure=first_departure(candidate) if wrong else None,
    )


def _confidence(verdict: Verdict, mistakes: tuple[str, ...], wrong: bool) -> str:
    """The confidence; a mask in which True is meant to hide gives what an inverted one gives."""
    if wrong and not mistakes:
        return NAMELESS
    return LIKELY if INVERTED in mistakes else verdict.confidence


def _same_as_input(candidate: Candidate) -> Finding:
    sizes = candidate.successful[0].case.sizes.text
    return Finding("values", FAIL, "what came back is what went in", input=sizes)


def _unanswered(name: str, verdict: Verdict, prepared: PreparedFunction) -> Report:
    """The report on a function that is right, but whose features were never answered."""
    candidate = verdict.candidate
    names = ", ".join(sorted(verdict.missing))
    errors = {
        trial.result.error
        for trial in candidate.trials
        if trial.result.error and set(trial.probe.needs) & verdict.missing
    }
    why = (
        f"where it gave a result it is right, but no question about its {names} got one: "
        f"{'; '.join(sorted(errors)) or 'the calls gave nothing'}. Say what it takes with "
        f"signature and features, or leave it out with features=('no {min(verdict.missing)}',)."
    )
    return Report(
        name, UNKNOWN, called=_called(candidate, name), notes=prepared.notes, tried=(why,)
    )


def _properties(harness: Harness) -> Iterator[Finding]:
    special = ("large scores", "empty rows")
    usual = [p for p in PROBES if not any(x in p.name or x in p.needs for x in special)]
    yield values_of(harness, "values", [p for p in usual if p.name != "grouped heads"])
    yield rows_sum_to_one(harness)
    yield causality(harness)
    yield batch_independence(harness)
    yield permutation_of_keys(harness)
    yield values_of(harness, "large scores", [p for p in PROBES if "large scores" in p.name])
    yield values_of(harness, "empty rows", [p for p in PROBES if p.is_about_empty_rows])
    yield values_of(harness, "grouped heads", [p for p in PROBES if p.name == "grouped heads"])


def _repeats(function: Callable[..., Any], candidate: Candidate) -> Finding:
    """Determinism: three more calls with the same input, equal but for rounding."""
    name = "determinism"
    trial = candidate.successful[0]
    exact = candidate.convention.expected(exact_trace(trial.case))["output"]
    allowed = tolerance(trial.case, candidate.convention.dtype, exact)
    for _ in range(3):
        again = call_function(function, candidate.convention, trial.case)
        for one, other in zip(trial.result.arrays, again.arrays, strict=False):
            if one.shape != other.shape or differ(other, one, allowed).any():
                return Finding(
                    name, FAIL, "the same input gave another result", input=trial.case.sizes.text
                )
    return Finding(name, PASS, "four calls, one result")


def _overflow(candidate: Candidate) -> tuple[Finding, ...]:
    """A finding where large scores end in OverflowError: math.exp raises, np.exp gives inf."""
    for trial in candidate.trials:
        if "large" in trial.probe.name and trial.result.error.startswith("OverflowError"):
            detail = f"{trial.probe.name}: {trial.result.error}"
            return (Finding("overflow", FAIL, detail, input=trial.case.sizes.text),)
    return ()


def _unchanged(candidate: Candidate) -> Finding:
    for trial in candidate.successful:
        if trial.result.changed:
            names = ", ".join(trial.result.changed)
            detail = f"{names} had other numbers after the call"
            return Finding("inputs unchanged", FAIL, detail, input=trial.case.sizes.text)
    return Finding("inputs unchanged", PASS, count(len(candidate.successful), "call"))


def _called(candidate: Candidate, name: str) -> str:
    result = candidate.successful[0].result
    parts = (
        f"{'something' if kind == ODD else kind} {shape}"
        for kind, shape in zip(candidate.kinds, result.shapes, strict=True)
    )
    return f"{describe(candidate.convention, name)}; it returned {', '.join(parts)}"


def _notes(
    candidate: Candidate, layouts: list[Candidate], explanation: Explanation | None
) -> Iterator[str]:
    convention = candidate.convention
    if convention.always:
        yield "It always hides later words (causal)."
    causal = convention.always or convention.roles.has("causal")
    cross = any(t.case.causal and t.sizes.q != t.sizes.k for t in candidate.successful)
    if causal and cross and not convention.roles.has("offset"):
        corner = "last words (bottom right)" if convention.last else "first words (top left)"
        yield f"With fewer queries than keys its causal mask takes the queries for the {corner}."
    if explanation is not None and not explanation[0]:
        yield from _elsewhere(candidate, layouts)
    if candidate.refused:
        yield f"It ended in an exception for: {', '.join(sorted(candidate.refused))}."


def _elsewhere(candidate: Candidate, layouts: list[Candidate]) -> Iterator[str]:
    """Notes on layouts with more axes, in which a right function is something else."""
    for other in layouts:
        if len(other.convention.layout) > len(candidate.convention.layout):
            explanation = other.explanation([CORRECT, *single()])
            if explanation is None or explanation[0]:
                what = explanation[0][0].name if explanation else "not attention"
                yield f"Called with axes {other.convention.layout} it answers too, but: {what}."


def check(
    function: Callable[..., Any],
    *,
    signature: str = "auto",
    features: str | Iterable[str] = "auto",
    dtype: str = "auto",
    strict: bool = False,
    seed: int = 0,
) -> Report:
    """Check a function that should be attention, and name its first wrong step.

    Parameters
    ----------
    function : of (q, k, v), (q, k, v, mask), (x, w_q, w_k, w_v) or x
        A function or a PyTorch module; NumPy, PyTorch or JAX arrays; any usual order of axes.
    signature : "q k v", "q k v mask", "x w_q w_k w_v" or "x", with or without "as bthd"
    features : what cannot be told from its parameters, such as ("causal",) or ("no empty rows",)
    dtype : float64, float32, float16 or bfloat16; the widest that the function takes unless given
    strict : whether a row that may see nothing has to give zeros
    seed : of the random numbers; the same for everybody unless given, such as a student's number

    Examples
    --------
    >>> import numpy as np
    >>> def attention(q, k, v):
    ...     scores = q @ k.swapaxes(-1, -2)
    ...     e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    ...     return e / e.sum(axis=-1, keepdims=True) @ v
    >>> check(attention).mistakes
    ('no scaling',)
    """
    if dtype not in ("auto", *DTYPES):
        raise ArgumentError(f"dtype needs one of {', '.join(DTYPES)}, but it is {dtype!r}.")
    name = str(getattr(function, "__name__", type(function).__name__))
    claims = read_features(features)
    if seed < 0:
        raise ArgumentError(f"seed needs to be 0 or more, but it is {seed}.")
    try:
        prepared = prepare(function, signature, dtype)
    except ArgumentError as error:
        return Report(name, UNKNOWN, tried=(str(error),))
    with seeded(seed):
        report = _first_verdict(name, prepared, merged(claims, prepared))
    return report.strictly() if strict else report


def _first_verdict(name: str, prepared: PreparedFunction, features: Features) -> Report:
    """The verdict in the first library and dtype that gives results, or what was tried."""
    tried: dict[str, str] = {}
    for conventions in prepared.groups():
        working, refused = working_layouts(prepared.function, conventions)
        if working:
            return judge(prepared, name, working, features)
        for convention, why in refused:  # the same error in another dtype says nothing new
            tried.setdefault(
                f"{convention.library} {convention.layout} {why}", describe(convention, name)
            )
    reasons = (f"{description}: {key.split(' ', 2)[2]}" for key, description in tried.items())
    return Report(name, UNKNOWN, tried=tuple(reasons))
