"""What regard can draw in a terminal, as text: right in 80 columns and in a pipe."""

import io
from functools import singledispatch
from typing import Any

from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.text import Text

from regard.self_attention.examples.story import Example
from regard.self_attention.steps import Steps
from regard.view.examples import draw_example
from regard.view.facts import Facts, draw_facts
from regard.view.steps import draw_steps


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
