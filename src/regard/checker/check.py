"""regard.check: a function asked what attention must answer, and the first wrong step named."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from regard.checker.calling import ask
from regard.checker.candidates import Features, Ways, merged, read_features, say, ways_to_call
from regard.checker.cases import PROBES
from regard.checker.check_report import FAIL, PASS, RIGHT, UNKNOWN, WRONG, Finding, Report
from regard.checker.compare import ODD, differ, tolerance
from regard.checker.explanation import (
    RIGHTLY,
    Candidate,
    Named,
    explained,
    layouts_that_answer,
    with_groups,
)
from regard.checker.frameworks import DTYPES
from regard.checker.harness import Bench
from regard.checker.mistakes import single
from regard.checker.properties import (
    batch_independence,
    causality,
    permutation_of_keys,
    precision,
    rows_sum_to_one,
    values_of,
)
from regard.errors import ArgumentError, count
from regard.textbook.stages import SPECIFICATION, run

DIFFER = "results that differ between two calls"


CHANGED = "inputs changed in place"


NO_MAXIMUM = "no maximum subtracted"


def settle(
    function: Callable[..., Any], name: str, layouts: list[Candidate], features: Features
) -> Report:
    """The report on a function that answers in these layouts."""
    repeated = _repeats(function, layouts[0])
    if repeated.status == FAIL:
        called = say(layouts[0].calling, name)
        return Report(name, WRONG, (DIFFER,), called, (repeated,))
    candidate, named = explained(function, layouts, features)
    grouped = named and candidate.calling.headed and with_groups(function, candidate, named)
    if grouped:
        named, features = grouped, Features(features.claims | {"grouped heads"})
    unchanged = _unchanged(candidate)
    bench = Bench(function, candidate.calling, candidate.kinds, features)
    overflows = _overflow(candidate)
    mistakes = tuple(mistake.name for mistake in named[0]) if named else ()
    mistakes += (NO_MAXIMUM,) if overflows and NO_MAXIMUM not in mistakes else ()
    findings = (
        *_properties(bench),
        *overflows,
        precision(bench, named == RIGHTLY),
        repeated,
        unchanged,
    )
    if unchanged.status == FAIL:
        mistakes = (*mistakes, CHANGED)
    wrong = named is None or bool(mistakes) or any(f.status == FAIL for f in findings)
    return Report(
        function=name,
        verdict=WRONG if wrong else RIGHT,
        mistakes=mistakes,
        called=_called(candidate, name),
        findings=findings,
        notes=tuple(_notes(candidate, layouts, named)),
    )


def _properties(bench: Bench) -> Iterator[Finding]:
    special = ("large scores", "empty rows")
    usual = [p for p in PROBES if not any(x in p.name or x in p.needs for x in special)]
    yield values_of(bench, "values", [p for p in usual if p.name != "grouped heads"])
    yield rows_sum_to_one(bench)
    yield causality(bench)
    yield batch_independence(bench)
    yield permutation_of_keys(bench)
    yield values_of(bench, "large scores", [p for p in PROBES if "large scores" in p.name])
    yield values_of(bench, "empty rows", [p for p in PROBES if "empty rows" in p.needs])
    yield values_of(bench, "grouped heads", [p for p in PROBES if p.name == "grouped heads"])


def _repeats(function: Callable[..., Any], candidate: Candidate) -> Finding:
    """Three calls with the same input; what differs by rounding alone is the same."""
    name = "determinism"
    asked = candidate.answered[0]
    exact = candidate.calling.expected(run(SPECIFICATION, asked.case))["output"]
    allowed = tolerance(asked.case, candidate.calling.dtype, exact)
    for _ in range(3):
        again = ask(function, candidate.calling, asked.case)
        for one, other in zip(asked.answer.arrays, again.arrays, strict=False):
            if one.shape != other.shape or differ(other, one, allowed).any():
                return Finding(name, FAIL, "the same input gave another result",
                               input=asked.case.sizes.text)  # fmt: skip
    return Finding(name, PASS, "four calls, one result")


def _overflow(candidate: Candidate) -> tuple[Finding, ...]:
    """math.exp ends in an exception where np.exp gives infinity: the same mistake."""
    for asked in candidate.asked:
        if "large" in asked.probe.name and asked.answer.error.startswith("OverflowError"):
            detail = f"{asked.probe.name}: {asked.answer.error}"
            return (Finding("overflow", FAIL, detail, input=asked.case.sizes.text),)
    return ()


def _unchanged(candidate: Candidate) -> Finding:
    for asked in candidate.answered:
        if asked.answer.changed:
            names = ", ".join(asked.answer.changed)
            detail = f"{names} had other numbers after the call"
            return Finding("inputs unchanged", FAIL, detail, input=asked.case.sizes.text)
    return Finding("inputs unchanged", PASS, count(len(candidate.answered), "call"))


def _called(candidate: Candidate, name: str) -> str:
    answer = candidate.answered[0].answer
    parts = (
        f"{'something' if kind == ODD else kind} {shape}"
        for kind, shape in zip(candidate.kinds, answer.shapes, strict=True)
    )
    return f"{say(candidate.calling, name)}; it returned {', '.join(parts)}"


def _notes(candidate: Candidate, layouts: list[Candidate], named: Named | None) -> Iterator[str]:
    calling = candidate.calling
    if calling.always:
        yield "It always hides later words (causal)."
    causal = calling.always or calling.roles.has("causal")
    cross = any(a.case.causal and a.sizes.q != a.sizes.k for a in candidate.answered)
    if causal and cross and not calling.roles.has("offset"):
        corner = "last words (bottom right)" if calling.last else "first words (top left)"
        yield f"With fewer queries than keys its causal mask takes the queries for the {corner}."
    if named is not None and not named[0]:
        yield from _elsewhere(candidate, layouts)
    if candidate.refused:
        yield f"It ended in an exception for: {', '.join(sorted(candidate.refused))}."


def _elsewhere(candidate: Candidate, layouts: list[Candidate]) -> Iterator[str]:
    """Right here, but something else with more axes."""
    for other in layouts:
        if len(other.calling.layout) > len(candidate.calling.layout):
            named = other.explanation([((), SPECIFICATION), *single()])
            if named is None or named[0]:
                what = named[0][0].name if named else "not attention"
                yield f"Called with axes {other.calling.layout} it answers too, but: {what}."


def check(
    function: Callable[..., Any],
    *,
    signature: str = "auto",
    features: str | Iterable[str] = "auto",
    dtype: str = "auto",
) -> Report:
    """Find the first wrong step of someone's attention.

    Parameters
    ----------
    function : of (q, k, v), (q, k, v, mask), (x, w_q, w_k, w_v) or x
        A function or a PyTorch module; NumPy, PyTorch or JAX arrays; any usual order of axes.
    signature : "q k v", "q k v mask", "x w_q w_k w_v" or "x", with or without "as bthd"
    features : what cannot be told from its parameters, such as ("causal",) or ("no empty rows",)
    dtype : float64, float32, float16 or bfloat16; the widest that the function takes unless given

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
    try:
        ways = ways_to_call(function, signature, dtype)
    except ArgumentError as error:
        return Report(name, UNKNOWN, tried=(str(error),))
    return _settled(name, ways, merged(claims, ways))


def _settled(name: str, ways: Ways, features: Features) -> Report:
    """The verdict in the first library and dtype that answers, or what was tried."""
    tried: dict[str, str] = {}
    for callings in ways.groups():
        found, refused = layouts_that_answer(ways.function, callings)
        if found:
            return settle(ways.function, name, found, features)
        for calling, why in refused:  # the same error in another dtype says nothing new
            tried.setdefault(f"{calling.library} {calling.layout} {why}", say(calling, name))
    reasons = (f"{way}: {key.split(' ', 2)[2]}" for key, way in tried.items())
    return Report(name, UNKNOWN, tried=tuple(reasons))
