"""An experiment in a terminal: the change, both translations, and the odds where they part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.display import percent
from regard.transformer.roles import PARTS
from regard.typing import Array
from regard.view.terminal.style import PIPE, TerminalStyle, cells, pad, printable, shorten

if TYPE_CHECKING:
    from regard.experiments.because import ScoreDecomposition
    from regard.experiments.effects import Effects
    from regard.experiments.experiment import Experiment
    from regard.experiments.outcome import Parting

LABEL = 8  # columns of 'before' and 'after' with their blanks
MOST_HEADS, MOST_TERMS = 8, 12
EFFECTS_CAUTION = (
    "An effect is a real run without that head. The formula (direct) has every norm and weight "
    "frozen: it misses what a head does through later layers, and what they do to make up for it."
)
SCORE_CAUTION = (
    "Exact for this sentence, with the norms' scales taken as given. A weight depends on the other "
    "scores of the row too."
)


def page_of(result: Experiment | Effects | ScoreDecomposition, style: TerminalStyle = PIPE) -> str:
    """The page of any of them."""
    from regard.experiments.effects import Effects
    from regard.experiments.experiment import Experiment

    if isinstance(result, Experiment):
        return experiment_page(result, style)
    return (
        effects_page(result, style)
        if isinstance(result, Effects)
        else decomposition_page(result, style)
    )


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
    at = f"After {_last_words(parting.prefix)}" if parting.prefix else "At the first word"
    reason = "the word whose probability changed most:" if same else "they part. The next word:"
    opening = "The translation did not change. " if same else ""
    label = max(cells(shorten(x.word)) for x in parting.candidates)
    rows = [
        f"  {pad(shorten(x.word), label)}  {percent(x.before, 1):>7}  {percent(x.after, 1):>7}"
        for x in parting.candidates
    ]
    heading = f"  {' ' * label}  {'before':>7}  {'after':>7}"
    return [*style.wrap(f"{opening}{at} {reason}"), heading, *rows]


def _last_words(words: Sequence[str]) -> str:
    """The last six words of a beginning in quotes, with dots for those before them."""
    dots = "... " if len(words) > 6 else ""
    return f'"{dots}{printable(marked_words(words[-6:], []))}"'


def effects_page(effects: Effects, style: TerminalStyle = PIPE) -> str:
    """Grids of effects by part, the largest with the formula beside them, and how well it did."""
    choice = effects.choice
    words, against = printable(choice.of), printable(choice.against)
    at = f"after {_last_words(choice.prefix_words)}" if choice.prefix_words else "at the first word"
    lines = [
        *style.wrap(printable(effects.reading.sentence)),
        *style.wrap(
            f'"{words}" against "{against}" {at}: logit difference '
            f"{effects.logit_difference:+.2f}. Effect of each head, in logits; + favours {words}."
        ),
    ]
    for part, grid_lh in zip(PARTS, effects.effect_mlh, strict=True):
        lines += ["", *_grid(part, grid_lh, float(abs(effects.effect_mlh).max()), style)]
    lines += ["", "The largest          effect   direct (formula)"]
    lines += [
        f"  {pad(f'{row.part} {row.layer}.{row.head}', 15)} {row.effect:+9.3f} {row.direct:+9.3f}"
        for row in effects.heads[:MOST_HEADS]
    ]
    parts = ", ".join(f"{part} {_correlation(effects.correlation_of(part))}" for part in PARTS)
    overall = _correlation(effects.correlation)
    lines += ["", *style.wrap(f"Correlation of formula and runs: {overall} ({parts}).")]
    return "\n".join(line.rstrip() for line in [*lines, "", *style.wrap(EFFECTS_CAUTION)])


def decomposition_page(decomposition: ScoreDecomposition, style: TerminalStyle = PIPE) -> str:
    """The score, its largest terms, and the sum of the rest."""
    query, key = printable(decomposition.query), printable(decomposition.key)
    terms = decomposition.terms
    at = f"{decomposition.part} layer {decomposition.layer}, head {decomposition.head}"
    weight = percent(decomposition.weight)
    rival = printable(decomposition.against)
    minus = f", minus {decomposition.score_against:.3f} on {rival}" if rival else ""
    score = f"{decomposition.score:.3f} ({weight}){minus}"
    lines = style.wrap(f"Score of {query} on {key} in {at}: {score}.")
    for step in decomposition.path:
        lines += style.wrap(f"Of it: {printable(step)}", "  ")
    lines += [*style.wrap(f"{decomposition.total:.3f} is the sum of {len(terms):,} terms:"), ""]
    shown = terms[:MOST_TERMS]
    label = max(cells(printable(str(term.query))) for term in shown)
    for term in shown:
        name = pad(printable(str(term.query)), label)
        lines.append(f"  {term.value:+8.3f}  {name}  x  {printable(str(term.key))}")
    if len(terms) > len(shown):
        rest = sum(term.value for term in terms[MOST_TERMS:])
        lines.append(f"  {rest:+8.3f}  the other {len(terms) - len(shown):,} terms together")
    return "\n".join(line.rstrip() for line in [*lines, "", *style.wrap(SCORE_CAUTION)])


def _grid(part: str, grid_lh: Array, largest: float, style: TerminalStyle) -> list[str]:
    """One part's effects: rows are layers, columns are heads."""
    heading = pad(part, 9) + "".join(f"{f'head {head}':>8}" for head in range(grid_lh.shape[1]))
    rows = [
        f"  {f'layer {layer}':7}"
        + "".join(style.shaded(f"{x:+8.2f}", abs(x) / (largest or 1)) for x in row_h)
        for layer, row_h in enumerate(grid_lh)
    ]
    return [heading, *rows]


def _correlation(value: float) -> str:
    return "none" if value != value else f"{value:.2f}"
