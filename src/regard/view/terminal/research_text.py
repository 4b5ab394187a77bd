"""Tables over the heads of watched runs in a terminal: two runs compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.display import percent
from regard.errors import count
from regard.view.terminal.style import PIPE, TerminalStyle, printable, shorten

if TYPE_CHECKING:
    from regard.watcher.run_comparison import HeadDifference, RunComparison

MOST = 12
TOKEN = 16


def comparison_page(
    comparison: RunComparison, style: TerminalStyle = PIPE, most: int = MOST
) -> str:
    """The heads that differ most, each with the row that differs most."""
    lines = []
    for part, (aligned, one, other) in comparison.aligned.items():
        text = f"{part}: {count(aligned, 'token')} aligned, of {one:,} and of {other:,}."
        lines += style.wrap(text, "  ")
    lines += [line for note in comparison.notes for line in style.wrap(printable(note), "  ")]
    wide = max(len(_name(head)) for head in comparison.heads)
    lines += ["", style.bold(f"{'head':<{wide}}   bits  usual  most at")]
    lines += [_difference(head, wide, style) for head in comparison.heads[:most]]
    if len(comparison.heads) > most:
        lines.append(f"... {count(len(comparison.heads) - most, 'more head')}")
    usual = "usual: two different heads of the layer. Layers and heads count from 0."
    return "\n".join([*lines, "", *style.wrap(f"{comparison.definition} {usual}")])


def _difference(head: HeadDifference, wide: int, style: TerminalStyle) -> str:
    row = head.largest
    usual = "    -" if head.usual is None else f"{head.usual:.3f}"
    keys = " -> ".join(f"{_token(x.token)} {percent(x.weight)}" for x in (row.one, row.other))
    line = f"{_name(head):<{wide}}  {head.distance:.3f}  {usual}  {_token(row.token)}: {keys}"
    return shorten(line, style.width)


def _token(text: str) -> str:
    return shorten(printable(text), TOKEN)


def _name(head: HeadDifference) -> str:
    return f"{head.part} {head.layer}.{head.head}"
