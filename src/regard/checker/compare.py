"""Comparison of results: tolerances of a dtype, and the largest difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from regard.checker.cases import Case
from regard.checker.conventions import EPSILONS, CallingConvention
from regard.checker.mistakes.entry import changed, run_stages
from regard.textbook.stages import (
    SPECIFICATION,
    Stages,
    Trace,
    dot_products,
    scale_scores,
    softmax,
    weighted_sum,
)
from regard.typing import Array

UNKNOWN_KIND = "odd"  # of a returned array whose shape fits nothing
# A few kilobytes each: every mistake alone, on the cases of one function. Those of long inputs are
# megabytes, and only a few are kept.
MAX_CACHED_TRACES, MAX_LONG_TRACES = 4096, 4
MAX_SHORT_WEIGHTS = 2**14


@dataclass(frozen=True)
class Gap:
    """The largest difference of two arrays: its index and both numbers."""

    kind: str
    index: tuple[int, ...]
    wrong: float
    right: float

    @property
    def element(self) -> str:
        return f"{self.kind}[{', '.join(map(str, self.index))}]"


def result_kinds(
    convention: CallingConvention, case: Case, shapes: tuple[tuple[int, ...], ...]
) -> tuple[str, ...]:
    """The kind of each returned array, told by its shape."""
    expected = convention.expected(exact_trace(case))
    kinds: list[str] = []
    for shape in shapes:
        fitting = [x for x, array in expected.items() if array.shape == shape and x not in kinds]
        kinds.append(fitting[0] if fitting else UNKNOWN_KIND)
    return tuple(kinds)


def tolerance(case: Case, dtype: str, exact: Array) -> float:
    """The largest difference of two right computations.

    A score is a sum of d products, so it is off by some eps times its size, and so is the
    exponent of a weight: eps times (a few + the largest score). 16 bits leave so few digits that
    the bound would allow anything; there eight times the error of a plain computation is allowed.
    """
    size = _size(exact)
    largest = case.largest_score
    if dtype in ("float16", "bfloat16"):
        return EPSILONS[dtype] * size * (8 + 2 * min(largest, 8.0))
    return EPSILONS["float32"] * (64 + 16 * largest) * size


def differ(computed: Array, exact: Array, allowed: float) -> Array:
    """The elements in which two arrays of one shape differ; NaN equals NaN alone."""
    with np.errstate(invalid="ignore"):
        same = (computed == exact) | (np.abs(computed - exact) <= allowed)
    return np.asarray(~(same | (np.isnan(computed) & np.isnan(exact))))


def agrees(
    stages: Stages, convention: CallingConvention, case: Case, arrays: Any, kinds: tuple[str, ...]
) -> bool:
    """Whether everything that came back is what these stages give; unknown shapes are squeezed.

    Rows that may see nothing are left out: they are judged on their own.
    """
    reference = _reference(stages, working_dtype(convention.dtype), _CaseKey(case))
    if reference is None:
        return False
    result = reference.trace
    try:
        expected = convention.expected(result, kinds)
    except ValueError:  # this mistake cannot be made with these sizes
        return False
    if kinds and kinds[0] == UNKNOWN_KIND:
        possible = [result.output.squeeze(), result.weights.squeeze()]
        return any(_same(arrays[0].squeeze(), array, case, convention) for array in possible)
    empty = empty_elements(reference, convention)
    return len(arrays) == len(kinds) and all(
        kind == UNKNOWN_KIND
        or (kind in expected and _same(array, expected[kind], case, convention, empty.get(kind)))
        for array, kind in zip(arrays, kinds, strict=True)
    )


def empty_elements(reference: Reference, convention: CallingConvention) -> dict[str, Array]:
    """The elements of each kind that belong to rows which may see nothing; {} where none may."""
    if reference.empty_bhq is None:
        return {}
    result, hidden = reference.trace, np.where(reference.empty_bhq, np.nan, 0.0)
    marked = replace(
        result,
        output=np.zeros(result.output.shape) + hidden[..., None],
        weights=np.zeros(result.weights.shape) + hidden[..., None],
        logsumexp=hidden,
    )
    return {kind: np.isnan(array) for kind, array in convention.expected(marked).items()}


@dataclass(frozen=True)
class Reference:
    """What some stages give for a case."""

    trace: Trace

    @cached_property
    def empty_bhq(self) -> Array | None:
        """Which rows may see nothing; None where all may, or where nothing is known of rows."""
        result = self.trace
        if result.output.ndim != 4 or result.masked.ndim != 4:
            return None
        try:
            visible = np.broadcast_to(result.visible, result.masked.shape)
        except ValueError:  # the axes are in another order
            return None
        row_bhq = np.asarray(~visible.any(axis=-1))
        return row_bhq if row_bhq.any() and result.output.shape[:3] == row_bhq.shape else None


@dataclass(frozen=True)
class _CaseKey:
    """A case that can be looked up: by its numbers, since every call draws a new one."""

    case: Case

    def __hash__(self) -> int:
        return hash(self.case.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CaseKey) and self.case.digest == other.case.digest


def _reference(stages: Stages, dtype: Any, key: _CaseKey) -> Reference | None:
    """What these stages give, computed once; None where the sizes do not allow the mistake.

    Different readings of one function, and different functions, are asked the same cases.
    """
    (b, h, q, _), k = key.case.query.shape, key.case.key.shape[2]
    kept = _short_reference if b * h * q * k <= MAX_SHORT_WEIGHTS else _long_reference
    return kept(stages, dtype, key)


def _new_reference(stages: Stages, dtype: Any, key: _CaseKey) -> Reference | None:
    try:
        return Reference(run_stages(stages, key.case, dtype))
    except ValueError:
        return None


_short_reference = lru_cache(maxsize=MAX_CACHED_TRACES)(_new_reference)
_long_reference = lru_cache(maxsize=MAX_LONG_TRACES)(_new_reference)


def exact_reference(case: Case) -> Reference:
    """What the specification gives for a case in float64, computed once."""
    reference = _reference(SPECIFICATION, np.float64, _CaseKey(case))
    return reference or Reference(run_stages(SPECIFICATION, case))


def exact_trace(case: Case) -> Trace:
    """Every stage of the specification for a case in float64, computed once."""
    return exact_reference(case).trace


def agrees_roughly(
    convention: CallingConvention, case: Case, arrays: Any, kinds: tuple[str, ...]
) -> bool:
    """Whether everything that came back is right to 8 of the 11 binary digits of float16."""
    expected = convention.expected(exact_trace(case))
    if len(arrays) != len(kinds) or any(kind not in expected for kind in kinds):
        return False
    pairs = [(array, expected[kind]) for array, kind in zip(arrays, kinds, strict=True)]
    if any(computed.shape != exact.shape for computed, exact in pairs):
        return False
    return not any(differ(computed, exact, 2**-8 * _size(exact)).any() for computed, exact in pairs)


def largest_gap(computed: Array, exact: Array, kind: str, allowed: float) -> Gap | None:
    """The largest difference above what is allowed; None where there is none."""
    if computed.shape != exact.shape:
        return Gap(f"its shape is {computed.shape}, not {exact.shape}", (), np.nan, np.nan)
    wrong = differ(computed, exact, allowed)
    if not wrong.any():
        return None
    with np.errstate(invalid="ignore"):
        size = np.where(wrong, np.nan_to_num(np.abs(computed - exact), nan=np.inf), -1)
    index = np.unravel_index(int(size.argmax()), size.shape)
    return Gap(kind, tuple(int(i) for i in index), float(computed[index]), float(exact[index]))


def rounded(case: Case, dtype: str) -> Case:
    """The case with inputs that the dtype can hold, so that only the computation can be off."""
    if case.sources:
        return case
    query, key, value = (as_dtype(array, dtype) for array in (case.query, case.key, case.value))
    mask = case.mask
    if mask is not None and mask.dtype != bool:
        mask = as_dtype(mask, dtype)
    return replace(case, query=query, key=key, value=value, mask=mask)


def as_dtype(array: Array, dtype: str) -> Array:
    """Numbers as the dtype holds them, in float64.

    >>> as_dtype(np.array([0.1]), "bfloat16")
    array([0.10009766])
    """
    if dtype != "bfloat16":
        return array.astype(dtype).astype(np.float64)
    bits = array.astype(np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def working_dtype(dtype: str) -> Any:
    """The dtype that stages are computed in: kernels of 16 bits add up in 32, as is right."""
    return np.float32 if dtype in ("float16", "bfloat16") else dtype


def _same(
    computed: Array,
    exact: Array,
    case: Case,
    convention: CallingConvention,
    empty: Array | None = None,
) -> bool:
    if computed.shape != exact.shape:
        return False
    wrong = differ(computed, exact, tolerance(case, convention.dtype, exact))
    return not (wrong if empty is None else wrong & ~empty).any()


def _size(exact: Array) -> float:
    return max(1.0, float(np.abs(exact[np.isfinite(exact)]).max(initial=0)))


def plain_run(case: Case, dtype: str) -> Trace:
    """The result of plain code in a dtype.

    float32 and float64 are computed as they are. NumPy is slow or silent in 16 bits; there every
    stage is computed in float64 and rounded, as processors do that add up in a wider type.
    """
    if dtype in ("float32", "float64"):
        return run_stages(SPECIFICATION, case, dtype)

    def rounded_to(stage: Callable[..., Array]) -> Callable[..., Array]:
        return lambda *arguments: as_dtype(stage(*arguments), dtype)

    stages = changed(
        score=rounded_to(dot_products),
        scale=rounded_to(scale_scores),
        normalise=rounded_to(softmax),
        sum_values=rounded_to(weighted_sum),
    )
    return run_stages(stages, case)
