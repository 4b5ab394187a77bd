"""A reading in a terminal: plain text in 80 columns, shaded where there is colour.

Written without rich, whose import alone would be a tenth of the whole command's time.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.heads.links import CAUTION, Link, percent
from regard.typing import Array

if TYPE_CHECKING:
    from regard.transformer.alignment import Alignment
    from regard.transformer.combine import Mixed
    from regard.transformer.reading import Reading

LONGEST_NAME = 12
MOST_ROWS = 24
SHADES = (None, 236, 238, 24, 25, 31, 37, 43, 79, 121)  # xterm's 256 colours, dark to light


@dataclass(frozen=True)
class Paper:
    """What is written on: its width, and whether it has colour."""

    width: int = 80
    colour: bool = False

    def wrap(self, text: str, indent: str = "") -> list[str]:
        """Lines no wider than the paper; half as many characters where some are twice as wide."""
        width = self.width if cells(text) <= len(text) else self.width // 2
        return textwrap.wrap(text, max(20, width), subsequent_indent=indent) or [""]

    def bold(self, text: str) -> str:
        """Heavier, where there is colour."""
        return f"\x1b[1m{text}\x1b[0m" if self.colour else text

    def shaded(self, text: str, share: float) -> str:
        """On a background that is the lighter the larger the share, where there is colour."""
        step = min(len(SHADES) - 1, int(share * len(SHADES)))
        shade = SHADES[step]
        if not self.colour or shade is None:
            return text
        ink = 16 if step > len(SHADES) // 2 else 255
        return f"\x1b[48;5;{shade}m\x1b[38;5;{ink}m{text}\x1b[0m"


@dataclass(frozen=True)
class Wanted:
    """What to show of a reading: a word, a layer, a head; all chosen where None."""

    word: str | None = None
    layer: int | None = None
    head: int | None = None
    by: str = "words"


MOST_TELLING, PIPE = Wanted(), Paper()


def page(reading: Reading, wanted: Wanted = MOST_TELLING, paper: Paper = PIPE) -> str:
    """The sentence, its translation, the head to highlight, and one plain sentence about it."""
    shown = reading.highlight(wanted.word, wanted.layer, wanted.head)
    link = shown.link
    weights_qk = reading.weights(layer=link.layer, head=link.head, by=wanted.by)
    names = reading.source.names(wanted.by)
    marked = [link.query] if wanted.by == "words" else _tokens_of(reading, link.query)
    lines = [
        *paper.wrap(_printable(reading.sentence)),
        *map(paper.bold, paper.wrap(_printable(reading.translation))),
        "",
        *map(paper.bold, paper.wrap(f"{shown.sentence}.")),
        *paper.wrap(f"Shown: {shown.reason}."),
        "",
        *_head(weights_qk, names, marked, _title(link), paper),
        "",
        *(_more_links(reading, wanted.word, paper) if wanted.word else []),
        *_came_from(reading.alignment, paper),
        *(line for note in reading.notes for line in ["", *paper.wrap(f"Note: {note}")]),
        "",
        *paper.wrap(CAUTION),
    ]
    return "\n".join(line.rstrip() for line in lines)


def alignment_table(alignment: Alignment, paper: Paper = PIPE) -> str:
    """One line for each word of the translation."""
    width = max((cells(_short(word)) for word in alignment.words), default=0)
    lines = [
        f"{_padded(_short(alignment.words[row]), width)} <- {_sources(alignment, row)}"
        for row in range(len(alignment.words))
    ]
    return "\n".join(lines)


def mixed_table(mixed: Mixed, paper: Paper = PIPE) -> str:
    """Name, table and explanation."""
    table = _table(mixed.weights_qk, mixed.queries.words, mixed.keys.words, [], paper)
    return "\n".join([f"{mixed.name}, in %", *table, *paper.wrap(mixed.explanation)])


def cells(text: str) -> int:
    """Columns that a text takes in a terminal.

    >>> cells("chien"), cells("犬")
    (5, 2)
    """
    wide = sum(unicodedata.east_asian_width(x) in "WF" for x in text)
    return len(text) + wide - sum(unicodedata.combining(x) > 0 for x in text)


def _title(link: Link) -> str:
    role = f" ({link.role})" if link.role else ""
    return f"Layer {link.layer}, head {link.head}{role}"


def _more_links(reading: Reading, word: str, paper: Paper) -> list[str]:
    """Where else the word looks, when it was asked for."""
    of_word = reading.links(word)
    lines = [
        x for link in of_word.links[:4] for x in paper.wrap(f"  {_printable(str(link))}", "    ")
    ]
    note = paper.wrap(of_word.note) if of_word.note else []
    return [*paper.wrap("All heads, the most unusual for this word first:"), *lines, *note, ""]


def _head(
    weights_qk: Array, names: Sequence[str], marked: list[int], title: str, paper: Paper
) -> list[str]:
    """The whole head where it fits, else the rows of the word alone, as bars."""
    table = _table(weights_qk, names, names, marked, paper)
    if table and len(names) <= MOST_ROWS:
        return [*paper.wrap(f"{title}, in %: row looks at column"), *table]
    bars = [line for row in marked for line in _bars(weights_qk[row], names, paper)]
    word = " ".join(names[row] for row in marked)
    return [*paper.wrap(f"{title}: where {word} looks, 1 % or more"), *bars]


def _table(
    weights_qk: Array, rows: Sequence[str], columns: Sequence[str], marked: list[int], paper: Paper
) -> list[str]:
    """Percentages under their words; nothing where that is wider than the paper."""
    label = max(cells(_short(name)) for name in rows) + 2
    widths = [max(4, cells(_short(name)) + 1) for name in columns]
    if label + sum(widths) > paper.width:
        return []
    heading = "".join(_padded(_short(name), width, left=True)
                      for name, width in zip(columns, widths, strict=True))  # fmt: skip
    lines = [" " * label + heading]
    for row, (name, weights_k) in enumerate(zip(rows, weights_qk, strict=True)):
        shares = zip(weights_k, widths, strict=True)
        inside = "".join(
            paper.shaded(f"{_whole(share):>{width}}", share) for share, width in shares
        )
        lines.append(_padded((">" if row in marked else " ") + _short(name), label) + inside)
    return lines


def _bars(weights_k: Array, names: Sequence[str], paper: Paper) -> list[str]:
    shown = [(name, share) for name, share in zip(names, weights_k, strict=True) if share >= 0.01]
    label = max((cells(_short(name)) for name, _ in shown), default=0)
    room = paper.width - label - 10
    return [
        f"  {_padded(_short(name), label)} {percent(share):>5} {'#' * round(share * room)}"
        for name, share in shown
    ]


def _came_from(alignment: Alignment, paper: Paper) -> list[str]:
    """Every word of the translation with what it came from, in running text."""
    links = [
        f"{_short(word)} <- {_sources(alignment, row, shares=False)}"
        for row, word in enumerate(alignment.words)
        if any(x.isalnum() for x in word)
    ]
    return paper.wrap("Came from: " + "; ".join(links), indent="  ") if links else []


def _sources(alignment: Alignment, row: int, shares: bool = True) -> str:
    weights_k = alignment.weights_qk[row]
    found = alignment.sources_of(row)
    if not found:
        return "no word in particular"
    parts = (f"{alignment.sources[k]} {percent(weights_k[k])}" if shares else alignment.sources[k]
             for k in found)  # fmt: skip
    return (", " if shares else " + ").join(map(_printable, parts))


def _tokens_of(reading: Reading, place: int) -> list[int]:
    return [t for t, word in enumerate(reading.source.word_of_token) if word == place]


def _whole(share: float) -> str:
    """A percentage without its sign; a dot stands for what rounds to 0, so that the rest shows."""
    return f"{100 * share:.0f}" if share >= 0.005 else "."


def _short(name: str) -> str:
    name = _printable(name)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _printable(text: str) -> str:
    """No control character reaches the terminal."""
    return "".join(x if x.isprintable() else " " for x in text)


def _padded(text: str, width: int, left: bool = False) -> str:
    space = " " * max(0, width - cells(text))
    return space + text if left else text + space
