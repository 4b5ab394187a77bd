"""The operator suite for kernel authors: the error of each feature in each dtype, as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from regard.checker.calls import call_function, one_line, quietly
from regard.checker.candidates import Features, describe, merged, prepare
from regard.checker.cases import Case, Sizes, draw
from regard.checker.compare import differ, kinds_of, plain_run, rounded
from regard.checker.convention import CallingConvention
from regard.checker.explanation import explain
from regard.checker.gradients import expected_gradients, gradients_of
from regard.checker.operator_features import FEATURES, GRADIENTS, SEQUENCES, Feature
from regard.checker.packed_calls import PackedAttention
from regard.checker.trials import working_layouts
from regard.engine.tensors import to_float64, to_library
from regard.errors import ArgumentError, count
from regard.textbook.stages import SPECIFICATION, run
from regard.typing import Array

DTYPES = ("float32", "float16", "bfloat16")


PASS, FAIL, EXCEPTION, UNCLAIMED = "pass", "FAIL", "exception", "not claimed"


# A computation in the same dtype may be unlucky; one eight times as far off is not the same.
MOST = 8.0


@dataclass(frozen=True)
class SuiteCell:
    """One feature in one dtype: its error, and how many times that of a plain computation."""

    status: str
    error: float = 0.0
    ratio: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Suite:
    """A conformance table: features by dtypes."""

    function: str
    called: str
    rows: dict[str, dict[str, SuiteCell]]

    @property
    def status(self) -> int:
        """The exit status: 0 where nothing that is claimed fails, else 1."""
        return int(any(c.status == FAIL for row in self.rows.values() for c in row.values()))

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self) | {"status": self.status}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Suite:
        """The table that ``to_dict`` wrote."""
        rows = {
            name: {dtype: SuiteCell(**cell) for dtype, cell in row.items()}
            for name, row in fields["rows"].items()
        }
        return cls(fields["function"], fields["called"], rows)

    def markdown(self) -> str:
        """The table in Markdown; each number is a multiple of a plain computation's error."""
        dtypes = list(next(iter(self.rows.values())))
        lines = [f"| feature | {' | '.join(dtypes)} |", "|---" * (len(dtypes) + 1) + "|"]
        for name, row in self.rows.items():
            lines.append(f"| {name} | {' | '.join(_shown(row[d]) for d in dtypes)} |")
        cells = [cell for row in self.rows.values() for cell in row.values()]
        failed = sum(cell.status == FAIL for cell in cells)
        passed = sum(cell.status == PASS for cell in cells)
        rest = len(cells) - passed - failed
        summary = f"{count(passed, 'cell')} pass, {failed} fail, {rest} not claimed or refused."
        return "\n".join([f"Called as {self.called}.", "", *lines, "", summary])


def run_suite(function: Callable[..., Any], name: str = "") -> Suite:
    """The conformance table of a function: every feature in every dtype."""
    prepared = prepare(function, "auto", "float32")
    for conventions in prepared.groups():
        working, _ = working_layouts(prepared.function, conventions)
        if working:
            features = merged(Features(), prepared)
            convention = explain(prepared.function, working, features).candidate.convention
            return _suite(prepared.function, name, convention)
    raise ArgumentError(f"{name} could not be called with float32 arrays in any usual shape.")


def _suite(function: Callable[..., Any], name: str, convention: CallingConvention) -> Suite:
    rows = {
        feature.name: {dtype: _cell(function, convention, feature, dtype) for dtype in DTYPES}
        for feature in FEATURES
    }
    if isinstance(function, PackedAttention):
        rows |= _packed_rows(function, convention)
    return Suite(name, describe(convention, name.rpartition(":")[2]), rows)


def _cell(
    function: Callable[..., Any], convention: CallingConvention, feature: Feature, dtype: str
) -> SuiteCell:
    if not all(_is_claimed(convention, need) for need in feature.needs):
        return SuiteCell(UNCLAIMED)
    if "dropout" in feature.needs:  # given only where it is required
        roles = convention.roles
        roles = replace(roles, required=(*roles.required, "dropout"))
        convention = replace(convention, roles=roles)
    cells = [_tried(function, one, feature, dtype) for one in _corners(convention, feature)]
    best = next((cell for cell in cells if cell.status == PASS), cells[0])
    if len(cells) > 1 and best.status == PASS:
        return replace(best, note="top left" if best is cells[0] else "bottom right")
    return best


def _is_claimed(convention: CallingConvention, need: str) -> bool:
    return convention.roles.cached if need == "cache" else convention.roles.has(need)


def _corners(convention: CallingConvention, feature: Feature) -> list[CallingConvention]:
    """The convention, or both of its corners where there is no offset."""
    if feature.cornered and not convention.roles.has("offset"):
        return [replace(convention, last=False), replace(convention, last=True)]
    return [convention]


def _tried(
    function: Callable[..., Any], convention: CallingConvention, feature: Feature, dtype: str
) -> SuiteCell:
    convention = replace(convention, dtype=dtype, mask_form=feature.form or convention.mask_form)
    case = convention.fit(feature.build())
    if case is None or (dtype == "bfloat16" and convention.library == "numpy"):
        return SuiteCell(UNCLAIMED)
    case = rounded(case, dtype)
    if feature.kind == GRADIENTS:
        return _backward(function, convention, case)
    result = call_function(function, convention, case)
    if result.error:
        return SuiteCell(EXCEPTION, note=result.error)
    kinds = kinds_of(convention, case, result.shapes)
    at = next((i for i, kind in enumerate(kinds) if kind.startswith(feature.kind)), None)
    if at is None:
        missing = feature.kind != "output"
        return SuiteCell(UNCLAIMED) if missing else SuiteCell(FAIL, note=f"shapes {result.shapes}")
    exact = convention.expected(run(SPECIFICATION, case))[kinds[at]]
    plain = convention.expected(plain_run(case, dtype))[kinds[at]]
    return _judged(result.arrays[at], exact, plain, dtype)


def _backward(function: Callable[..., Any], convention: CallingConvention, case: Case) -> SuiteCell:
    """The gradients of query, key and value; the worst of the three counts."""
    if convention.library != "torch" or convention.roles.form != "qkv" or convention.position:
        return SuiteCell(UNCLAIMED)
    computed = gradients_of(function, convention, case)
    if computed.refused:
        return SuiteCell(UNCLAIMED, note=computed.refused)
    if computed.error:
        status = FAIL if computed.error.startswith("no gradient of") else EXCEPTION
        return SuiteCell(status, note=computed.error)
    exact = expected_gradients(convention, case)
    plain = expected_gradients(convention, case, convention.dtype)
    cells = {
        name: _judged(grad, exact[name], plain[name], convention.dtype)
        for name, grad in computed.arrays.items()
    }
    name, worst = max(cells.items(), key=lambda cell: (cell[1].status == FAIL, cell[1].ratio))
    return replace(worst, note=f"gradient of {name}" if worst.status == FAIL else "")


def _packed_rows(
    function: PackedAttention, convention: CallingConvention
) -> dict[str, dict[str, SuiteCell]]:
    """The rows for packed sequences, causal too where lengths of queries and keys are the same."""
    causal = convention.roles.names.get("causal")
    rows = {}
    for name, lengths in SEQUENCES.items():
        rows[name] = {d: _packed(function, convention, lengths, {}, d) for d in DTYPES}
        if causal and all(q == k for q, k in lengths):
            options = {causal: True}
            rows[f"{name}, causal"] = {
                d: _packed(function, convention, lengths, options, d) for d in DTYPES
            }
    return rows


def _packed(
    function: PackedAttention,
    convention: CallingConvention,
    lengths: tuple[tuple[int, int], ...],
    options: dict[str, Any],
    dtype: str,
) -> SuiteCell:
    if dtype == "bfloat16" and convention.library == "numpy":
        return SuiteCell(UNCLAIMED)
    cases = [
        rounded(replace(draw(Sizes(1, 3, q, k, 16, 16), seed=43), causal=bool(options)), dtype)
        for q, k in lengths
    ]
    sequences = [
        tuple(to_library(a[0], convention.library, dtype) for a in (c.query, c.key, c.value))
        for c in cases
    ]
    try:
        with quietly(convention.library):
            output = [to_float64(one)[None] for one in function.sequences(sequences, options)]
    except Exception as error:
        return SuiteCell(EXCEPTION, note=one_line(error))
    exact = [run(SPECIFICATION, case).output for case in cases]
    plain = [plain_run(case, dtype).output for case in cases]
    if [one.shape for one in output] != [one.shape for one in exact]:
        return SuiteCell(FAIL, note=f"shapes {[one.shape[1:] for one in output]}")
    computed, true, rounding = (np.concatenate(some, axis=2) for some in (output, exact, plain))
    return _judged(computed, true, rounding, dtype)


def _judged(computed: Array, exact: Array, plain: Array, dtype: str) -> SuiteCell:
    seen = np.isfinite(exact)
    if differ(computed[~seen], exact[~seen], 0.0).any() or not np.isfinite(computed[seen]).all():
        return SuiteCell(FAIL, note="NaN or infinity in the wrong place")
    error = float(np.abs(computed[seen] - exact[seen]).max(initial=0))
    size = float(np.abs(exact[seen]).max(initial=0))
    # Nobody can be closer than the last digit of the result.
    floor = size * {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    least = max(float(np.abs(plain[seen] - exact[seen]).max(initial=0)), floor)
    ratio = error / least if least else float(error > 0)
    return SuiteCell(PASS if ratio <= MOST else FAIL, error, ratio)


def _shown(cell: SuiteCell) -> str:
    if cell.status == PASS:
        return f"{cell.ratio:.2f}" + (f" ({cell.note})" if cell.note else "")
    if cell.status == FAIL:
        return f"**FAIL** {cell.note or f'error {cell.error:.2g}'}"
    return "–" if cell.status == UNCLAIMED else "exception"
