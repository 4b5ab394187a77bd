"""Text of check reports: of a function, and of a sheet worked by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import ConsoleRenderable, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.checker.mistakes import Mistake
from regard.checker.report import (
    FAIL,
    PASS,
    RIGHT,
    UNKNOWN,
    UNLESS_EMPTY,
    WITH_DIFFERENCES,
    WRONG,
    Finding,
    Report,
)
from regard.sheets import SheetReport, Step
from regard.textbook.digits import tidy
from regard.view.terminal.render import as_text

STYLES = {
    RIGHT: "bold green",
    WITH_DIFFERENCES: "bold green",
    UNLESS_EMPTY: "bold green",
    WRONG: "bold red",
    UNKNOWN: "bold yellow",
}
MARKS = {PASS: "green", FAIL: "bold red"}


def report_text(report: Report) -> str:
    """The report as plain text."""
    return as_text(draw_report(report))


def sheet_text(report: SheetReport) -> str:
    """The report on a worked sheet as plain text."""
    return as_text(draw_sheet(report))


def draw_report(report: Report) -> Group:
    """The verdict, how the function was called, its properties, and what is wrong."""
    parts: list[ConsoleRenderable] = [_verdict(report)]
    if report.understood:
        parts.append(Text(f"Understood: {report.understood}."))
    if report.called:
        parts.append(Text(f"Called as {report.called}."))
    if report.findings:
        parts.append(Padding(_properties(report.findings), (1, 0, 0, 0)))
    for number, mistake in enumerate(report.diagnosis):
        parts.append(Padding(_mistake(mistake, "Diagnosis" if not number else "And"), (1, 0, 0, 0)))
    if report.tried:
        parts.append(Padding(Text("What was tried:", "bold"), (1, 0, 0, 0)))
        parts += [Padding(Text(tried), (0, 0, 0, 2)) for tried in report.tried]
    parts += [Padding(Text(text), (1, 0, 0, 0)) for text in _certainty(report)]
    parts += [Padding(Text(f"Note: {note}"), (1, 0, 0, 0)) for note in report.notes]
    return Group(*parts)


def _verdict(report: Report) -> Text:
    text = Text.assemble((report.verdict.upper(), STYLES[report.verdict]), f": {report.function}")
    if report.mistakes:
        text.append(f": {' and '.join(report.mistakes)}")
    elif report.verdict == WITH_DIFFERENCES:
        text.append(f": {'; '.join(report.differences)}")
    if report.verdict != UNKNOWN:
        text.append(f" (held to {report.contract})", "dim")
    return text


def _properties(findings: tuple[Finding, ...]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        style = MARKS.get(finding.status, "dim")
        lines = "\n".join(_lines(finding))
        table.add_row(Text(finding.name), Text(finding.status, style), Text(lines))
    return table


def _lines(finding: Finding) -> Iterator[str]:
    yield finding.detail
    if finding.wrong is not None and finding.right is not None:
        yield f"{finding.element} is {finding.wrong:.6g}, should be {finding.right:.6g}"
    if finding.input:
        yield f"input: {finding.input}"


def _mistake(mistake: Mistake, title: str) -> Group:
    return Group(
        Text.assemble((f"{title}: ", "bold"), mistake.name),
        Text(mistake.about),
        Text("The fix:", "bold"),
        *(Text(f"    {line}", no_wrap=True, overflow="ignore") for line in mistake.fix.split("\n")),
    )


def _certainty(report: Report) -> Iterator[str]:
    """How sure the diagnosis is; where it has no name, the first question that goes wrong."""
    for caveat in report.caveats:
        if caveat not in report.mistakes:
            yield f"But {caveat}; it should give zeros. With --strict that is a mistake."
    if report.verdict != WRONG:
        return
    if not report.mistakes:
        yield _unnamed(report)
    elif report.others:
        yield f"Likely: {' and '.join(report.mistakes)}. {' or '.join(report.others)} fits as well."
    elif report.confidence:
        yield f"Confidence: {report.confidence}."
    step = report.departure
    if report.confidence == "unknown" and step is not None:
        yield (
            f"It departs first at the question '{step.question}': {step.element} is "
            f"{step.wrong:.6g}, should be {step.right:.6g}."
        )


def _unnamed(report: Report) -> str:
    first = report.failed[0].name if report.failed else "values"
    return (
        f"No mistake of the catalogue, alone or with another, gives these numbers. Start at the "
        f"first property that fails, {first}: its input is the smallest that shows the fault."
    )


def draw_sheet(report: SheetReport) -> Group:
    """The verdict, the first step that does not follow, then all of them."""
    parts: list[ConsoleRenderable] = [_sheet_verdict(report)]
    for step in report.steps:
        parts.append(Padding(_step(step, report.verdict == RIGHT), (1, 0, 0, 0)))
    return Group(*parts)


def _sheet_verdict(report: SheetReport) -> Text:
    first = report.first_wrong
    if report.verdict == RIGHT:
        return Text.assemble(("RIGHT", "bold green"), f": every claim of {report.path} holds.")
    text = Text.assemble(("WRONG", "bold red"), f": {report.path}. ")
    if first is not None:
        head = "" if first.head is None else f", head {first.head}"
        text.append(f"The first wrong step is the {first.stage} of {first.word!r}{head}.")
    return text


def _step(step: Step, all_right: bool) -> Group:
    title = Text.assemble((f"{step.name}: ", "bold"), *_judgement(step, all_right))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    rows = [("claimed", step.claimed)]
    if not step.right and step.source:
        rows.append((f"from {step.source}", step.due))
    if not (step.right and step.is_true):
        rows.append(("true", step.true))
    for name, numbers in rows:
        exact = name != "claimed"
        table.add_row(Text(f"  {name}"), Text("  ".join(_number(x, exact) for x in numbers)))
    return Group(title, table, *(Padding(Text(line), (0, 0, 0, 2)) for line in _because(step)))


def _judgement(step: Step, all_right: bool) -> Iterator[tuple[str, str]]:
    if step.right and step.is_true:
        yield ("right", "green")
        if step.cut:
            yield (" (digits cut off, not rounded)", "")
    elif step.right and all_right:
        yield ("right", "green")
        yield (f" (from the digits of {step.source})", "")
    elif step.right:
        yield (f"follows from {step.source}", "green")
        yield (", which went wrong before: not the true value", "")
    elif step.follows is None:
        yield ("not the true value", "bold red")
    else:
        yield (f"does not follow from {step.source}", "bold red")
        yield (", yet is the true value" if step.is_true else "", "")


def _because(step: Step) -> Iterator[str]:
    if step.arithmetic:
        yield step.arithmetic
    if step.instead:
        yield f"Diagnosis: {step.instead}."


def _number(x: float, exact: bool) -> str:
    x = tidy(x) if math.isfinite(x) else x
    return f"{x:.3f}" if exact and math.isfinite(x) and x != round(x, 2) else f"{x:g}"
