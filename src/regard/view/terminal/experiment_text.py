"""An experiment in a terminal: the change, both translations, and the odds where they part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.display import percent
from regard.view.terminal.style import PIPE, TerminalStyle, cells, pad, printable, shorten

if TYPE_CHECKING:
    from regard.experiments.experiment import Experiment
    from regard.experiments.outcome import Parting

LABEL = 8  # columns of 'before' and 'after' with their blanks


def experiment_page(experiment: Experiment, style: TerminalStyle = PIPE) -> str:
    """A few lines: sentence, change, translations with the words that differ in [ ], odds."""
    from regard.experiments.experiment import CAUTION

    before, after = experiment.before, experiment.after
    sentences = [before.sentence]
    if after.sentence != before.sentence:
        sentences.append(after.sentence)
    changed = experiment.changed or ("nothing",)
    differing = experiment.differing
    lines = [
        *(line for x in sentences for line in style.wrap(printable(x))),
        *(line for x in changed for line in style.wrap(f"Changed: {printable(x)}.", "  ")),
        "",
        *_marked("before", before.translation_words, differing[0], style),
        *_marked("after", after.translation_words, differing[1], style),
        "",
        *_parting_lines(experiment.parting, experiment.same, style),
        *(line for note in before.notes for line in ["", *style.wrap(f"Note: {note}")]),
        "",
        *style.wrap(CAUTION),
    ]
    return "\n".join(line.rstrip() for line in lines)


def marked_words(words: Sequence[str], differing: Sequence[int]) -> str:
    """Words in a row, those that differ in brackets; a run of them in one pair.

    >>> marked_words(("qu'", "il", "avait", "faim"), [1])
    "qu'[il] avait faim"
    """
    text, previous = "", ""
    for number, word in enumerate(words):
        opens = number in differing and number - 1 not in differing
        closes = number in differing and number + 1 not in differing
        glued = not text or previous.endswith("'") or word in (".", ",", "...")
        text += ("" if glued else " ") + ("[" if opens else "") + word + ("]" if closes else "")
        previous = word
    return text


def _marked(
    name: str, words: Sequence[str], differing: Sequence[int], style: TerminalStyle
) -> list[str]:
    text = printable(marked_words(words, differing)) or "(nothing)"
    lines = TerminalStyle(style.width - LABEL, style.colour).wrap(text)
    names = [name, *[""] * (len(lines) - 1)]
    return [pad(x, LABEL) + style.bold(line) for x, line in zip(names, lines, strict=True)]


def _parting_lines(parting: Parting, same: bool, style: TerminalStyle) -> list[str]:
    """The candidates for the word where the translations part, or that moved most."""
    prefix = marked_words(parting.prefix[-6:], [])
    dots = "... " if len(parting.prefix) > 6 else ""
    at = f'After "{dots}{printable(prefix)}"' if parting.prefix else "At the first word"
    reason = "the word whose probability changed most:" if same else "they part. The next word:"
    opening = "The translation did not change. " if same else ""
    label = max(cells(shorten(x.word)) for x in parting.candidates)
    rows = [
        f"  {pad(shorten(x.word), label)}  {_odds(x.before):>7}  {_odds(x.after):>7}"
        for x in parting.candidates
    ]
    heading = f"  {' ' * label}  {'before':>7}  {'after':>7}"
    return [*style.wrap(f"{opening}{at} {reason}"), heading, *rows]


def _odds(probability: float) -> str:
    """A probability in percent, with what keeps 0.04 % from looking like never."""
    if 0 < probability < 0.0005:
        return "< 0.1 %"
    return percent(probability, decimals=1)
