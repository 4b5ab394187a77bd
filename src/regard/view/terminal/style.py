"""Terminal style: width, colour, printable text, shortening.

Without rich, whose import alone would be a tenth of the time of ``regard "A sentence"``; what is
drawn with rich is turned into text in ``render``.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from dataclasses import dataclass

DEFAULT_WIDTH, MAX_WIDTH, MIN_WIDTH = 80, 120, 40
MAX_WORD_COLUMNS = 12
ELLIPSIS = "…"
FILLER = "\ufdd0"  # no character of any text: Unicode keeps it for use inside programs
SHADES = (None, 236, 238, 24, 25, 31, 37, 43, 79, 121)  # xterm's 256 colours, dark to light
BLACK, WHITE = 16, 255


@dataclass(frozen=True)
class TerminalStyle:
    """Width of the text in columns, and whether it has colour."""

    width: int = DEFAULT_WIDTH
    colour: bool = False

    def wrap(self, text: str, indent: str = "") -> list[str]:
        """Lines no wider than the terminal, its columns counted.

        >>> TerminalStyle(width=24).wrap("it looks at dog: 84 % in layer 3", "  ")
        ['it looks at dog: 84 % in', '  layer 3']
        """
        # A character that is two columns wide counts as two; a line may be broken between them.
        spread = "".join(x + FILLER * (cells(x) - 1) for x in text)
        width = max(20, self.width if spread == text else self.width - 1)
        lines = textwrap.wrap(spread, width, subsequent_indent=indent)
        return [line.replace(FILLER, "") for line in lines] or [""]

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def shaded(self, text: str, share: float) -> str:
        """Text on a background that is the lighter the larger the share, where there is colour."""
        step = min(len(SHADES) - 1, int(share * len(SHADES)))
        shade = SHADES[step]
        if not self.colour or shade is None:
            return text
        text_colour = BLACK if step > len(SHADES) // 2 else WHITE
        return f"\x1b[48;5;{shade}m\x1b[38;5;{text_colour}m{text}\x1b[0m"


PIPE = TerminalStyle()


def terminal_style() -> TerminalStyle:
    """Style of the standard output: as wide as the terminal, 80 columns in a pipe."""
    return TerminalStyle(min(MAX_WIDTH, terminal_width()), has_colour())


def terminal_width() -> int:
    """Columns of the terminal; COLUMNS overrides them, and a pipe has 80."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def has_colour() -> bool:
    """True where the standard output is a terminal that has not declined colour.

    As no-color.org asks, NO_COLOR declines it when it is set and not empty.
    """
    declined = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not declined


def printable(text: str) -> str:
    r"""Text that no terminal takes for a command: control characters as their escapes.

    Any white space is a blank.

    >>> print(printable("a\x1b[2J\tb"))
    a\x1b[2J b
    """
    return "".join(map(_printable_character, text))


def _printable_character(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")


def shorten(word: str, longest: int = MAX_WORD_COLUMNS) -> str:
    """A printable word of at most ``longest`` characters.

    >>> shorten("Donaudampfschiff")
    'Donaudampfs…'
    """
    word = printable(word)
    return word if len(word) <= longest else word[: longest - 1] + ELLIPSIS


def cells(text: str) -> int:
    """Columns that a text takes in a terminal.

    >>> cells("chien"), cells("犬")
    (5, 2)
    """
    wide = sum(unicodedata.east_asian_width(x) in "WF" for x in text)
    return len(text) + wide - sum(unicodedata.combining(x) > 0 for x in text)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Text filled up with blanks to a width, its own columns counted; ``right`` aligns it there."""
    blanks = " " * max(0, width - cells(text))
    return blanks + text if right else text + blanks
