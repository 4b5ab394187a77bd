"""Drawings as PNG, or as PDF with its fonts inside, through matplotlib: the same marks.

Both need the letters of a font, which nothing in the base installation has.
"""

from __future__ import annotations

import importlib.util
import io
import unicodedata
import warnings
from functools import singledispatch
from typing import Any

from regard.errors import BackendError
from regard.view.figure.drawing import Box, Curve, Drawing, Image, Label, Mark

POINTS_PER_INCH, MM_PER_INCH = 72.0, 25.4


def draw_bytes(drawing: Drawing, ending: str, mm: float | None = None) -> bytes:
    """The file, 'png' or 'pdf', at the drawing's natural size or ``mm`` millimetres wide."""
    check_installed()
    from matplotlib.figure import Figure

    scale = 1.0 if mm is None else mm / MM_PER_INCH * POINTS_PER_INCH / drawing.width
    size = (drawing.width * scale / POINTS_PER_INCH, drawing.height * scale / POINTS_PER_INCH)
    figure = Figure(figsize=size, dpi=drawing.dots, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, drawing.width), ylim=(drawing.height, 0))
    axes.set_axis_off()
    for above, mark in enumerate(drawing.marks):
        put(mark, axes, above, scale)
    return _written(figure, ending, drawing)


def is_installed() -> bool:
    """True where matplotlib can be imported."""
    return importlib.util.find_spec("matplotlib") is not None


def check_installed() -> None:
    """Raise where matplotlib, which draws the letters, is not installed."""
    if not is_installed():
        raise BackendError(
            ".png and .pdf need matplotlib, which is not installed: pip install 'regard[picture]', "
            "save as .svg, which any browser prints as PDF, or save the PNG in the page: regard "
            "open."
        )


def _written(figure: Any, ending: str, drawing: Drawing) -> bytes:
    from matplotlib import rc_context

    file = io.BytesIO()
    # Without the date the same picture is the same file.
    about = {"Title": _drawable(drawing.title), "Creator": "regard"} | (
        {"CreationDate": None} if ending == "pdf" else {}
    )
    with rc_context({"pdf.fonttype": 42}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a letter that no font here has is a box
        figure.savefig(file, format=ending, metadata=about)
    return file.getvalue()


def _drawable(text: str) -> str:
    """Text without what no font draws: control characters and halves of a character."""
    return "".join(" " if unicodedata.category(x) in ("Cc", "Cf", "Cs") else x for x in text)


@singledispatch
def put(mark: Mark, axes: Any, above: int, scale: float) -> None:
    """Add one mark to the axes."""
    raise TypeError(f"no way to draw {type(mark).__name__}")


@put.register
def _(mark: Curve, axes: Any, above: int, scale: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    points = [(mark.x, mark.y), *mark.controls, (mark.to_x, mark.to_y)]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    axes.add_patch(
        PathPatch(
            path,
            fill=False,
            edgecolor=mark.colour,
            alpha=mark.opacity,
            linewidth=mark.width * scale,
            capstyle="butt",
            zorder=above,
        )
    )


@put.register
def _(mark: Box, axes: Any, above: int, scale: float) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle(
            (mark.x, mark.y),
            mark.width,
            mark.height,
            facecolor=mark.colour,
            linewidth=0,
            zorder=above,
        )
    )


@put.register
def _(mark: Image, axes: Any, above: int, scale: float) -> None:
    extent = (mark.x, mark.x + mark.width, mark.y + mark.height, mark.y)
    axes.imshow(
        mark.colours,
        extent=extent,
        aspect="auto",
        interpolation="nearest",
        zorder=above,
        origin="upper",
    )


@put.register
def _(mark: Label, axes: Any, above: int, scale: float) -> None:
    align = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    axes.text(
        mark.x,
        mark.y,
        _drawable(mark.text),
        fontsize=mark.size * scale,
        color=mark.colour,
        ha=align,
        va="baseline",
        rotation=-mark.turn,
        rotation_mode="anchor",
        parse_math=False,
        fontweight="bold" if mark.bold else "normal",
        zorder=above,
        family="DejaVu Sans",
    )
