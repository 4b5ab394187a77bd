"""Properties of any attention, each tested on the smallest input that could show a fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from regard.checker.cases import PROBES, Case, Probe, draw
from regard.checker.check_report import FAIL, PASS, SKIPPED, Finding
from regard.checker.compare import Gap, largest_gap, plain_run, tolerance
from regard.checker.frameworks import EPSILONS
from regard.checker.harness import Harness
from regard.typing import Array


def values_of(harness: Harness, name: str, probes: list[Probe]) -> Finding:
    """Property: values equal to those of the specification on all these probes."""
    calls = 0
    for probe in probes:
        for case in harness.cases(probe):
            result = harness.call_seen(case, probe)
            calls += result is not None
            gap = (
                None
                if result is None
                else _first_gap(harness, result, harness.expected(case), case)
            )
            if gap is not None:
                what = f"{probe.name}: {gap.kind} is wrong" if gap.index else gap.kind
                return failing(name, what, gap, case)
    if not calls:
        return Finding(name, SKIPPED, "the function has no argument for it")
    return Finding(name, PASS, f"{calls} inputs")


def rows_sum_to_one(harness: Harness) -> Finding:
    """Property: rows of weights, or the output where every value is 1, sum to one."""
    name = "rows sum to one"
    by_weights = "weights" in harness.kinds
    if not by_weights and harness.convention.roles.form != "qkv":
        return Finding(name, SKIPPED, "it returns no weights")
    for case in harness.cases(PROBES[0]):
        ones = case if by_weights else replace(case, value=np.ones_like(case.value))
        result = harness.call(ones)
        if result is None:
            continue
        computed = result["weights"].sum(axis=-1) if by_weights else _output(result)
        kind = "row sum of weights" if by_weights else "output"
        gap = largest_gap(computed, np.ones_like(computed), kind, _allowed(harness, ones, computed))
        if gap is not None:
            what = "a row of weights" if by_weights else "with every value 1 the output is not 1"
            return failing(name, what, gap, ones)
    return Finding(name, PASS, "weights" if by_weights else "with every value 1 the output is 1")


def causality(harness: Harness) -> Finding:
    """Property: another last word changes nothing for the words before it."""
    name, convention = "causality", harness.convention
    if not (convention.always or convention.roles.has("causal")) or convention.roles.form != "qkv":
        return Finding(name, SKIPPED, "it is not causal")
    probe = Probe(name, (), lambda sizes: replace(draw(sizes), causal=True))
    for case in harness.cases(probe):
        if case.query.shape[2] != case.key.shape[2] or case.key.shape[2] < 2:
            continue
        key, value = case.key.copy(), case.value.copy()
        key[:, :, -1] += 1
        value[:, :, -1] += 1
        gap = _moved(harness, case, replace(case, key=key, value=value), "tokens")
        if gap is not None:
            return failing(name, "changed with the last word", gap, case)
    return Finding(name, PASS, "another last word changes nothing before it")


def batch_independence(harness: Harness) -> Finding:
    """Property: another second sentence changes nothing for the first."""
    name = "batch independence"
    if not harness.convention.batched:
        return Finding(name, SKIPPED, "it takes one sentence")
    for case in harness.cases(PROBES[0]):
        if case.query.shape[0] < 2:
            continue
        gap = _moved(harness, case, _other_sentence(case), "sentences")
        if gap is not None:
            return failing(name, "the first sentence changed with the second", gap, case)
    return Finding(name, PASS, "another second sentence changes nothing for the first")


def permutation_of_keys(harness: Harness) -> Finding:
    """Property: keys and values in another order give the same output."""
    name, convention = "permutation of keys", harness.convention
    ordered = convention.always or bool(convention.position) or convention.roles.has("slopes")
    if ordered or convention.roles.form != "qkv" or "output" not in harness.kinds:
        return Finding(name, SKIPPED, "order matters to it" if ordered else "no q, k, v")
    for case in harness.cases(PROBES[0]):
        turned = replace(case, key=case.key[:, :, ::-1], value=case.value[:, :, ::-1])
        one, other = harness.call(case), harness.call(turned)
        if one is None or other is None or not case.key.shape[2] > 1:
            continue
        allowed = _allowed(harness, case, one["output"])
        gap = largest_gap(other["output"], one["output"], "output", allowed)
        if gap is not None:
            return failing(name, "with the keys in reverse order", gap, case)
    return Finding(name, PASS, "in reverse order the output is the same")


def precision(harness: Harness, right: bool) -> Finding:
    """Property: an error near that of a plain computation in the same dtype, against float64."""
    name, dtype = "precision", harness.convention.dtype
    if not right:
        return Finding(name, SKIPPED, "the values are wrong already")
    worst, compared = 0.0, False
    for case in harness.cases(PROBES[0]):
        result = harness.call(case)
        if result is None or "output" not in result or case.key.shape[2] < 4:
            continue
        exact = harness.expected(case)["output"]
        plain = harness.convention.expected(plain_run(case, dtype))["output"]
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
    worse = "; it seems to compute in float32" if dtype == "float64" and worst > 1e5 else ""
    detail = f"{worst:.2g} times the error of a plain computation in {dtype}{worse}"
    # float32 inside is accepted for float64; within a narrower dtype a hundredfold error is not.
    return Finding(name, FAIL if dtype != "float64" and worst > 100 else PASS, detail)


def failing(name: str, detail: str, gap: Gap, case: Case) -> Finding:
    """The finding of a property that does not hold, with its numbers and its input."""
    if not gap.index:
        return Finding(name, FAIL, detail, input=_input(case))
    element = f"{gap.kind}[{', '.join(map(str, gap.index))}]"
    return Finding(name, FAIL, detail, gap.wrong, gap.right, element, _input(case))


def _input(case: Case) -> str:
    """The input as text: its sizes, and all numbers where they are few."""
    if case.query.size + case.key.size + case.value.size > 16 or case.x is not None:
        return case.sizes.text
    shown = (f"{x} {_row(getattr(case, x))}" for x in ("query", "key", "value"))
    return f"{case.sizes.text}; " + ", ".join(shown)


def _row(array: Array) -> str:
    return str(array[0, 0].tolist() if array.shape[:2] == (1, 1) else array.tolist())


def _first_gap(
    harness: Harness, result: dict[str, Array], expected: dict[str, Array], case: Case
) -> Gap | None:
    for kind, computed in result.items():
        exact = expected.get(kind, expected["output"])
        gap = largest_gap(computed, exact, kind, tolerance(case, harness.convention.dtype, exact))
        if gap is not None:
            return gap
    return None


def _moved(harness: Harness, case: Case, other: Case, along: str) -> Gap | None:
    """The largest change of the unchanged part; ``along`` is the axis that was changed."""
    one, two = harness.call(case), harness.call(other)
    if one is None or two is None or _output(one).shape != _output(two).shape:
        return None
    before, after = _output(one), _output(two)
    if along == "sentences":
        axis = harness.convention.layout.index("b")
        before, after = (np.take(array, [0], axis=axis) for array in (before, after))
    else:
        axis = _axis_of_queries(harness)
        before, after = (np.delete(array, -1, axis=axis) for array in (before, after))
    return largest_gap(after, before, "output", _allowed(harness, case, before))


def _axis_of_queries(harness: Harness) -> int:
    """The axis of queries in the first returned array."""
    kind = harness.kinds[0]
    if kind.startswith("weights"):
        return -2
    return 1 if kind.startswith("output, ") else harness.convention.layout.index("t")


def _other_sentence(case: Case) -> Case:
    changed: dict[str, Any] = {}
    for name in ("query", "key", "value", "x"):
        array = getattr(case, name)
        if array is not None:
            changed[name] = array.copy()
            changed[name][1:] = changed[name][1:] * 0.5 + 0.25
            if name == "x" and case.matrices and case.matrices[0].shape[0] == array.shape[-1]:
                changed[name][..., -1] = array[..., -1]
    return replace(case, **changed)


def _output(result: dict[str, Array]) -> Array:
    return next(iter(result.values()))


def _allowed(harness: Harness, case: Case, array: Array) -> float:
    return tolerance(case, harness.convention.dtype, array)
