"""A drawing as SVG: text as text, nothing from outside, every character escaped."""

from __future__ import annotations

import base64
from functools import singledispatch
from xml.sax.saxutils import escape, quoteattr

from regard.png import encode_png
from regard.view.figure.layout import Box, Curve, Drawing, Image, Label, Mark

FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
MM = 25.4 / 72  # of a point


def to_svg(drawing: Drawing, mm: float | None = None) -> str:
    """The drawing at its natural size, or ``mm`` millimetres wide."""
    across = drawing.width * MM if mm is None else mm
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
    return code >= 0x20 and not 0x7F <= code < 0xA0 and not 0xD800 <= code < 0xE000 and (
        code & 0xFFFE != 0xFFFE
    )  # fmt: skip
