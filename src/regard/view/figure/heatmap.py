"""Heatmap figure: rows are queries, columns are keys, a bar says what the shades mean."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.typing import Array
from regard.view.figure.drawing import (
    ACCENT,
    INK,
    MAX_BOXES,
    PAPER,
    QUIET,
    RULE,
    SMALL_SIZE,
    TEXT_SIZE,
    Box,
    Drawing,
    Image,
    Label,
    Mark,
    framed,
    shade,
    shortened,
    text_width,
    web,
)

if TYPE_CHECKING:
    from regard.view.figure.picture import Picture

MAX_SIDE, MAX_NAME_WIDTH = 300.0, 80.0  # a matrix's side, a name's width
MAX_NUMBERED_SIDE = 14
MIN_CELL_SIDE = 4.5
BASELINE = 0.36  # from the middle of a line of text to its baseline, as a share of its size


def draw_heatmap(picture: Picture) -> Drawing:
    """Names on the left and above, the matrix, and a colour bar on the right."""
    rows, columns = picture.weights.shape
    grid = _grid(picture)
    cell, left, top = grid.cell, grid.left, grid.top
    marks: list[Mark] = [*_cells(picture, grid), *_names(picture, grid), *_axes(picture, grid)]
    last = _width(picture.names[1][-1], grid.size) if grid.turn == -45 and columns else 0
    bar = left + columns * cell + max(12.0, 0.71 * last - cell)
    marks += _bar(picture, bar, top, rows * cell)
    size = (bar + 40, top + max(rows * cell, 40.0))
    return framed(marks, size, picture.title, (picture.caption, picture.provenance))


@dataclass(frozen=True)
class Grid:
    """Origin of the matrix, size of a cell and of the text, angle of the column names."""

    left: float
    top: float
    cell: float
    size: float
    turn: float


def _grid(picture: Picture) -> Grid:
    rows, columns = picture.weights.shape
    cell = min(22.0, MAX_SIDE / max(rows, columns, 1))
    numbered = all(map(_is_number, picture.names[1]))
    size = (
        TEXT_SIZE
        if numbered and all(map(_is_number, picture.names[0]))
        else min(TEXT_SIZE, max(MIN_CELL_SIDE, 0.95 * cell))
    )
    steep = not numbered and any(_width(name, size) > cell - 3 for name in picture.names[1])
    turn = 0.0 if not steep else -45.0 if cell >= 1.4 * size else -90.0
    longest = max((_width(name, size) for name in picture.names[1]), default=0)
    left = max((_width(name, size) for name in picture.names[0]), default=0) + 20
    top = {0.0: 10.0, -45.0: 0.71 * longest, -90.0: longest}[turn] + 18
    return Grid(left, top, cell, size, turn)


def shares(picture: Picture) -> Array:
    """Each number as a share of the largest, or its root; nan where it is hidden (-inf)."""
    finite = np.where(np.isfinite(picture.weights), picture.weights, np.nan)
    share = np.asarray(finite / picture.colour_limits[1])
    return np.sqrt(np.maximum(share, 0)) if picture.root_scale else share


def _cells(picture: Picture, grid: Grid) -> Iterator[Mark]:
    cell, left, top = grid.cell, grid.left, grid.top
    rows, columns = picture.weights.shape
    share = shares(picture)
    colours = shade(share)
    yield Box(left - 0.4, top - 0.4, columns * cell + 0.8, rows * cell + 0.8, RULE)
    if max(rows, columns) > MAX_BOXES:
        yield Image(left, top, columns * cell, rows * cell, colours)
        return
    gap = 0.4 if cell > 8 else 0.0
    for row, column in np.ndindex(rows, columns):
        x, y = left + column * cell, top + row * cell
        yield Box(x, y, cell - gap, cell - gap, web(colours[row, column]))
        if max(rows, columns) <= MAX_NUMBERED_SIDE:
            dark = bool(abs(share[row, column]) > 0.55)
            text = picture.number(float(picture.weights[row, column]))
            yield _number(text, dark, (x + cell / 2, y + cell / 2))


def _number(text: str, dark: bool, middle: tuple[float, float]) -> Label:
    size = min(SMALL_SIZE, SMALL_SIZE * 18 / max(text_width(text, SMALL_SIZE), 1))
    return Label(
        middle[0], middle[1] + BASELINE * size, text, size, PAPER if dark else INK, "middle"
    )


def _names(picture: Picture, grid: Grid) -> Iterator[Label]:
    """Every name, or as many as do not run into each other."""
    rows, columns = picture.names
    size = grid.size
    for row in shown(rows, size / grid.cell):
        chosen = row in picture.chosen
        y = grid.top + (row + 0.5) * grid.cell + BASELINE * size
        yield Label(
            grid.left - 4,
            y,
            shortened(rows[row], size, MAX_NAME_WIDTH),
            size,
            ACCENT if chosen else INK,
            "end",
            bold=chosen,
        )
    width = size if grid.turn else max((_width(x, size) for x in columns), default=0) + 4
    shift = {0.0: 0.0, -45.0: 2.0, -90.0: BASELINE * size}[grid.turn]
    for column in shown(columns, width / grid.cell):
        x = grid.left + (column + 0.5) * grid.cell + shift
        name = shortened(columns[column], size, MAX_NAME_WIDTH)
        anchor = "start" if grid.turn else "middle"
        yield Label(x, grid.top - 4, name, size, INK, anchor, grid.turn)


def shown(names: tuple[str, ...], cells: float) -> list[int]:
    """Indices of the names to write, where each is as wide as this number of cells.

    Of positions those nearest to round numbers are written.

    >>> shown(("a", "b", "c", "d"), 1.5)
    [0, 2]
    >>> shown(tuple(str(8 * i) for i in range(256)), 40)
    [0, 63, 125, 188, 250]
    """
    if cells <= 1 or not all(map(_is_number, names)):
        return list(range(0, len(names), round_up(cells)))
    positions = [int(name.replace(",", "")) for name in names]
    step = round_up(
        max(cells, len(names) / 8) * (positions[-1] - positions[0]) / max(1, len(names) - 1)
    )
    ticks = range(0, positions[-1] + 1, max(1, step))
    return sorted({bisect_left(positions, tick) for tick in ticks if tick >= positions[0]})


def _axes(picture: Picture, grid: Grid) -> list[Mark]:
    rows, columns = picture.weights.shape
    middle = grid.left + columns * grid.cell / 2
    return [
        Label(
            8, grid.top + rows * grid.cell / 2, picture.axes[0], TEXT_SIZE, QUIET, "middle", -90.0
        ),
        Label(middle, 8, picture.axes[1], TEXT_SIZE, QUIET, "middle"),
    ]


def _bar(picture: Picture, x: float, top: float, height: float) -> list[Mark]:
    """The colour bar, with the numbers at both ends, and midway in a large map.

    Half as dark is a quarter as much there, since shades follow the root.
    """
    height = min(max(height, 40.0), 90.0)
    low, high = picture.colour_limits
    colours = shade(np.linspace(1, low / high, 64))[:, None]
    texts = [(TEXT_SIZE * 0.8, picture.label(high)), (height, picture.label(low))]
    if picture.root_scale:
        beyond = float(picture.weights.max()) > high
        texts[0] = (TEXT_SIZE * 0.8, f"{picture.label(high)}{' +' if beyond else ''}")
        texts.append((height / 2 + BASELINE * SMALL_SIZE, picture.label(high / 4)))
    return [
        Box(x - 0.4, top - 0.4, 8.8, height + 0.8, RULE),
        Image(x, top, 8, height, colours),
        *(Label(x + 11, top + y, text, SMALL_SIZE, QUIET) for y, text in texts),
    ]


def round_up(needed: float) -> int:
    """The smallest of 1, 2, 5, 10, 20, ... that is at least what is needed.

    >>> [round_up(x) for x in (0.4, 1.5, 3, 70)]
    [1, 2, 5, 100]
    """
    steps = (digit * int(10**power) for power in range(12) for digit in (1, 2, 5))
    return next(step for step in steps if step >= needed)


def _is_number(name: str) -> bool:
    return name.replace(",", "").isdecimal()


def _width(name: str, size: float) -> float:
    return min(text_width(name, size), MAX_NAME_WIDTH)
