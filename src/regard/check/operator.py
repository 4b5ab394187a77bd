"""The whole semantics as a table, for kernel authors: the error of each feature in each dtype."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from regard.check.ask import ask
from regard.check.calling import Calling
from regard.check.case import Array
from regard.check.compare import differ, kinds_of, rounded
from regard.check.explain import explained
from regard.check.features import Features
from regard.check.operator_features import FEATURES, Feature
from regard.check.plain import plain_run
from regard.check.plan import SPECIFICATION, run
from regard.check.search import layouts_that_answer
from regard.check.ways import merged, say, ways_to_call
from regard.errors import ArgumentError
from regard.shapes import count

DTYPES = ("float32", "float16", "bfloat16")
PASS, FAIL, EXCEPTION, UNCLAIMED = "pass", "FAIL", "exception", "not claimed"
# A computation in the same dtype may be unlucky; one eight times as far off is not the same.
MOST = 8.0


@dataclass(frozen=True)
class Cell:
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
    rows: dict[str, dict[str, Cell]]

    @property
    def status(self) -> int:
        """0 where nothing that is claimed fails, else 1."""
        return int(any(c.status == FAIL for row in self.rows.values() for c in row.values()))

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self) | {"status": self.status}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> "Suite":
        """The table that ``as_dict`` wrote."""
        rows = {
            name: {dtype: Cell(**cell) for dtype, cell in row.items()}
            for name, row in found["rows"].items()
        }
        return cls(found["function"], found["called"], rows)

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
    """Every feature in every dtype."""
    ways = ways_to_call(function, "auto", "float32")
    for callings in ways.groups():
        found, _ = layouts_that_answer(ways.function, callings)
        if found:
            features = merged(Features(), ways)
            calling = explained(ways.function, found, features)[0].calling
            return _suite(ways.function, name, calling)
    raise ArgumentError(f"{name} could not be called with float32 arrays in any usual shape.")


def _suite(function: Callable[..., Any], name: str, calling: Calling) -> Suite:
    rows = {
        feature.name: {dtype: _cell(function, calling, feature, dtype) for dtype in DTYPES}
        for feature in FEATURES
    }
    return Suite(name, say(calling, name.rpartition(":")[2]), rows)


def _cell(function: Callable[..., Any], calling: Calling, feature: Feature, dtype: str) -> Cell:
    if not all(calling.roles.has(role) for role in feature.needs):
        return Cell(UNCLAIMED)
    cells = [_tried(function, one, feature, dtype) for one in _corners(calling, feature)]
    best = next((cell for cell in cells if cell.status == PASS), cells[0])
    if len(cells) > 1 and best.status == PASS:
        return replace(best, note="top left" if best is cells[0] else "bottom right")
    return best


def _corners(calling: Calling, feature: Feature) -> list[Calling]:
    """Without an offset both corners are in use."""
    if feature.cornered and not calling.roles.has("offset"):
        return [replace(calling, last=False), replace(calling, last=True)]
    return [calling]


def _tried(function: Callable[..., Any], calling: Calling, feature: Feature, dtype: str) -> Cell:
    calling = replace(calling, dtype=dtype, mask_form=feature.form or calling.mask_form)
    case = calling.fit(feature.build())
    if case is None or (dtype == "bfloat16" and calling.library == "numpy"):
        return Cell(UNCLAIMED)
    case = rounded(case, dtype)
    answer = ask(function, calling, case)
    if answer.error:
        return Cell(EXCEPTION, note=answer.error)
    kinds = kinds_of(calling, case, answer.shapes)
    found = dict(zip(kinds, answer.arrays, strict=True)).get(feature.kind)
    if found is None:
        missing = feature.kind != "output"
        return Cell(UNCLAIMED) if missing else Cell(FAIL, note=f"shapes {answer.shapes}")
    exact = calling.expected(run(SPECIFICATION, case))[feature.kind]
    plain = calling.expected(plain_run(case, dtype))[feature.kind]
    return _judged(found, exact, plain, dtype)


def _judged(found: Array, exact: Array, plain: Array, dtype: str) -> Cell:
    seen = np.isfinite(exact)
    if differ(found[~seen], exact[~seen], 0.0).any() or not np.isfinite(found[seen]).all():
        return Cell(FAIL, note="NaN or infinity in the wrong place")
    error = float(np.abs(found[seen] - exact[seen]).max(initial=0))
    size = float(np.abs(exact[seen]).max(initial=0))
    # Nobody can be closer than the last digit of the result.
    floor = size * {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    least = max(float(np.abs(plain[seen] - exact[seen]).max(initial=0)), floor)
    ratio = error / least if least else float(error > 0)
    return Cell(PASS if ratio <= MOST else FAIL, error, ratio)


def _shown(cell: Cell) -> str:
    if cell.status == PASS:
        return f"{cell.ratio:.2f}" + (f" ({cell.note})" if cell.note else "")
    if cell.status == FAIL:
        return f"**FAIL** {cell.note or f'error {cell.error:.2g}'}"
    return "–" if cell.status == UNCLAIMED else "exception"
