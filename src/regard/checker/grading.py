"""Grading of a report: points by step, and the results file that Gradescope reads."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from regard.checker.mistakes import wrong_step
from regard.checker.mistakes.stand_ins import STAND_INS
from regard.checker.report import FAIL, PASS, Report
from regard.errors import ArgumentError

# The steps of attention that a course teaches, by their title in a grade sheet.
STEP_TITLES = {
    "scores": "The scores and their scaling",
    "softmax": "The softmax",
    "causal mask": "The causal mask",
    "mask": "The mask and the padding",
    "heads": "The heads",
    "result": "The result",
}
# Results that show no step: whatever the function does, it is no attention.
NO_ATTENTION = {mistake.name for mistake in STAND_INS[:-1]} | {
    "results that differ between two calls"
}


@dataclass(frozen=True)
class StepGrade:
    """The points of one step, and the comment on it."""

    step: str
    points: float
    max_points: float
    comment: str


def read_points(words: Iterable[str]) -> dict[str, float]:
    """The points of each step, from words such as 'scores=4'.

    >>> read_points(["scores=4", "causal mask=6"])
    {'scores': 4.0, 'causal mask': 6.0}
    """
    points = {}
    for word in words:
        step, _, number = word.partition("=")
        try:
            points[step.strip()] = float(number)
        except ValueError:
            points[step.strip()] = -1.0
        if step.strip() not in STEP_TITLES or not 0 <= points[step.strip()] < math.inf:
            raise ArgumentError(
                f"points must be a step and its points, such as scores=4; steps are "
                f"{', '.join(STEP_TITLES)}; got {word!r}."
            )
    return points


def grade(
    report: Report,
    max_points: float = 10.0,
    hints: int = 1,
    points: dict[str, float] | None = None,
) -> tuple[StepGrade, ...]:
    """Partial credit by step: a step that was asked about, and has no mistake, gets its share.

    ``points``: those of each step; without them ``max_points`` are shared equally among the steps
    that were asked about. A function that could not be called, whose mistake has no name, or whose
    result is no attention at all (zeros, an input unchanged, noise), gets nothing: no step of it is
    known to be right.
    """
    steps = points or dict.fromkeys((x for x in STEP_TITLES if x in report.asked), 0.0)
    steps = steps or {"result": 0.0}
    shares = points or dict.fromkeys(steps, max_points / len(steps))
    wrong = {_step(wrong_step(mistake)) for mistake in report.diagnosis}
    stand_in = any(mistake.name in NO_ATTENTION for mistake in report.diagnosis)
    unknown = not report.right and (stand_in or not wrong)
    grades: list[StepGrade] = []
    for step, share in shares.items():
        asked = step in report.asked
        fine = asked and (report.right or (not unknown and step not in wrong))
        if fine:
            comment = "right"
        elif report.right or (not unknown and step not in wrong):
            comment = "not asked about"
        else:  # what holds for all steps is said once
            comment = "" if unknown and grades else report.hint(hints)
        grades.append(StepGrade(STEP_TITLES[step], share if fine else 0.0, share, comment))
    return tuple(grades)


def _step(name: str) -> str:
    if name in STEP_TITLES:
        return name
    return "mask" if name in ("padding", "window", "offset", "softcap") else "result"


def gradescope(
    report: Report,
    max_points: float = 10.0,
    hints: int = 1,
    points: dict[str, float] | None = None,
) -> dict[str, Any]:
    """The results of a report in the form of Gradescope's results.json."""
    grades = grade(report, max_points, hints, points)
    tests = [
        {"name": g.step, "score": round(g.points, 4), "max_score": round(g.max_points, 4),
         "output": g.comment, "status": "passed" if g.points else "failed"}
        for g in grades
    ]  # fmt: skip
    properties = [
        {"name": f.name, "status": "passed" if f.status == PASS else "failed", "output": ""}
        for f in report.findings
        if f.status in (PASS, FAIL)
    ]
    return {
        "score": round(sum(g.points for g in grades), 4),
        "output": f"{report.function}: {report.verdict} (held to {report.contract})",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"verdict": report.verdict, "properties": properties},
    }
