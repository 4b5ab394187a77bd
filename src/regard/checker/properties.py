"""Properties of any attention, each tested on the smallest inputs first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regard.checker.calls import Candidate
from regard.checker.cases import PROBES, Case, Probe, draw
from regard.checker.compare import UNKNOWN_KIND, Gap, largest_gap, plain_run, tolerance
from regard.checker.conventions import EPSILONS
from regard.checker.report import FAIL, PASS, SKIPPED, Finding
from regard.typing import Array

MAX_NUMBERS_SHOWN = 16
MAX_ERROR_RATIO = 100.0  # times the error of a plain computation in the same dtype
MIN_FLOAT32_RATIO = 1e5  # in float64: from here on it was computed in float32


def matches_specification(candidate: Candidate, name: str, probes: list[Probe]) -> Finding:
    """Property: values equal to those of the specification on all these probes."""
    calls = 0
    for probe in probes:
        for case in candidate.cases(probe):
            result = candidate.returned_for(probe, case)
            calls += result is not None
            gap = None if result is None else _first_gap(candidate, result, case)
            if gap is not None:
                what = f"{probe.name}: {gap.kind} is wrong" if gap.index else gap.kind
                return failed_finding(name, what, gap, case)
    if not calls:
        return Finding(name, SKIPPED, "the function has no argument for it")
    return Finding(name, PASS, f"{calls} inputs")


def rows_sum_to_one(candidate: Candidate) -> Finding:
    """Property: rows of weights, or the output where every value is 1, sum to one."""
    name = "rows sum to one"
    by_weights = "weights" in candidate.kinds
    if not by_weights and candidate.convention.roles.form != "qkv":
        return Finding(name, SKIPPED, "it returns no weights")
    for case in candidate.cases(PROBES[0]):
        ones = case if by_weights else replace(case, value=np.ones_like(case.value))
        result = candidate.returned(ones)
        if result is None:
            continue
        computed = result["weights"].sum(axis=-1) if by_weights else _first_array(result)
        kind = "row sum of weights" if by_weights else "output"
        gap = largest_gap(
            computed, np.ones_like(computed), kind, _tolerance(candidate, ones, computed)
        )
        if gap is not None:
            what = "a row of weights" if by_weights else "with every value 1 the output is not 1"
            return failed_finding(name, what, gap, ones)
    return Finding(name, PASS, "weights" if by_weights else "with every value 1 the output is 1")


def causality(candidate: Candidate) -> Finding:
    """Property: another last word changes nothing for the words before it."""
    name, convention = "causality", candidate.convention
    if (
        not (convention.always_causal or convention.roles.has("causal"))
        or convention.roles.form != "qkv"
    ):
        causal = convention.always_causal
        return Finding(name, SKIPPED, "no q, k, v" if causal else "it is not causal")
    probe = Probe(name, (), lambda sizes: replace(draw(sizes), causal=True))
    for case in candidate.cases(probe):
        if case.query.shape[2] != case.key.shape[2] or case.key.shape[2] < 2:
            continue
        key, value = case.key.copy(), case.value.copy()
        key[:, :, -1] += 1
        value[:, :, -1] += 1
        gap = _change_elsewhere(candidate, case, replace(case, key=key, value=value), "tokens")
        if gap is not None:
            return failed_finding(name, "changed with the last word", gap, case)
    return Finding(name, PASS, "another last word changes nothing before it")


def batch_independence(candidate: Candidate) -> Finding:
    """Property: another second sentence changes nothing for the first."""
    name = "batch independence"
    if not candidate.convention.batched:
        return Finding(name, SKIPPED, "it takes one sentence")
    for case in candidate.cases(PROBES[0]):
        if case.query.shape[0] < 2:
            continue
        gap = _change_elsewhere(candidate, case, _other_sentence(case), "sentences")
        if gap is not None:
            return failed_finding(name, "the first sentence changed with the second", gap, case)
    return Finding(name, PASS, "another second sentence changes nothing for the first")


def permutation_of_keys(candidate: Candidate) -> Finding:
    """Property: keys and values in another order give the same output."""
    name, convention = "permutation of keys", candidate.convention
    placed = bool(convention.position) or convention.roles.has("slopes")
    ordered = convention.always_causal or placed
    if ordered or convention.roles.form != "qkv" or "output" not in candidate.kinds:
        return Finding(name, SKIPPED, "order matters to it" if ordered else "no q, k, v")
    for case in candidate.cases(PROBES[0]):
        turned = replace(case, key=case.key[:, :, ::-1], value=case.value[:, :, ::-1])
        one, other = candidate.returned(case), candidate.returned(turned)
        if one is None or other is None or not case.key.shape[2] > 1:
            continue
        allowed = _tolerance(candidate, case, one["output"])
        gap = largest_gap(other["output"], one["output"], "output", allowed)
        if gap is not None:
            return failed_finding(name, "with the keys in reverse order", gap, case)
    return Finding(name, PASS, "in reverse order the output is the same")


def precision(candidate: Candidate, right: bool) -> Finding:
    """Property: an error near that of a plain computation in the same dtype, against float64."""
    name, dtype = "precision", candidate.convention.dtype
    if not right:
        return Finding(name, SKIPPED, "its values are not compared, or wrong")
    worst, compared = 0.0, False
    for case in candidate.cases(PROBES[0]):
        result = candidate.returned(case)
        if result is None or "output" not in result or case.key.shape[2] < 4:
            continue
        exact = candidate.expected(case)["output"]
        plain = candidate.convention.expected(plain_run(case, dtype))["output"]
        if result["output"].shape != exact.shape:
            continue
        compared = True
        floor = EPSILONS[dtype] * max(1.0, float(np.abs(exact).max()))
        error = float(np.abs(result["output"] - exact).max())
        worst = max(worst, error / (float(np.abs(plain - exact).max()) + floor))
    if not compared:
        return Finding(name, SKIPPED, "there is no output to compare")
    if worst == 0.0:
        return Finding(name, PASS, f"exact to the last digit of {dtype}")
    worse = (
        "; it seems to compute in float32"
        if dtype == "float64" and worst > MIN_FLOAT32_RATIO
        else ""
    )
    detail = f"{worst:.2g} times the error of a plain computation in {dtype}{worse}"
    # float32 inside is accepted for float64; within a narrower dtype a hundredfold error is not.
    failed = dtype != "float64" and worst > MAX_ERROR_RATIO
    return Finding(name, FAIL if failed else PASS, detail)


def failed_finding(name: str, detail: str, gap: Gap, case: Case) -> Finding:
    """The finding of a property that does not hold, with its numbers and its input."""
    if not gap.index:
        return Finding(name, FAIL, detail, input=_input(case))
    return Finding(name, FAIL, detail, gap.wrong, gap.right, gap.element, _input(case))


def _input(case: Case) -> str:
    """The input as text: its sizes, and all of its numbers where there are few."""
    numbers = case.query.size + case.key.size + case.value.size
    if numbers > MAX_NUMBERS_SHOWN or case.sources:
        return case.sizes.text
    shown = (f"{x} {_row(getattr(case, x))}" for x in ("query", "key", "value"))
    return f"{case.sizes.text}; " + ", ".join(shown)


def _row(array: Array) -> str:
    return str(array[0, 0].tolist() if array.shape[:2] == (1, 1) else array.tolist())


def _first_gap(candidate: Candidate, result: dict[str, Array], case: Case) -> Gap | None:
    expected = candidate.expected(case)
    for kind, computed in result.items():
        if kind == UNKNOWN_KIND and len(result) > 1:
            continue  # something that comes back beside the output, such as a cache
        exact = expected.get(kind, expected["output"])
        gap = largest_gap(computed, exact, kind, tolerance(case, candidate.convention.dtype, exact))
        if gap is not None:
            return gap
    return None


def _change_elsewhere(candidate: Candidate, case: Case, other: Case, along: str) -> Gap | None:
    """The largest change of what should stay equal; ``along`` is the axis that was changed."""
    one, two = candidate.returned(case), candidate.returned(other)
    if one is None or two is None or _first_array(one).shape != _first_array(two).shape:
        return None
    before, after = _first_array(one), _first_array(two)
    if along == "sentences":
        axis = candidate.convention.axis("b")
        before, after = (np.take(array, [0], axis=axis) for array in (before, after))
    else:
        axis = _query_axis(candidate)
        before, after = (np.delete(array, -1, axis=axis) for array in (before, after))
    return largest_gap(after, before, "output", _tolerance(candidate, case, before))


def _query_axis(candidate: Candidate) -> int:
    """The axis of queries in the first returned array."""
    kind = candidate.kinds[0]
    if kind.startswith("weights"):
        return -2
    return 1 if kind.startswith("output, ") else candidate.convention.axis("t")


def _other_sentence(case: Case) -> Case:
    def other(array: Array) -> Array:
        changed = array.copy()
        changed[1:] = changed[1:] * 0.5 + 0.25
        return changed

    query, key, value = map(other, (case.query, case.key, case.value))
    sources = tuple(map(other, case.sources))
    return replace(case, query=query, key=key, value=value, sources=sources)


def _first_array(result: dict[str, Array]) -> Array:
    return next(iter(result.values()))


def _tolerance(candidate: Candidate, case: Case, array: Array) -> float:
    return tolerance(case, candidate.convention.dtype, array)
