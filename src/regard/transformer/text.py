"""TEXT, made plain the way the training text was, before it becomes tokens."""

from __future__ import annotations

import unicodedata

_PLAIN = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u201c": '"', "\u201d": '"', "\u00ab": '"', "\u00bb": '"'}
    | dict.fromkeys("\u00a0\u202f\u2009\t\r\n", " ")
)


def plain(text: str) -> str:
    """Turn typographic quotes, apostrophes and spaces into the plain ones, composed (NFC).

    >>> plain("l\u2019ami\u00a0?")
    "l'ami ?"
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_PLAIN)
    return " ".join(text.split())
