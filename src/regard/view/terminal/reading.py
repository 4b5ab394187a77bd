"""A reading in a terminal: plain text in 80 columns, shaded where there is colour.

Written without rich, whose import alone would be a tenth of the whole command's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.display import percent
from regard.heads.links import CAUTION
from regard.typing import Array
from regard.view.terminal.style import PIPE, TerminalStyle, cells, pad, printable, shorten

if TYPE_CHECKING:
    from regard.transformer.alignment import Alignment
    from regard.transformer.combine import Mixed
    from regard.transformer.highlight import Highlight
    from regard.transformer.reading import Reading

MAX_ROWS = 24


@dataclass(frozen=True)
class Selection:
    """Word, layer and head of a reading to show; each is chosen where it is None."""

    word: str | None = None
    layer: int | None = None
    head: int | None = None
    by: str = "words"
    weighted: str | None = None


DEFAULT_SELECTION = Selection()


def page(
    reading: Reading, selection: Selection = DEFAULT_SELECTION, style: TerminalStyle = PIPE
) -> str:
    """The sentence, its translation, the head to highlight, and one plain sentence about it."""
    shown = reading.highlight(selection.word, selection.layer, selection.head)
    link = shown.link
    weights_qk = reading.weights(
        layer=link.layer, head=link.head, by=selection.by, weighted=selection.weighted
    )
    names = reading.source.names(selection.by)
    marked = [link.query] if selection.by == "words" else _word_tokens(reading, link.query)
    lines = [
        *style.wrap(printable(reading.sentence)),
        *map(style.bold, style.wrap(printable(reading.translation))),
        "",
        *map(style.bold, style.wrap(f"{printable(shown.sentence)}.")),
        *style.wrap(f"Shown: {shown.reason}. {shown.accuracy or _usual(shown)}"),
        *(style.wrap(f"But {shown.disagreement}.") if shown.disagreement else []),
        "",
        *_head(weights_qk, names, marked, _title(shown, selection.weighted), style),
        "",
        *(_more_links(reading, selection.word, style) if selection.word else []),
        *_alignment_lines(reading.alignment, style),
        *(line for note in reading.notes for line in ["", *style.wrap(f"Note: {note}")]),
        "",
        *style.wrap(CAUTION),
    ]
    return "\n".join(line.rstrip() for line in lines)


def alignment_table(alignment: Alignment, style: TerminalStyle = PIPE) -> str:
    """One line for each word of the translation."""
    width = max((cells(shorten(word)) for word in alignment.words), default=0)
    lines = [
        f"{pad(shorten(alignment.words[row]), width)} <- {_sources(alignment, row)}"
        for row in range(len(alignment.words))
    ]
    return "\n".join(lines)


def mixed_table(mixed: Mixed, style: TerminalStyle = PIPE) -> str:
    """Name, table and explanation."""
    words = mixed.queries.words
    table = _table(mixed.weights_qk, words, mixed.keys.words, [], style)
    if not table:
        last = next((n for n in range(len(words) - 1, -1, -1) if words[n].strip()), 0)
        bars = _bars(mixed.weights_qk[last], mixed.keys.words, style)
        table = [f"the last word, {printable(words[last])} (word {last}), 1 % or more:", *bars]
    return "\n".join([f"{mixed.name}, in %", *table, *style.wrap(mixed.explanation)])


def _usual(shown: Highlight) -> str:
    """What the head does on other text, with its measure, and what it does in this sentence."""
    link = shown.link
    here = f"Here {link.query_word} looks at {link.key_word}."
    return f"Usually this head {link.role}. {here}" if link.role else ""


def _title(shown: Highlight, weighted: str | None) -> str:
    """The head with the name of its role."""
    link = shown.link
    role = f" ({link.role.partition(':')[0]})" if link.role else ""
    carried = ", norm-weighted (weight times the length of what it carries)" if weighted else ""
    return f"Layer {link.layer}, head {link.head}{role}{carried}"


def _more_links(reading: Reading, word: str, style: TerminalStyle) -> list[str]:
    """The strongest links of a word that was asked for, over all heads."""
    of_word = reading.links(word)
    lines = [
        x for link in of_word.links[:4] for x in style.wrap(f"  {printable(str(link))}", "    ")
    ]
    note = style.wrap(of_word.note) if of_word.note else []
    return [*style.wrap("All heads, the most unusual for this word first:"), *lines, *note, ""]


def _head(
    weights_qk: Array, names: Sequence[str], marked: list[int], title: str, style: TerminalStyle
) -> list[str]:
    """Every weight of the head where it fits, else the rows of the word alone, as bars."""
    table = _table(weights_qk, names, names, marked, style)
    if table and len(names) <= MAX_ROWS:
        return [*style.wrap(f"{title}, in %: row looks at column"), *table]
    bars = [line for row in marked for line in _bars(weights_qk[row], names, style)]
    word = " ".join(names[row] for row in marked)
    return [*style.wrap(f"{title}: where {printable(word)} looks, 1 % or more"), *bars]


def _table(
    weights_qk: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    marked: list[int],
    style: TerminalStyle,
) -> list[str]:
    """Percentages under their words; nothing where that is wider than the terminal."""
    label = max(cells(shorten(name)) for name in rows) + 2
    widths = [max(4, cells(shorten(name)) + 1) for name in columns]
    if label + sum(widths) > style.width:
        return []
    heading = "".join(
        pad(shorten(name), width, right=True) for name, width in zip(columns, widths, strict=True)
    )
    lines = [" " * label + heading]
    for row, (name, weights_k) in enumerate(zip(rows, weights_qk, strict=True)):
        shares = zip(weights_k, widths, strict=True)
        inside = "".join(
            style.shaded(f"{_percentage(share):>{width}}", share) for share, width in shares
        )
        lines.append(pad((">" if row in marked else " ") + shorten(name), label) + inside)
    return lines


def _bars(weights_k: Array, names: Sequence[str], style: TerminalStyle) -> list[str]:
    shown = [(name, share) for name, share in zip(names, weights_k, strict=True) if share >= 0.01]
    label = max((cells(shorten(name)) for name, _ in shown), default=0)
    longest_bar = style.width - label - 10
    return [
        f"  {pad(shorten(name), label)} {percent(share):>5} {'#' * round(share * longest_bar)}"
        for name, share in shown
    ]


def _alignment_lines(alignment: Alignment, style: TerminalStyle) -> list[str]:
    """Every word of the translation with what it came from, in running text."""
    links = [
        f"{shorten(word)} <- {_sources(alignment, row, shares=False)}"
        for row, word in enumerate(alignment.words)
        if any(x.isalnum() for x in word)
    ]
    return style.wrap("Came from: " + "; ".join(links), indent="  ") if links else []


def _sources(alignment: Alignment, row: int, shares: bool = True) -> str:
    weights_k = alignment.weights_qk[row]
    keys = alignment.source_columns(row)
    if not keys:
        return "no word in particular"
    parts = (
        f"{alignment.sources[k]} {percent(weights_k[k])}" if shares else alignment.sources[k]
        for k in keys
    )
    return (", " if shares else " + ").join(map(printable, parts))


def _word_tokens(reading: Reading, word: int) -> list[int]:
    return [t for t, word_of_t in enumerate(reading.source.word_of_token) if word_of_t == word]


def _percentage(share: float) -> str:
    """A percentage without its sign; a dot stands for what rounds to 0, so that the rest shows."""
    return f"{100 * share:.0f}" if share >= 0.005 else "."
