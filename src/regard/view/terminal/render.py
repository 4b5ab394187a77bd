"""Rich renderables as text for a terminal or a pipe, and sections of facts."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from regard.textbook.examples.story import Example
from regard.textbook.steps import Steps
from regard.view.terminal.steps import draw_example, draw_steps
from regard.view.terminal.style import MIN_WIDTH, printable


@dataclass(frozen=True)
class Sections:
    """Titled sections of facts, each a name and a text."""

    facts: dict[str, dict[str, str]]


def draw_sections(sections: Sections) -> Group:
    """One table a section; names in one column, so that all sections line up."""
    widest = max((len(n) for section in sections.facts.values() for n in section), default=0)
    parts: list[Text | Table] = []
    for title, section in sections.facts.items():
        table = Table.grid(padding=(0, 2))
        table.add_column(width=widest + 2, no_wrap=True)
        table.add_column(overflow="fold")
        for name, text in section.items():
            table.add_row(Text(f"  {name}"), Text(text))
        parts += [Text(title, style="bold"), table]
    return Group(*parts)


def as_text(thing: Any, width: int = 80, colour: bool = False) -> str:
    """Draw a thing into text of at most ``width`` columns.

    >>> print(as_text("A sentence that is too long for forty columns of it.", width=40))
    A sentence that is too long for forty
    columns of it.
    """
    page = io.StringIO()
    # In a notebook rich would display the text by itself and leave nothing to return.
    console = Console(
        file=page,
        width=max(MIN_WIDTH, width),
        force_terminal=colour,
        force_jupyter=False,
        color_system="auto" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    console.print(Segments(_printable_segments(console, draw(thing))), end="", crop=False)
    # A table pads its rows; a pipe should not get the blanks.
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().split("\n"))


def _printable_segments(console: Console, drawn: ConsoleRenderable) -> list[Segment]:
    """Segments with no control character but the ends of lines: words come from files."""
    return [
        Segment("\n".join(map(printable, segment.text.split("\n"))), segment.style)
        for segment in console.render(drawn)
    ]


@singledispatch
def draw(thing: Any) -> ConsoleRenderable:
    """Renderable of a thing; its text where it has no drawing of its own."""
    return Text(str(thing))


draw.register(Steps)(draw_steps)
draw.register(Example)(draw_example)
draw.register(Sections)(draw_sections)
draw.register(Group)(lambda drawn: drawn)


@draw.register
def _(things: list) -> ConsoleRenderable:  # type: ignore[type-arg]
    return Group(
        *(draw(t) if isinstance(t, Steps) else Padding(draw(t), (0, 0, 1, 0)) for t in things)
    )
