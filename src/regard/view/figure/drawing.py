"""Drawings: shapes, colours, text widths, the frame of a figure, and their SVG."""

from __future__ import annotations

import base64
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from regard.png import encode_png
from regard.typing import Array


@dataclass(frozen=True)
class Curve:
    """A line from (x, y) to (to_x, to_y) that leaves and arrives level, or upright by ``lift``."""

    x: float
    y: float
    to_x: float
    to_y: float
    width: float
    colour: str
    opacity: float = 1.0
    lift: float = 0.0

    @property
    def controls(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The two points that the cubic curve is drawn towards."""
        if self.lift:
            return (self.x, self.y - self.lift), (self.to_x, self.to_y - self.lift)
        middle = (self.x + self.to_x) / 2
        return (middle, self.y), (middle, self.to_y)


@dataclass(frozen=True)
class Box:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Image:
    """Many small boxes at once: colours (rows, columns, 3) in whole numbers from 0 to 255."""

    x: float
    y: float
    width: float
    height: float
    colours: Array


@dataclass(frozen=True)
class Label:
    """A line of text; (x, y) is on its baseline, ``turn`` degrees clockwise about that point."""

    x: float
    y: float
    text: str
    size: float = 8.0
    colour: str = "#1a1a1a"
    anchor: str = "start"
    turn: float = 0.0
    bold: bool = False


Mark = Curve | Box | Image | Label


@dataclass(frozen=True)
class Drawing:
    """Marks on a white sheet, later ones above earlier ones; ``about`` describes it to
    screen readers.

    ``dots`` is its resolution in pixels, per inch.
    """

    width: float
    height: float
    marks: tuple[Mark, ...]
    title: str
    about: str
    dots: int = 300


INK, QUIET, RULE, PAPER = "#1a1a1a", "#6a6a6a", "#c8c8c8", "#ffffff"
ACCENT, LINE = "#d9630b", "#2a6fb0"
# White to deep blue, even steps of lightness, so that it also reads in grey and to any eye.
SCALE = ((255, 255, 255), (214, 230, 244), (143, 191, 224), (58, 128, 191), (10, 48, 108))
NEGATIVE_SCALE = ((255, 255, 255), (252, 226, 204), (248, 179, 120), (217, 99, 11), (115, 45, 2))
MAX_BOXES = 48  # a side; a larger matrix is an image, a fiftieth of the size of boxes
NARROW, WIDE = frozenset("fijlrtI.,:;'|!()[]/ -"), frozenset("mwMW%@")


def shade(share: Array) -> Array:
    """Colours (..., 3) from 0 to 255 of shares: -1 deep orange, 0 white, 1 deep blue.

    What is not a number is grey.

    >>> shade(np.array([-1.0, 0.0, 1.0])).tolist()
    [[115, 45, 2], [255, 255, 255], [10, 48, 108]]
    """
    stops = (*NEGATIVE_SCALE[:0:-1], *SCALE)
    steps = np.linspace(-1, 1, len(stops))
    finite = np.nan_to_num(np.clip(share, -1, 1))
    bands = [np.interp(finite, steps, [stop[band] for stop in stops]) for band in range(3)]
    colours = np.stack(bands, axis=-1).round().astype(np.uint8)
    colours[np.isnan(share)] = 235
    return colours


def web(colour: Array) -> str:
    """A colour in hexadecimal, as CSS has it.

    >>> web(np.array([255, 0, 16]))
    '#ff0010'
    """
    return "#" + "".join(f"{int(band):02x}" for band in colour)


def text_width(text: str, size: float) -> float:
    """Estimate of a text's width in a common sans serif, in points, on the safe side.

    >>> text_width("it", 10) < text_width("mm", 10) < text_width("犬犬犬", 10)
    True
    """
    return size * sum(map(_em, text))


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in NARROW:
        return 0.38
    if character in WIDE:
        return 0.95
    return 0.7 if character.isupper() else 0.61


TEXT_SIZE, SMALL_SIZE, MARGIN = 8.0, 6.5, 8.0


def framed(
    marks: list[Mark], size: tuple[float, float], title: str, below: tuple[str, str]
) -> Drawing:
    """Put marks, drawn from (0, 0) to ``size``, under a title and above caption and provenance."""
    max_width = max(size[0], 200.0)
    shift = (max_width - size[0]) / 2 + MARGIN
    title_lines = wrapped(title, TEXT_SIZE + 1, max_width)
    top = MARGIN + 12 * len(title_lines) + (6 if title else 0)
    placed: list[Mark] = [_moved(mark, shift, top) for mark in marks]
    for number, line in enumerate(title_lines):
        placed.append(Label(MARGIN, MARGIN + 9 + 12 * number, line, TEXT_SIZE + 1, bold=True))
    y = top + size[1] + 4
    for text, font_size, colour, pitch in zip(
        below, (TEXT_SIZE, SMALL_SIZE), (INK, QUIET), (11, 9), strict=True
    ):
        for line in wrapped(text, font_size, max_width):
            y += pitch
            placed.append(Label(MARGIN, y, line, font_size, colour))
        y += 3 if text else 0
    about = " ".join(x for x in below if x)
    return Drawing(max_width + 2 * MARGIN, y + MARGIN, tuple(placed), title, about)


def wrapped(text: str, size: float, max_width: float) -> list[str]:
    """Lines no wider than ``max_width``; a word that is wider than it is cut.

    >>> wrapped("a dog ate", 10, 40)
    ['a dog', 'ate']
    """
    lines, line = [], ""
    for word in _pieces(text, size, max_width):
        longer = f"{line} {word}" if line else word
        if line and text_width(longer, size) > max_width:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line] if line else lines


def shortened(text: str, size: float, max_width: float) -> str:
    """As much of a text as fits the width, with an ellipsis where it was cut.

    >>> shortened("Donaudampfschiff", 10, 40)
    'Donau…'
    """
    if text_width(text, size) <= max_width:
        return text
    while text and text_width(text + "…", size) > max_width:
        text = text[:-1]
    return text + "…"


def _pieces(text: str, size: float, max_width: float) -> Iterator[str]:
    for word in text.split():
        while text_width(word, size) > max_width:
            cut = max(1, len(shortened(word, size, max_width)) - 1)
            yield word[:cut]
            word = word[cut:]
        if word:
            yield word


def _moved(mark: Mark, x: float, y: float) -> Mark:
    if isinstance(mark, Curve):
        mark = replace(mark, to_x=mark.to_x + x, to_y=mark.to_y + y)
    moved: Mark = replace(mark, x=mark.x + x, y=mark.y + y)
    return moved


FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
MM_PER_POINT = 25.4 / 72


def to_svg(drawing: Drawing, mm: float | None = None) -> str:
    """The drawing at its natural size, or ``mm`` millimetres wide."""
    across = drawing.width * MM_PER_POINT if mm is None else mm
    down = across * drawing.height / drawing.width
    marks = "\n".join(map(write, drawing.marks))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'width="{_n(across)}mm" height="{_n(down)}mm" '
        f'viewBox="0 0 {_n(drawing.width)} {_n(drawing.height)}" font-family="{FONT}">\n'
        f"<title>{clean(drawing.title)}</title>\n<desc>{clean(drawing.about)}</desc>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{marks}\n</svg>\n'
    )


def clean(text: str) -> str:
    """Text for XML, which has no control characters at all.

    >>> clean('</script><img onerror="x">')
    '&lt;/script&gt;&lt;img onerror="x"&gt;'
    """
    return escape("".join(x if _in_xml(x) else " " for x in text))


@singledispatch
def write(mark: Mark) -> str:
    """One mark as an element."""
    raise TypeError(f"no way to write {type(mark).__name__}")


@write.register
def _(mark: Curve) -> str:
    (ax, ay), (bx, by) = mark.controls
    path = (
        f"M{_n(mark.x)} {_n(mark.y)}C{_n(ax)} {_n(ay)} {_n(bx)} {_n(by)} "
        f"{_n(mark.to_x)} {_n(mark.to_y)}"
    )
    return (
        f'<path d="{path}" fill="none" stroke="{mark.colour}" stroke-width="{_n(mark.width)}"'
        f"{_given('stroke-opacity', mark.opacity, 1.0)}/>"
    )


@write.register
def _(mark: Box) -> str:
    return (
        f'<rect x="{_n(mark.x)}" y="{_n(mark.y)}" width="{_n(mark.width)}" '
        f'height="{_n(mark.height)}" fill="{mark.colour}"/>'
    )


@write.register
def _(mark: Image) -> str:
    data = base64.b64encode(encode_png(mark.colours)).decode()
    return (
        f'<image x="{_n(mark.x)}" y="{_n(mark.y)}" width="{_n(mark.width)}" '
        f'height="{_n(mark.height)}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )


@write.register
def _(mark: Label) -> str:
    turn = f"rotate({_n(mark.turn)} {_n(mark.x)} {_n(mark.y)})" if mark.turn else ""
    anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
    return (
        f'<text x="{_n(mark.x)}" y="{_n(mark.y)}" font-size="{_n(mark.size)}" '
        f'fill="{mark.colour}"{anchor}{" font-weight=" + quoteattr("bold") if mark.bold else ""}'
        f"{f' transform={quoteattr(turn)}' if turn else ''} "
        f'xml:space="preserve">{clean(mark.text)}</text>'
    )


def _n(number: float) -> str:
    """A coordinate in hundredths of a point, enough for any printer."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _given(name: str, value: float, usual: float) -> str:
    return "" if value == usual else f' {name}="{_n(value)}"'


def _in_xml(character: str) -> bool:
    code = ord(character)
    return (
        code >= 0x20
        and not 0x7F <= code < 0xA0
        and not 0xD800 <= code < 0xE000
        and (code & 0xFFFE != 0xFFFE)
    )
