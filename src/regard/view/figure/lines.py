"""Line figure: queries and keys joined by lines as thick as the weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from regard.view.figure.layout import (
    ACCENT,
    INK,
    LINE,
    QUIET,
    TEXT,
    Curve,
    Drawing,
    Label,
    Mark,
    framed,
    shortened,
    width_of,
)

if TYPE_CHECKING:
    from regard.view.figure.figure import Picture

Pair = tuple[float, float]
PITCH, GAP, THICKEST, LONGEST = 13.0, 120.0, 7.0, 110.0


def draw_lines(picture: Picture) -> Drawing:
    """Queries on the left, keys on the right, both from top to bottom."""
    left, right = (_column(names, axis) for names, axis in zip(picture.names, picture.axes,
                                                               strict=True))  # fmt: skip
    tall = max(picture.weights.shape)
    starts = [(tall - size) / 2 * PITCH + 1.8 * PITCH for size in picture.weights.shape]
    column_x = (left + 4, left + 4 + GAP)
    marks: list[Mark] = [*_curves(picture, column_x, starts), *_headings(picture, column_x)]
    marks += _words(picture, column_x, starts)
    size = (left + GAP + right + 8, tall * PITCH + 1.2 * PITCH)
    return framed(marks, size, picture.title, (_caption(picture), picture.provenance))


def _column(names: tuple[str, ...], axis: str) -> float:
    """Width of a column: its longest name and a percentage behind it."""
    widest = max((width_of(name, TEXT) for name in names), default=0)
    return max(min(widest, LONGEST) + 28, width_of(axis, TEXT))


def _curves(picture: Picture, column_x: Pair, starts: list[float]) -> Iterator[Curve]:
    """The thin ones first, the chosen ones last, so that nothing that matters is covered."""
    shown = np.argwhere(picture.weights >= max(picture.threshold, 1e-12))
    order = sorted(shown.tolist(), key=lambda x: (x[0] in picture.chosen, picture.weights[*x]))
    for query, key in order:
        weight = float(picture.weights[query, key])
        pale = bool(picture.chosen) and query not in picture.chosen
        yield Curve(
            column_x[0], starts[0] + query * PITCH, column_x[1], starts[1] + key * PITCH,
            max(0.15, THICKEST * weight),
            ACCENT if query in picture.chosen else LINE, 0.12 if pale else 0.75,
        )  # fmt: skip


def _headings(picture: Picture, column_x: Pair) -> list[Mark]:
    query_axis, key_axis = picture.axes
    return [
        Label(column_x[0], 0.7 * PITCH, query_axis, TEXT, QUIET, "end"),
        Label(column_x[1], 0.7 * PITCH, key_axis, TEXT, QUIET),
    ]


def _words(picture: Picture, column_x: Pair, starts: list[float]) -> Iterator[Label]:
    queries, keys = picture.names
    for row, name in enumerate(queries):
        chosen = row in picture.chosen
        y = starts[0] + row * PITCH + 0.33 * TEXT
        yield Label(column_x[0] - 3, y, shortened(name, TEXT, LONGEST), TEXT,
                   ACCENT if chosen else INK, "end", bold=chosen)  # fmt: skip
    shares = picture.weights[list(picture.chosen)].mean(axis=0) if picture.chosen else None
    for column, name in enumerate(keys):
        y = starts[1] + column * PITCH + 0.33 * TEXT
        yield Label(column_x[1] + 3, y, shortened(name, TEXT, LONGEST), TEXT)
        if shares is not None and shares[column] >= max(picture.threshold, 0.01):
            x = column_x[1] + 3 + min(width_of(name, TEXT), LONGEST) + 4
            yield Label(x, y, f"{100 * shares[column]:.0f} %", TEXT, ACCENT, bold=True)


def _caption(picture: Picture) -> str:
    hidden = picture.weights[picture.weights < picture.threshold]
    if not picture.threshold or not hidden.size or not hidden.any():
        return picture.caption
    omitted = f"Weights under {100 * picture.threshold:g} % are not drawn."
    return f"{picture.caption} {omitted}".strip()
