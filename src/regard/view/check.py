"""A check's report in a terminal: the verdict first, then each property, the diagnosis, the fix."""

from collections.abc import Iterator

from rich.console import ConsoleRenderable, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.check.mistakes import Mistake
from regard.check.report import FAIL, PASS, RIGHT, UNKNOWN, WRONG, Finding, Report

STYLES = {RIGHT: "bold green", WRONG: "bold red", UNKNOWN: "bold yellow"}
MARKS = {PASS: "green", FAIL: "bold red"}


def draw_report(report: Report) -> Group:
    """The verdict, how the function was called, its properties, and what is wrong."""
    parts: list[ConsoleRenderable] = [_verdict(report)]
    if report.called:
        parts.append(Text(f"Called as {report.called}."))
    if report.findings:
        parts.append(Padding(_properties(report.findings), (1, 0, 0, 0)))
    for number, mistake in enumerate(report.diagnosis):
        parts.append(Padding(_mistake(mistake, "Diagnosis" if not number else "And"), (1, 0, 0, 0)))
    if report.tried:
        parts.append(Padding(Text("What was tried:", "bold"), (1, 0, 0, 0)))
        parts += [Padding(Text(tried), (0, 0, 0, 2)) for tried in report.tried]
    if report.verdict == WRONG and not report.mistakes:
        parts.append(Padding(Text(_unnamed(report)), (1, 0, 0, 0)))
    parts += [Padding(Text(f"Note: {note}"), (1, 0, 0, 0)) for note in report.notes]
    return Group(*parts)


def _verdict(report: Report) -> Text:
    text = Text.assemble((report.verdict.upper(), STYLES[report.verdict]), f": {report.function}")
    if report.mistakes:
        text.append(f": {' and '.join(report.mistakes)}")
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
        yield f"{finding.place} is {finding.wrong:.6g}, should be {finding.right:.6g}"
    if finding.input:
        yield f"input: {finding.input}"


def _mistake(mistake: Mistake, title: str) -> Group:
    return Group(
        Text.assemble((f"{title}: ", "bold"), mistake.name),
        Text(mistake.about),
        Text("The fix:", "bold"),
        *(Text(f"    {line}", no_wrap=True, overflow="ignore") for line in mistake.fix.split("\n")),
    )


def _unnamed(report: Report) -> str:
    first = report.failed[0].name if report.failed else "values"
    return (
        f"No mistake of the catalogue, alone or with another, gives these numbers. Start at the "
        f"first property that fails, {first}: its input is the smallest that shows the fault."
    )
