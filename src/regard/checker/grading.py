"""Grading of a report: points by step, and the results file that Gradescope reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regard.checker.mistakes import wrong_step
from regard.checker.mistakes.stand_ins import STAND_INS
from regard.checker.report import FAIL, PASS, Report

# The steps of attention that a course teaches, by their title in a grade sheet.
STEP_TITLES = {
    "scores": "The scores and their scaling",
    "softmax": "The softmax",
    "causal mask": "The causal mask",
    "mask": "The mask and the padding",
    "heads": "The heads",
    "result": "The result",
}


@dataclass(frozen=True)
class StepGrade:
    """The points of one step, and the comment on it."""

    step: str
    points: float
    max_points: float
    comment: str


def grade(report: Report, max_points: float = 10.0, hints: int = 1) -> tuple[StepGrade, ...]:
    """Partial credit by step: a step that was asked about, and has no mistake, gets its share.

    A function that could not be called, whose mistake has no name, or whose result is no attention
    at all (zeros, an input unchanged, noise), gets nothing: no step of it is known to be right.
    """
    steps = {step: title for step, title in STEP_TITLES.items() if step in report.asked}
    steps = steps or {"result": STEP_TITLES["result"]}
    share = max_points / len(steps)
    wrong = {_step(wrong_step(mistake)) for mistake in report.diagnosis}
    stand_in = any(mistake in STAND_INS[:-1] for mistake in report.diagnosis)
    unknown = not report.right and (stand_in or not wrong)
    grades = []
    for step, title in steps.items():
        fine = report.right or (not unknown and step not in wrong)
        comment = "right" if fine else report.hint(hints)
        grades.append(StepGrade(title, share if fine else 0.0, share, comment))
    return tuple(grades)


def _step(name: str) -> str:
    if name in STEP_TITLES:
        return name
    return "mask" if name in ("padding", "window", "offset", "softcap") else "result"


def gradescope(report: Report, max_points: float = 10.0, hints: int = 1) -> dict[str, Any]:
    """The results of a report in the form of Gradescope's results.json."""
    grades = grade(report, max_points, hints)
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
        "output": f"{report.function}: {report.verdict}",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {"verdict": report.verdict, "properties": properties},
    }
