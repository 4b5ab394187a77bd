"""One matrix as a table: words as headings, elided in the middle where it is wide or long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rich.table import Table
from rich.text import Text

from regard.textbook.digits import tidy
from regard.typing import Float64Array
from regard.view.terminal.style import ELLIPSIS, shorten

MOST_ROWS = 12


@dataclass(frozen=True)
class Matrix:
    """Numbers with a name for each row and column."""

    array: Float64Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]


def draw_matrix(matrix: Matrix, max_width: int) -> Table:
    """As many columns as fit into ``max_width``, from both ends; all rows of a short matrix."""
    texts = written(matrix.array)
    rows = _chosen(len(matrix.rows), MOST_ROWS)
    names = [shorten(matrix.rows[i]) if i is not None else ELLIPSIS for i in rows]
    columns = _columns_that_fit(matrix, texts, rows, max_width - max(map(len, names), default=0))
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    for _ in columns:
        table.add_column(justify="right", no_wrap=True)
    headings = [shorten(matrix.columns[j]) if j is not None else ELLIPSIS for j in columns]
    table.add_row("", *(Text(x, style="bold") for x in headings))
    for i, name in zip(rows, names, strict=True):
        cells = [ELLIPSIS if i is None or j is None else texts[i][j] for j in columns]
        table.add_row(Text(name), *(Text(cell, style=_style(cell)) for cell in cells))
    return table


def written(array: Float64Array, digits: int = 3) -> list[list[str]]:
    """Every number of a matrix in one form, so that a column of them can be compared.

    >>> written(np.array([[0.5, -np.inf], [1.0, 2.0]]))
    [['0.500', '-inf'], ['1.000', '2.000']]
    """
    finite = np.abs(array[np.isfinite(array)])
    largest = float(finite.max(initial=0))
    if largest >= 1e5 or 0 < largest < 0.01:
        form = ".2e"
    else:
        form = f".{max(0, digits - max(0, len(str(int(largest))) - 3))}f"
    return [[_without_minus_zero(f"{tidy(x):{form}}") for x in row] for row in array.tolist()]


def _columns_that_fit(
    matrix: Matrix, texts: list[list[str]], rows: list[int | None], max_width: int
) -> list[int | None]:
    """Try ever fewer columns, half of them from each end."""
    shown = [texts[i] for i in rows if i is not None]
    width = [
        1 + max([len(shorten(name)), *(len(row[j]) for row in shown)])
        for j, name in enumerate(matrix.columns)
    ]
    for most in range(len(width), 1, -1):
        columns = _chosen(len(width), most)
        if sum(2 if j is None else width[j] for j in columns) <= max_width:
            return columns
    return _chosen(len(width), 2)


def _chosen(size: int, most: int) -> list[int | None]:
    """All indices, or those of both ends with None for what is between.

    >>> _chosen(3, 4), _chosen(9, 4)
    ([0, 1, 2], [0, 1, None, 7, 8])
    """
    if size <= most:
        return list(range(size))
    front = (most + 1) // 2
    return [*range(front), None, *range(size - most + front, size)]


def _without_minus_zero(text: str) -> str:
    return text[1:] if text.startswith("-") and not text.strip("-0.e+") else text


def _style(cell: str) -> str:
    return "dim" if cell in (ELLIPSIS, "-inf") else ""
