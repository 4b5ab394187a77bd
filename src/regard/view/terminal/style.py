"""Terminal output as text: consoles, widths, colour, and facts in sections."""

import io
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from regard.textbook.examples.story import Example
from regard.textbook.steps import Steps
from regard.view.terminal.examples_text import draw_example
from regard.view.terminal.steps_text import draw_steps


@dataclass(frozen=True)
class Facts:
    """Sections of facts, each a name and a text."""

    sections: dict[str, dict[str, str]]


def draw_facts(facts: Facts) -> Group:
    """One table a section; names in one column, so that all sections line up."""
    widest = max((len(n) for section in facts.sections.values() for n in section), default=0)
    parts: list[Text | Table] = []
    for title, section in facts.sections.items():
        table = Table.grid(padding=(0, 2))
        table.add_column(width=widest + 2, no_wrap=True)
        table.add_column(overflow="fold")
        for name, text in section.items():
            table.add_row(Text(f"  {name}"), Text(text))
        parts += [Text(title, style="bold"), table]
    return Group(*parts)


def as_text(thing: Any, width: int = 80, colour: bool = False) -> str:
    """Draw a thing into text of at most ``width`` columns.

    >>> print(as_text("A sentence that is too long for thirty columns.", width=30))
    A sentence that is too long
    for thirty columns.
    """
    page = io.StringIO()
    console = Console(
        file=page,
        width=max(40, width),
        force_terminal=colour,
        color_system="auto" if colour else None,
        highlight=False,
        emoji=False,
        markup=False,
    )
    console.print(draw(thing))
    # A table pads its rows; a pipe should not get the blanks.
    return "\n".join(line.rstrip() for line in page.getvalue().rstrip().split("\n"))


@singledispatch
def draw(thing: Any) -> ConsoleRenderable:
    """Anything else is shown as its text."""
    return Text(str(thing))


draw.register(Steps)(draw_steps)


draw.register(Example)(draw_example)


draw.register(Facts)(draw_facts)


draw.register(Group)(lambda drawn: drawn)


@draw.register
def _(things: list) -> ConsoleRenderable:  # type: ignore[type-arg]
    return Group(
        *(draw(t) if isinstance(t, Steps) else Padding(draw(t), (0, 0, 1, 0)) for t in things)
    )
