"""Facts by name, in sections."""

from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text


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
