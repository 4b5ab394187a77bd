"""Drawings as PDF, vector and text, with the fonts that every reader has."""

from __future__ import annotations

import math
import re
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from itertools import groupby

from regard.view.figure.drawing import (
    MARGIN,
    MM_PER_POINT,
    QUIET,
    SMALL_SIZE,
    Box,
    Curve,
    Drawing,
    Image,
    Label,
    Mark,
    text_width,
    wrapped,
)

HELVETICA = {
    191: "'",
    222: "ijl‚‘’",
    260: "|¦",
    278: " !,./:;I[\\]ft·ìíîï",
    333: "()-`r„ˆ‹“”˜›¡¨¯²³´¸¹",
    334: "{}",
    350: "•",
    355: '"',
    365: "º",
    370: "ª",
    389: "*",
    400: "°",
    469: "^",
    500: "Jcksvxyz",
    537: "¶",
    556: "#$0123456789?L_abdeghnopqu€ƒ†‡–¢£¤¥§«µ»ðþ",
    584: "+<=>~¬±×÷",
    611: "FTZ¿ßø",
    667: "&ABEKPSVXYÞ",
    722: "CDHNRUwÐ",
    737: "©®",
    778: "GOQØ",
    833: "Mm",
    834: "¼½¾",
    889: "%æ",
    944: "Wœ",
    1000: "…‰Œ—™Æ",
    1015: "@",
}
BOLD = {
    238: "'",
    278: " ,./I\\ijl‚‘’·",
    280: "|¦",
    333: "!()-:;[]`ftˆ‹˜›¡¨¯²³´¸¹",
    350: "•",
    365: "º",
    370: "ª",
    389: "*r{}",
    400: "°",
    474: '"',
    500: "z„“”",
    556: "#$0123456789J_aceksvxy€ƒ†‡–¢£¤¥§«¶»",
    584: "+<=>^~¬±×÷",
    611: "?FLTZbdghnopquµ¿ßðøþ",
    667: "EPSVXYÞ",
    722: "&ABCDHKNRUÐ",
    737: "©®",
    778: "GOQwØ",
    833: "M",
    834: "¼½¾",
    889: "%mæ",
    944: "Wœ",
    975: "@",
    1000: "…‰Œ—™Æ",
}
# Symbol has codes of its own: consecutive letters from a code on, with the width of each.
SYMBOL = (
    (0x22, "∀", (713,)),
    (0x24, "∃", (549,)),
    (0x2D, "−", (549,)),
    (0x41, "ΑΒΧΔΕΦΓΗΙ", (722, 667, 722, 612, 611, 763, 603, 722, 333)),
    (
        0x4B,
        "ΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ",
        (722, 686, 889, 722, 722, 768, 741, 556, 592, 611, 690, 439, 768, 645, 795, 611),
    ),
    (0x61, "αβχδεφγηι", (631, 549, 549, 494, 439, 521, 411, 603, 329)),
    (
        0x6B,
        "κλμνοπθρστυϖωξψζ",
        (549, 549, 576, 521, 549, 549, 521, 549, 603, 439, 576, 713, 686, 493, 686, 494),
    ),
    (0xA2, "′≤", (247, 549)),
    (0xA5, "∞", (713,)),
    (0xAB, "↔←↑→↓", (1042, 987, 603, 987, 603)),
    (0xB2, "″≥", (411, 549)),
    (0xB5, "∝∂", (713, 494)),
    (0xB9, "≠≡≈", (549, 549, 549)),
    (0xBF, "↵", (658,)),
    (0xD1, "∇", (713,)),
    (0xD5, "∏√⋅", (823, 549, 250)),
    (0xE5, "∑", (713,)),
)
SUBSTITUTES = {"\u00a0": " ", "\u00ad": "-", "▁": "_"}  # ▁ begins a word among sub-words


@dataclass(frozen=True)
class GlyphRun:
    """Letters of one font: its resource name, their codes, and their width at size 1."""

    font: str
    codes: bytes
    width: float


def runs(text: str, bold: bool = False) -> list[GlyphRun]:
    """A text cut where its font changes.

    >>> [(run.font, run.codes) for run in runs("-∞ été")]
    [('F1', b'-'), ('F3', b'\\xa5'), ('F1', b' \\xe9t\\xe9')]
    """
    letters = [_letter(x, bold) for x in substituted(text)]
    return [
        GlyphRun(
            font, bytes(code for _, code, _ in group), sum(width for *_, width in group) / 1000
        )
        for font, group in ((font, list(same)) for font, same in groupby(letters, _letter_font))
    ]


def substituted(text: str) -> str:
    """The text with the Unicode numbers of the letters that the fonts lack.

    >>> substituted("犬 œuf ▁dog")
    '‹72AC› œuf _dog'
    """
    return "".join(f"‹{ord(x):04X}›" if is_lacking(x) else x for x in drawn(text))


def is_lacking(letter: str) -> bool:
    """True where no font has the letter.

    >>> is_lacking("é"), is_lacking("∞"), is_lacking("犬")
    (False, False, True)
    """
    return letter not in WIDTHS["F1"] and letter not in CODES


def drawn(text: str) -> Iterator[str]:
    """The letters of a text, each with its accents; a control character is a space."""
    for letter in unicodedata.normalize("NFC", text):
        yield SUBSTITUTES.get(
            letter, " " if unicodedata.category(letter) in ("Cc", "Cf") else letter
        )


def _letter(letter: str, bold: bool) -> tuple[str, int, int]:
    font = "F2" if bold else "F1"
    if letter in WIDTHS[font]:
        return font, letter.encode("cp1252")[0], WIDTHS[font][letter]
    return "F3", *CODES[letter]


def _letter_font(letter: tuple[str, int, int]) -> str:
    return letter[0]


def _widths(groups: dict[int, str]) -> dict[str, int]:
    """The width of each letter; one with an accent is as wide as without, where none is given."""
    widths = {letter: width for width, letters in groups.items() for letter in letters}
    for letter in bytes(range(0x80, 0x100)).decode("cp1252", "ignore"):
        widths.setdefault(letter, widths.get(unicodedata.normalize("NFD", letter)[0], 0))
    return {letter: width for letter, width in widths.items() if width}


WIDTHS = {"F1": _widths(HELVETICA), "F2": _widths(BOLD)}
CODES = {
    letter: (start + at, width)
    for start, letters, widths in SYMBOL
    for at, (letter, width) in enumerate(zip(letters, widths, strict=True))
}
FONTS = {"F1": "Helvetica", "F2": "Helvetica-Bold", "F3": "Symbol"}
FIRST_FONT = 6  # numbers of objects: catalog, pages, page, content, title, then the fonts
DESCRIPTORS = {"F1": FIRST_FONT + len(FONTS), "F2": FIRST_FONT + len(FONTS) + 1}
FIRST_IMAGE = FIRST_FONT + len(FONTS) + len(DESCRIPTORS)
NUMBERED = (
    "‹…›: the Unicode number of a letter that the standard fonts of PDF lack. Save as SVG, or "
    "install matplotlib, to see the letters."
)


def to_pdf(drawing: Drawing, mm: float | None = None) -> bytes:
    """The drawing on one page of its natural size, or ``mm`` millimetres wide."""
    drawing = _with_note(drawing)
    scale = 1.0 if mm is None else mm / MM_PER_POINT / drawing.width
    paint = PdfPaint(drawing.height)
    marks = "\n".join(paint_mark(mark, paint) for mark in drawing.marks)
    content = f"{_n(scale)} 0 0 {_n(scale)} 0 0 cm\n{marks}\n".encode("latin-1")
    return _file(drawing, scale, paint, content)


class PdfPaint:
    """The height that y is counted from, and what the page's marks refer to."""

    def __init__(self, height: float) -> None:
        self.height = height
        self.opacities: list[float] = []
        self.images: list[Image] = []

    def opacity(self, share: float) -> str:
        if share not in self.opacities:
            self.opacities.append(share)
        return f"G{self.opacities.index(share)}"


@singledispatch
def paint_mark(mark: Mark, paint: PdfPaint) -> str:
    """One mark as operators of a content stream."""
    raise TypeError(f"no way to paint {type(mark).__name__}")


@paint_mark.register
def _(mark: Curve, paint: PdfPaint) -> str:
    height = paint.height
    points = ((mark.x, mark.y), *mark.controls, (mark.to_x, mark.to_y))
    start, *others = (f"{_n(x)} {_n(height - y)}" for x, y in points)
    return (
        f"/{paint.opacity(mark.opacity)} gs {_rgb(mark.colour)} RG {_n(mark.width)} w "
        f"{start} m {' '.join(others)} c S"
    )


@paint_mark.register
def _(mark: Box, paint: PdfPaint) -> str:
    y = paint.height - mark.y - mark.height
    return f"{_rgb(mark.colour)} rg {_n(mark.x)} {_n(y)} {_n(mark.width)} {_n(mark.height)} re f"


@paint_mark.register
def _(mark: Image, paint: PdfPaint) -> str:
    paint.images.append(mark)
    y = paint.height - mark.y - mark.height
    return (
        f"q {_n(mark.width)} 0 0 {_n(mark.height)} {_n(mark.x)} {_n(y)} cm "
        f"/I{len(paint.images) - 1} Do Q"
    )


@paint_mark.register
def _(mark: Label, paint: PdfPaint) -> str:
    parts = runs(mark.text, mark.bold)
    width = mark.size * sum(run.width for run in parts)
    # Numbers of letters are longer than the letters, for which the layout left room.
    narrow = min(1.0, text_width(mark.text, mark.size) / width) if width else 1.0
    shift = {"start": 0.0, "middle": -0.5, "end": -1.0}[mark.anchor] * width * narrow
    cos, sin = math.cos(math.radians(mark.turn)), math.sin(math.radians(mark.turn))
    x, y = mark.x + shift * cos, paint.height - mark.y - shift * sin
    shown = " ".join(f"/{run.font} {_n(mark.size)} Tf {_string(run.codes)} Tj" for run in parts)
    turned = f"{_n(cos)} {_n(-sin)} {_n(sin)} {_n(cos)} {_n(x)} {_n(y)} Tm"
    return f"BT {_rgb(mark.colour)} rg {turned} {_n(100 * narrow)} Tz {shown} ET"


def _with_note(drawing: Drawing) -> Drawing:
    """One more line where letters are written by number."""
    texts = "".join(mark.text for mark in drawing.marks if isinstance(mark, Label))
    if not any(map(is_lacking, drawn(texts))):
        return drawing
    lines = wrapped(NUMBERED, SMALL_SIZE, drawing.width - 2 * MARGIN)
    labels = [
        Label(MARGIN, drawing.height - MARGIN + 9 * (number + 1), line, SMALL_SIZE, QUIET)
        for number, line in enumerate(lines)
    ]
    height = drawing.height + 9 * len(lines)
    return replace(drawing, height=height, marks=(*drawing.marks, *labels))


def _file(drawing: Drawing, scale: float, paint: PdfPaint, content: bytes) -> bytes:
    """The numbered objects, a table of where each begins, and the trailer."""
    box = f"0 0 {_n(drawing.width * scale)} {_n(drawing.height * scale)}"
    fonts = " ".join(f"/{name} {FIRST_FONT + at} 0 R" for at, name in enumerate(FONTS))
    images = " ".join(f"/I{at} {FIRST_IMAGE + at} 0 R" for at in range(len(paint.images)))
    states = " ".join(f"/G{at} << /CA {_n(x)} >>" for at, x in enumerate(paint.opacities))
    resources = (
        f"<< /Font << {fonts} >> /XObject << {images} >> /ExtGState << {states} >> "
        "/ProcSet [/PDF /Text /ImageC] >>"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Contents 4 0 R /Resources {resources} "
        ">>".encode(),
        _stream("", content),
        # Without a date the same picture is the same file.
        f"<< /Title {_title(drawing.title)} /Subject {_title(drawing.about)} "
        "/Creator (regard) >>".encode(),
        *(_font_object(name, base) for name, base in FONTS.items()),
        *(_descriptor(FONTS[name]) for name in DESCRIPTORS),
        *(_image(image) for image in paint.images),
    ]
    return _numbered(objects)


def _numbered(objects: list[bytes]) -> bytes:
    # The second line holds bytes beyond ASCII, so that no one takes the file for text.
    file, starts = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for number, body in enumerate(objects, start=1):
        starts.append(len(file))
        file += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{start:010d} 00000 n \n" for start in starts)
    size = len(objects) + 1
    return (
        file
        + (
            f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n"
            f"<< /Size {size} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{len(file)}\n%%EOF\n"
        ).encode()
    )


def _stream(entries: str, content: bytes) -> bytes:
    packed = zlib.compress(content, 9)
    header = f"<< {entries}/Filter /FlateDecode /Length {len(packed)} >>\nstream\n"
    return header.encode() + packed + b"\nendstream"


def _font_object(name: str, base: str) -> bytes:
    """A font by name; with widths, so that a reader that lacks it fits another into them."""
    entry = f"<< /Type /Font /Subtype /Type1 /BaseFont /{base}"
    if name not in WIDTHS:
        return f"{entry} >>".encode()
    letters = (bytes([code]).decode("cp1252", "ignore") for code in range(32, 256))
    widths = " ".join(str(WIDTHS[name].get(letter, 0)) for letter in letters)
    return (
        f"{entry} /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar 255 /Widths [{widths}] "
        f"/FontDescriptor {DESCRIPTORS[name]} 0 R >>"
    ).encode()


def _descriptor(base: str) -> bytes:
    heavy = base.endswith("Bold")
    return (
        f"<< /Type /FontDescriptor /FontName /{base} /Flags 32 /FontBBox [-170 -228 1003 962] "
        f"/ItalicAngle 0 /Ascent 718 /Descent -207 /CapHeight 718 /StemV {140 if heavy else 88} >>"
    ).encode()


def _image(image: Image) -> bytes:
    rows, columns, _ = image.colours.shape
    entries = (
        f"/Type /XObject /Subtype /Image /Width {columns} /Height {rows} /ColorSpace /DeviceRGB "
        "/BitsPerComponent 8 "
    )
    return _stream(entries, image.colours.tobytes())


def _string(codes: bytes) -> str:
    r"""Text in brackets, in which brackets and backslashes are escaped.

    >>> print(_string(b"(a)"))
    (\(a\))
    """
    return "(" + re.sub(r"([()\\])", r"\\\1", codes.decode("latin-1")) + ")"


def _title(text: str) -> str:
    """Any text, in the encoding that a document's title has."""
    return f"<FEFF{text.encode('utf-16-be', 'replace').hex().upper()}>"


def _rgb(colour: str) -> str:
    return " ".join(_n(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))


def _n(number: float) -> str:
    """A number in ten-thousandths, never in powers of ten, which PDF does not read."""
    return f"{round(number, 4) + 0.0:.4f}".rstrip("0").rstrip(".")
