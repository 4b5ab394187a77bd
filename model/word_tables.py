"""The one parser of the word lists: text files with rows under headings.

    # Nouns of the generated sentences.
    [nouns (sorted): english | french | gender | number?]
    apple | pomme | f
    rice | riz | m | no plural

A heading in brackets names a section and its columns. Each further line is a row. Cells of columns
marked ? may be empty, and are left out at the end of a row. Blank lines and lines that begin with #
are ignored. The rows of a section marked (sorted) are in the order of their first cell; in other
sections the order is part of the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_HEADING = re.compile(r"\[([^:\]]+?)( \(sorted\))?: ([^\]]+)\]")


class TableError(ValueError):
    """Something is wrong with a word list; the message begins with file and line."""


class Row(tuple[str, ...]):
    """The cells of one row, as many as its section has columns, and where the row stands."""

    place: str

    def read(self, parse: Callable[..., T], *cells: str) -> T:
        """What `parse` makes of these cells; an error on an unknown word names file and line."""
        try:
            return parse(*cells)
        except KeyError as error:
            raise TableError(f"{self.place}: unknown word {error}.") from None


@cache
def read_table(path: Path) -> dict[str, tuple[Row, ...]]:
    """The rows of every section of a word list."""
    sections: dict[str, list[Row]] = {}
    rows: list[Row] | None = None
    columns: list[str] = []
    is_sorted = False
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line, place = text.strip(), f"{path.name}, line {number}"
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            name, is_sorted, columns = _heading(line, place)
            if name in sections:
                raise TableError(f"{place}: section {name!r} must stand only once in the file.")
            rows = sections[name] = []
        elif rows is None:
            raise TableError(
                f"{place}: a heading such as [nouns: english | french] must come first."
            )
        else:
            rows.append(_row(line, columns, place))
            if is_sorted and len(rows) > 1 and rows[-1][0] < rows[-2][0]:
                raise TableError(f"{place}: {rows[-1][0]!r} must stand before {rows[-2][0]!r}.")
    return {name: tuple(section) for name, section in sections.items()}


def read_words(path: Path, section: str) -> frozenset[str]:
    """The first cells of a section, as a set."""
    return frozenset(row[0] for row in read_table(path)[section])


def read_pairs(path: Path, section: str) -> tuple[tuple[str, str], ...]:
    """The first two cells of every row of a section."""
    return tuple((row[0], row[1]) for row in read_table(path)[section])


def _heading(line: str, place: str) -> tuple[str, bool, list[str]]:
    match = _HEADING.fullmatch(line)
    if match is None:
        raise TableError(
            f"{place}: a heading must look like [nouns: english | french], got {line!r}."
        )
    return match[1], match[2] is not None, [column.strip() for column in match[3].split("|")]


def _row(line: str, columns: list[str], place: str) -> Row:
    cells = [cell.strip() for cell in line.split("|")]
    if len(cells) > len(columns):
        raise TableError(
            f"{place}: a row must have at most {len(columns)} cells "
            f"({' | '.join(columns)}), got {len(cells)}."
        )
    row = Row(cells + [""] * (len(columns) - len(cells)))
    row.place = place
    for column, cell in zip(columns, row, strict=True):
        if not cell and not column.endswith("?"):
            raise TableError(f"{place}: column {column!r} must not be empty, got {line!r}.")
    return row
