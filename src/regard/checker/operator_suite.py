"""The operator suite for kernel authors: the error of each feature in each dtype, as a table."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from regard.checker.calls import call_function
from regard.checker.candidates import Features, describe, merged, prepare
from regard.checker.cases import Case, Sizes, draw, see_some
from regard.checker.compare import differ, kinds_of, plain_run, rounded
from regard.checker.convention import CallingConvention
from regard.checker.explanation import explain
from regard.checker.trials import working_layouts
from regard.errors import ArgumentError, count
from regard.textbook.stages import SPECIFICATION, run
from regard.typing import Array

CROSS = Sizes(2, 3, 37, 53, 16, 16)


WIDE = Sizes(2, 3, 45, 45, 16, 24)


SQUARE = Sizes(2, 3, 45, 45, 16, 16)


LONG = Sizes(1, 2, 200, 333, 64, 64)


@dataclass(frozen=True)
class Feature:
    """One row of the table; ``cornered``: without an offset both corners are right."""

    name: str
    needs: tuple[str, ...]
    build: Callable[[], Case]
    kind: str = "output"
    form: str = ""
    cornered: bool = False


def _with(sizes: Sizes, seed: int, **options: object) -> Callable[[], Case]:
    return lambda: replace(draw(sizes, seed=seed), **options)  # type: ignore[arg-type]


def _see(*leading: int) -> Array:
    """A mask that differs between sentences and heads where it has these axes."""
    queries, keys = CROSS.q, CROSS.k
    if not leading:
        return see_some(queries, keys)
    random = np.random.default_rng(31)
    mask = random.random((*leading, queries, keys)) < 0.6
    mask[..., 0] = True
    return mask


def _empty() -> Array:
    mask_qk = _see().copy()
    mask_qk[[0, 7, -1]] = False
    return mask_qk


def _added(*leading: int) -> Array:
    random = np.random.default_rng(32)
    bias = random.standard_normal((*leading, CROSS.q, CROSS.k)).round(2)
    return np.where(_see(*leading), bias, -np.inf)


def _large() -> Case:
    return draw(SQUARE, seed=33, spread=6.0)


FEATURES = (
    Feature("plain", (), _with(SQUARE, 21)),
    Feature("fewer queries than keys", (), _with(CROSS, 22)),
    Feature("values wider than keys", (), _with(WIDE, 22)),
    Feature("long, 200 queries and 333 keys of width 64", (), _with(LONG, 23)),
    Feature("large scores", (), _large),
    Feature("scale", ("scale",), _with(CROSS, 24, scale=0.11)),
    Feature("causal", ("causal",), _with(SQUARE, 25, causal=True)),
    Feature("causal, fewer queries than keys", ("causal",), _with(CROSS, 26, causal=True),
            cornered=True),
    Feature("causal, offset 9", ("causal", "offset"), _with(CROSS, 26, causal=True, offset=9)),
    Feature("causal, offset -5: empty rows", ("causal", "offset"),
            _with(CROSS, 26, causal=True, offset=-5)),
    Feature("window (5, 2)", ("window",), _with(SQUARE, 27, window=(5, 2))),
    Feature("window (5, unbounded)", ("window",), _with(SQUARE, 27, window=(5, None))),
    Feature("softcap", ("softcap",), _with(CROSS, 28, softcap=0.7)),
    Feature("softcap and causal", ("softcap", "causal"),
            _with(SQUARE, 28, softcap=0.7, causal=True)),
    Feature("lengths", ("lengths",), _with(CROSS, 29, lengths=np.array([11, 40]))),
    Feature("boolean mask", ("mask",), _with(CROSS, 30, mask=_see()), form="bool"),
    Feature("boolean mask, one a sentence and head", ("mask",),
            _with(CROSS, 30, mask=_see(2, 3)), form="bool"),
    Feature("boolean mask, one a sentence (b, 1, q, k)", ("mask",),
            _with(CROSS, 30, mask=_see(2, 1)), form="bool"),
    Feature("added mask", ("mask",), _with(CROSS, 34, mask=_added()), form="added"),
    Feature("added mask, one a sentence and head", ("mask",),
            _with(CROSS, 34, mask=_added(2, 3)), form="added"),
    Feature("empty rows", ("mask",), _with(CROSS, 35, mask=_empty()), form="bool"),
    Feature("mask and causal together", ("mask", "causal"),
            _with(SQUARE, 36, mask=see_some(SQUARE.q, SQUARE.k) | np.eye(SQUARE.q, dtype=bool),
                  causal=True), form="bool"),
    Feature("grouped heads, 6 on 3", (), lambda: draw(CROSS._replace(h=6, g=3), seed=37)),
    Feature("grouped heads, 6 on 1", (), lambda: draw(CROSS._replace(h=6, g=1), seed=38)),
    Feature("log-sum-exp", (), _with(CROSS, 39), kind="log-sum-exp"),
    Feature("weights", (), _with(CROSS, 39), kind="weights"),
    Feature("column sums (received)", (), _with(CROSS, 39), kind="received"),
)  # fmt: skip


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
    def from_dict(cls, fields: dict[str, Any]) -> "Suite":
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
    return Suite(name, describe(convention, name.rpartition(":")[2]), rows)


def _cell(
    function: Callable[..., Any], convention: CallingConvention, feature: Feature, dtype: str
) -> SuiteCell:
    if not all(convention.roles.has(role) for role in feature.needs):
        return SuiteCell(UNCLAIMED)
    cells = [_tried(function, one, feature, dtype) for one in _corners(convention, feature)]
    best = next((cell for cell in cells if cell.status == PASS), cells[0])
    if len(cells) > 1 and best.status == PASS:
        return replace(best, note="top left" if best is cells[0] else "bottom right")
    return best


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
    result = call_function(function, convention, case)
    if result.error:
        return SuiteCell(EXCEPTION, note=result.error)
    kinds = kinds_of(convention, case, result.shapes)
    computed = dict(zip(kinds, result.arrays, strict=True)).get(feature.kind)
    if computed is None:
        missing = feature.kind != "output"
        return SuiteCell(UNCLAIMED) if missing else SuiteCell(FAIL, note=f"shapes {result.shapes}")
    exact = convention.expected(run(SPECIFICATION, case))[feature.kind]
    plain = convention.expected(plain_run(case, dtype))[feature.kind]
    return _judged(computed, exact, plain, dtype)


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
