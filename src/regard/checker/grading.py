"""Grading of a report: points by step, and the results file that Gradescope reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regard.checker.check_report import FAIL, PASS, Report
from regard.checker.hints_for_students import hint, step_of

# The parts of attention that a course teaches, and the findings that show each of them.
STEPS = {
    "scores": "The scores and their scaling",
    "softmax": "The softmax",
    "causal mask": "The causal mask",
    "mask": "The mask and the padding",
    "heads": "The heads",
    "result": "The result",
}


@dataclass(frozen=True)
class StepGrade:
    """The points of one step, and what is said about it."""

    step: str
    points: float
    most: float
    comment: str


def grade(report: Report, most: float = 10.0, hints: int = 1) -> tuple[StepGrade, ...]:
    """Partial credit by step: a step without a mistake gets its full share.

    A function that could not be called, or whose mistake has no name, gets nothing: no step of
    it is known to be right.
    """
    share = most / len(STEPS)
    wrong = {_step(step_of(mistake)) for mistake in report.diagnosis}
    unknown = not report.right and not wrong
    grades = []
    for step, title in STEPS.items():
        fine = report.right or (not unknown and step not in wrong)
        comment = "right" if fine else hint(report, hints)
        grades.append(StepGrade(title, share if fine else 0.0, share, comment))
    return tuple(grades)


def _step(name: str) -> str:
    if name in STEPS:
        return name
    return "mask" if name in ("padding", "window", "offset", "softcap") else "result"


def gradescope(report: Report, most: float = 10.0, hints: int = 1) -> dict[str, Any]:
    """The results of a report in the form of Gradescope's results.json."""
    grades = grade(report, most, hints)
    tests = [
        {"name": g.step, "score": round(g.points, 4), "max_score": round(g.most, 4),
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
