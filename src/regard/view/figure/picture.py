"""Picture: weights with names, caption and provenance, as SVG, PNG, PDF, JSON, CSV or HTML."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.arguments import named_arguments
from regard.atomic_write import check_writable, write_bytes
from regard.errors import ArgumentError
from regard.textbook.digits import tidy
from regard.textbook.steps import lists
from regard.typing import Array
from regard.view.figure.drawing import MAX_BOXES, Drawing, to_svg
from regard.view.figure.heatmap import draw_heatmap
from regard.view.figure.lines import check_card, draw_card, draw_lines
from regard.view.figure.matplotlib_backend import check_installed, draw_bytes

AXIS_TITLES = ("query (looks)", "key (is looked at)")
KINDS = ("lines", "heatmap", "card")
ENDINGS = (".svg", ".png", ".pdf", ".json", ".csv", ".html")
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # how a spreadsheet's formula begins
MAX_LINES = 100
SHADED_SHARE = 0.996  # of a large map's weights: scaled by the rest, these would all be white


@named_arguments
@dataclass(frozen=True)
class Picture:
    """Weights (q, k) with the names of their rows and columns; ``save`` writes a file.

    ``kind`` is 'lines', 'heatmap' or, for sharing, 'card'; ``chosen`` rows stand out; ``page``
    makes the file that one can explore (.html).
    """

    weights: Array
    names: tuple[tuple[str, ...], tuple[str, ...]]
    kind: str
    title: str
    caption: str = ""
    provenance: str = ""
    chosen: tuple[int, ...] = ()
    axes: tuple[str, str] = AXIS_TITLES
    what: str = "weights"
    threshold: float = 0.01
    page: Callable[[], str] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_kind(self.kind)
        if self.kind == "card":
            check_card(self)
        if self.kind == "lines" and self.what != "weights":
            raise ArgumentError(f"lines show weights, but this is {self.what}: use kind='heatmap'.")
        if self.kind == "lines" and max(self.weights.shape) > MAX_LINES:
            raise ArgumentError(
                f"a picture with lines has room for {MAX_LINES} words a side, got "
                f"{max(self.weights.shape)}: use kind='heatmap'."
            )

    @cached_property
    def drawing(self) -> Drawing:
        """The marks of the picture: boxes, lines, labels."""
        if self.kind == "lines":
            return draw_lines(self)
        if self.kind == "card":
            return draw_card(self)
        return draw_heatmap(self)

    @cached_property
    def colour_limits(self) -> tuple[float, float]:
        """The numbers at the ends of the colour bar; 0 is white."""
        finite = self.weights[np.isfinite(self.weights)]
        high = max(float(finite.max(initial=0.0)), -float(finite.min(initial=0.0))) or 1.0
        if self.root_scale and (finite > 0).sum() > 500:
            high = float(np.quantile(finite[finite > 0], SHADED_SHARE))
        return (-high if finite.size and finite.min() < 0 else 0.0, high)

    @property
    def root_scale(self) -> bool:
        """True where shades follow the root: in a large map few weights are large."""
        return self.what == "weights" and max(self.weights.shape) > MAX_BOXES

    def number(self, value: float) -> str:
        """A cell's number: whole percentages for weights."""
        if not math.isfinite(value):
            return "-∞" if value < 0 else "∞"
        if self.what == "weights":
            return f"{tidy(100 * value):.0f}"
        return f"{round(tidy(value), 2) + 0.0:.2f}"  # -0.001 is 0.00, not -0.00

    def label(self, value: float) -> str:
        """A number with its unit, as beside the colour bar."""
        return f"{tidy(100 * value):.3g} %" if self.what == "weights" else f"{tidy(value):.3g}"

    def svg(self, mm: float | None = None) -> str:
        """The picture as SVG, ``mm`` millimetres wide where given."""
        return to_svg(self.drawing, mm)

    def save(self, path: str | Path, *, mm: float | None = None) -> Path:
        """Write the picture; the ending says how: .svg .png .pdf .json .csv or .html."""
        path = Path(path)
        write_bytes(path, self.content(path.suffix.lower(), mm))
        return path

    def content(self, ending: str, mm: float | None = None) -> bytes:
        """What ``save`` writes to a file with this ending, such as '.svg'."""
        check_width(mm)
        if ending in (".png", ".pdf"):
            return draw_bytes(self.drawing, ending[1:], mm)
        return self._text(ending, mm).encode("utf-8", "backslashreplace")

    def _text(self, ending: str, mm: float | None) -> str:
        if ending == ".html":
            return self._html()
        writers: dict[str, Callable[[], str]] = {
            ".svg": lambda: self.svg(mm),
            ".json": lambda: to_json(self),
            ".csv": lambda: to_csv(self),
        }
        return writers[check_ending(ending)]()

    def _html(self) -> str:
        if self.page is None:
            raise ArgumentError(
                "this picture has no page to explore: save it as .svg, .png, .pdf, .json or .csv."
            )
        return self.page()

    def to_dict(self) -> dict[str, Any]:
        """Names, numbers (a list of rows) and provenance, ready for JSON."""
        return {
            "title": self.title,
            "caption": self.caption,
            "provenance": self.provenance,
            "axes": list(self.axes),
            "queries": list(self.names[0]),
            "keys": list(self.names[1]),
            "what": self.what,
            "weights": lists(self.weights),
        }

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        rows, columns = self.weights.shape
        return (
            f"Picture of {rows} x {columns} {self.what} ({self.kind}): {self.title}. "
            f"Save it with .save(name), the name ending in {', '.join(ENDINGS[:-1])} or .html."
        )


def to_json(picture: Picture) -> str:
    """One line of strict JSON."""
    return json.dumps(picture.to_dict(), ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(picture: Picture) -> str:
    """Rows are queries, columns are keys; every digit that tells a number from its neighbours."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(["", *map(plain, picture.names[1])])
    for name, row in zip(picture.names[0], picture.weights, strict=True):
        writer.writerow([plain(name), *(repr(float(x)) for x in row)])
    return page.getvalue()


def plain(name: str) -> str:
    """A name that no spreadsheet takes for a formula.

    >>> plain("=1+1"), plain("dog")
    ("'=1+1", 'dog')
    """
    return f"'{name}" if name.startswith(FORMULA_STARTS) else name


def check_ending(ending: str) -> str:
    """One of the endings that a picture can be saved under."""
    if ending not in ENDINGS:
        raise ArgumentError(
            f"a picture's file name must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, "
            f"got {ending!r}."
        )
    return ending


def check_savable(path: Path) -> None:
    """Raise where a picture cannot be saved under this name, before it is made."""
    ending = check_ending(path.suffix.lower())
    if ending in (".png", ".pdf"):
        check_installed()
    check_writable(path)


def check_kind(kind: str) -> None:
    """Raise an ArgumentError for an unknown kind of picture."""
    if kind not in KINDS:
        raise ArgumentError(f"kind must be 'lines', 'heatmap' or 'card', got {kind!r}.")


def check_width(mm: float | None) -> None:
    """Raise an ArgumentError for a width that no paper has."""
    if mm is not None and not 10 <= mm <= 2000:
        raise ArgumentError(f"mm must be 10 to 2000, got {mm!r}.")
