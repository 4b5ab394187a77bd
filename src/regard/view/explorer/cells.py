"""Cells that a rectangle of the weights is cut into: where they lie, and what they are in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Region:
    """Which queries and keys, and into how many cells each side is cut."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    cells: tuple[int, int]

    @property
    def row_edges(self) -> Array:
        """Where blocks of queries begin, and the end."""
        return edges(*self.rows, self.cells[0])

    @property
    def column_edges(self) -> Array:
        """Where blocks of keys begin, and the end."""
        return edges(*self.columns, self.cells[1])

    @property
    def size(self) -> int:
        """How many weights lie in it."""
        return (self.rows[1] - self.rows[0]) * (self.columns[1] - self.columns[0])


@dataclass(frozen=True)
class Shown:
    """Numbers of cells, where these lie, and in words what they are; can waiting make it better?"""

    values_rc: Array
    row_edges: Array
    column_edges: Array
    what: str
    better: bool = False

    def places(self) -> dict[str, list[int]]:
        """Where the cells lie, for the page: ``spans`` count the last one as whole as the others.

        Cell i begins at start + i * span // cells.
        """
        sides = self.row_edges, self.column_edges
        rows, columns = ([int(side[0]), int(side[-1])] for side in sides)
        spans = [_span(side) for side in sides]
        return {"rows": rows, "columns": columns, "cells": list(self.values_rc.shape),
                "spans": spans}  # fmt: skip


def edges(start: int, stop: int, cells: int) -> Array:
    """Cut a range into cells as even as whole numbers allow; never more cells than positions.

    >>> edges(5, 15, 4).tolist(), edges(5, 7, 4).tolist()
    ([5, 7, 10, 12, 15], [5, 6, 7])
    """
    parts = max(1, min(cells, stop - start))
    return start + np.arange(parts + 1) * (stop - start) // parts


def _span(bounds: Array) -> int:
    sizes = np.diff(bounds)
    equal = (sizes[:-1] == sizes[0]).all() and sizes[-1] <= sizes[0]
    return int(len(sizes) * sizes[0] if equal else bounds[-1] - bounds[0])


def cell_words(rows: int, columns: int) -> str:
    """What exact cells are, by the largest number of queries and of keys in one."""
    if rows == columns == 1:
        return "exact: every cell is one weight"
    return (
        f"exact: each cell is the mean over {_up_to(rows, 'query', 'queries')} of the weight given "
        f"to {_up_to(columns, 'key', 'keys')}"
    )


def _up_to(size: int, one: str, many: str) -> str:
    return f"one {one}" if size == 1 else f"up to {size:,} {many}"
