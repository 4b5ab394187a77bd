"""Hints for students: from the step that is wrong to the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.checker.mistakes import Mistake
from regard.checker.mistakes.causal import CAUSAL
from regard.checker.mistakes.head_axes import HEADS
from regard.checker.mistakes.masking import MASKS
from regard.checker.mistakes.scoring import SCORES
from regard.checker.mistakes.softmax import SOFTMAX

if TYPE_CHECKING:
    from regard.checker.check_report import Report

STEPS = (("scores", SCORES), ("softmax", SOFTMAX), ("causal mask", CAUSAL), ("mask", MASKS),
         ("heads", HEADS))  # fmt: skip


def step_of(mistake: Mistake) -> str:
    """The step of attention that a mistake is made in.

    >>> from regard.checker.mistakes import BY_NAME
    >>> step_of(BY_NAME["no scaling"])
    'scores'
    """
    for step, mistakes in STEPS:
        if mistake in mistakes:
            return step
    return mistake.name.partition(" used wrongly")[0] if mistake.unnamed else "result"


def hint(report: Report, level: int) -> str:
    """The diagnosis at one of four levels: 0 the step, 1 the name, 2 what it does, 3 the fix."""
    if report.right:
        return "Every step is right."
    if not report.diagnosis:
        return "; ".join(report.tried) or "The result is wrong, and no known mistake gives it."
    lines = []
    for mistake in report.diagnosis:
        shown = [f"The step that is wrong: {step_of(mistake)}.", f"{mistake.name}.", mistake.about,
                 f"The fix:\n{mistake.fix}"]  # fmt: skip
        lines.append("\n".join(shown[min(level, 1) : level + 1] if level else shown[:1]))
    return "\n\n".join(lines)
