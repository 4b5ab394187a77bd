"""An example in a terminal: the computation, then each claim beside the truth."""

from __future__ import annotations

from rich.console import ConsoleRenderable, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from regard.errors import count
from regard.textbook.digits import tidy
from regard.textbook.examples.story import Claim, Example, Numbers
from regard.view.terminal.steps_text import draw_steps


def draw_example(example: Example) -> Group:
    """The document's computation, every step computed anew, and its claims beside the truth."""
    wrong = sum(not claim.agrees for claim in example.claims)
    return Group(
        Rule(Text(f"{example.name}: {example.sentence}", "bold"), characters="═"),
        Text(f"Document: {example.title}"),
        Text(),
        *_section("What the document computes", _paragraph(example.computes)),
        *_section("The steps, computed here from its inputs", draw_steps(example.steps)),
        *_section(
            "What the document prints, what is true, where they differ",
            *(_draw_claim(claim) for claim in example.claims),
        ),
        *_section("What it means", *(_paragraph(remark) for remark in example.remarks)),
        Text(
            f"{count(len(example.claims), 'claim')} weighed: {len(example.claims) - wrong} hold, "
            f"{wrong} {'does' if wrong == 1 else 'do'} not.",
            "bold",
        ),
    )


def _section(title: str, *parts: ConsoleRenderable) -> list[ConsoleRenderable]:
    return [Rule(Text(title), align="left"), *parts]


def _draw_claim(claim: Claim) -> Padding:
    """The numbers under each other, so that the eye can compare them."""
    verdict = Text("agrees", "green") if claim.agrees else Text("DIFFERS", "bold red")
    lines = [("the document prints", claim.printed), ("true", claim.true)]
    if claim.follows is not None:
        lines.insert(1, claim.follows)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for (label, _), text in zip(lines, aligned([value for _, value in lines]), strict=True):
        table.add_row(Text(f"  {label}"), Text(text))
    title = Text.assemble((claim.about, "bold"), ": ", verdict)
    why = [Padding(Text(claim.because), (0, 0, 0, 2))] if claim.because else []
    return Padding(Group(title, table, *why), (0, 0, 1, 0))


def aligned(values: list[Numbers | str]) -> list[str]:
    """Rows of numbers with each number under its like; text stays as it is.

    >>> aligned([(0.0, 0.19), (0.0983, 0.2)])
    ['0      0.19', '0.098  0.2']
    """
    rows = [[_short(x) for x in value] for value in values if not isinstance(value, str)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=False)]
    texts = iter("  ".join(f"{x:<{w}}" for x, w in zip(r, widths, strict=False)) for r in rows)
    return [value if isinstance(value, str) else next(texts).rstrip() for value in values]


def _short(x: float) -> str:
    """A printed 0.19 stays 0.19; a computed number gets three decimals."""
    x = tidy(x)
    return f"{x:g}" if x == round(x, 2) else f"{x:.3f}"


def _paragraph(text: str) -> Padding:
    return Padding(Text(text), (0, 0, 1, 0))
