"""A checked sheet in a terminal: the first wrong step, then every claimed row and its judgement."""

from collections.abc import Iterator

from rich.console import ConsoleRenderable, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.check.report import RIGHT
from regard.check.sheet import SheetReport, Step


def draw_sheet(report: SheetReport) -> Group:
    """The verdict, the first step that does not follow, then all of them."""
    parts: list[ConsoleRenderable] = [_verdict(report)]
    for step in report.steps:
        parts.append(Padding(_step(step), (1, 0, 0, 0)))
    return Group(*parts)


def _verdict(report: SheetReport) -> Text:
    first = report.first_wrong
    if report.verdict == RIGHT:
        return Text.assemble(("RIGHT", "bold green"), f": every claim of {report.path} holds.")
    text = Text.assemble(("WRONG", "bold red"), f": {report.path}. ")
    if first is not None:
        text.append(f"The first wrong step is the {first.stage} of {first.word!r}.")
    return text


def _step(step: Step) -> Group:
    title = Text.assemble((f"{step.stage} of {step.word}: ", "bold"), *_judgement(step))
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


def _judgement(step: Step) -> Iterator[tuple[str, str]]:
    if step.right and step.is_true:
        yield ("right", "green")
        if step.cut:
            yield (" (digits cut off, not rounded)", "")
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
        yield f"What can be told: {step.instead}."


def _number(x: float, exact: bool) -> str:
    return f"{x:.3f}" if exact and x != round(x, 2) else f"{x:g}"
