"""Fonts that every PDF reader has: the width of each letter, and the letters that they lack.

Helvetica, bold and not, in the encoding of Western European text (WinAnsi, which is cp1252), and
Symbol for Greek letters and mathematics. Widths are in thousandths of the font size.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

HELVETICA = {
    191: "'", 222: "ijl‚‘’", 260: "|¦", 278: " !,./:;I[\\]ft·ìíîï", 333: "()-`r„ˆ‹“”˜›¡¨¯²³´¸¹",
    334: "{}", 350: "•", 355: '"', 365: "º", 370: "ª", 389: "*", 400: "°", 469: "^",
    500: "Jcksvxyz", 537: "¶", 556: "#$0123456789?L_abdeghnopqu€ƒ†‡–¢£¤¥§«µ»ðþ", 584: "+<=>~¬±×÷",
    611: "FTZ¿ßø", 667: "&ABEKPSVXYÞ", 722: "CDHNRUwÐ", 737: "©®", 778: "GOQØ", 833: "Mm",
    834: "¼½¾", 889: "%æ", 944: "Wœ", 1000: "…‰Œ—™Æ", 1015: "@",
}  # fmt: skip
BOLD = {
    238: "'", 278: " ,./I\\ijl‚‘’·", 280: "|¦", 333: "!()-:;[]`ftˆ‹˜›¡¨¯²³´¸¹", 350: "•", 365: "º",
    370: "ª", 389: "*r{}", 400: "°",
    474: '"', 500: "z„“”", 556: "#$0123456789J_aceksvxy€ƒ†‡–¢£¤¥§«¶»",
    584: "+<=>^~¬±×÷", 611: "?FLTZbdghnopquµ¿ßðøþ", 667: "EPSVXYÞ", 722: "&ABCDHKNRUÐ", 737: "©®",
    778: "GOQwØ", 833: "M", 834: "¼½¾", 889: "%mæ", 944: "Wœ", 975: "@", 1000: "…‰Œ—™Æ",
}  # fmt: skip
# Symbol has codes of its own: consecutive letters from a code on, with the width of each.
SYMBOL = (
    (0x22, "∀", (713,)), (0x24, "∃", (549,)), (0x2D, "−", (549,)),
    (0x41, "ΑΒΧΔΕΦΓΗΙ", (722, 667, 722, 612, 611, 763, 603, 722, 333)),
    (0x4B, "ΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", (722, 686, 889, 722, 722, 768, 741, 556, 592, 611, 690, 439, 768,
                                645, 795, 611)),
    (0x61, "αβχδεφγηι", (631, 549, 549, 494, 439, 521, 411, 603, 329)),
    (0x6B, "κλμνοπθρστυϖωξψζ", (549, 549, 576, 521, 549, 549, 521, 549, 603, 439, 576, 713, 686,
                                493, 686, 494)),
    (0xA2, "′≤", (247, 549)), (0xA5, "∞", (713,)), (0xAB, "↔←↑→↓", (1042, 987, 603, 987, 603)),
    (0xB2, "″≥", (411, 549)), (0xB5, "∝∂", (713, 494)), (0xB9, "≠≡≈", (549, 549, 549)),
    (0xBF, "↵", (658,)), (0xD1, "∇", (713,)), (0xD5, "∏√⋅", (823, 549, 250)), (0xE5, "∑", (713,)),
)  # fmt: skip
LIKE = {"\u00a0": " ", "\u00ad": "-", "▁": "_"}  # ▁ begins a word among sub-words


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
        for font, group in ((font, list(same)) for font, same in groupby(letters, _font))
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
        yield LIKE.get(letter, " " if unicodedata.category(letter) in ("Cc", "Cf") else letter)


def _letter(letter: str, bold: bool) -> tuple[str, int, int]:
    """Font, code and width of a letter that some font has."""
    font = "F2" if bold else "F1"
    if letter in WIDTHS[font]:
        return font, letter.encode("cp1252")[0], WIDTHS[font][letter]
    return "F3", *CODES[letter]


def _font(letter: tuple[str, int, int]) -> str:
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
