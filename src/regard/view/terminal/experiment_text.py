"""Experiments in a terminal: changes, outputs before and after, effects of heads, scores."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from regard.display import percent
from regard.experiments.because import ScoreDecomposition
from regard.experiments.effects import Effects
from regard.experiments.experiment import (
    CAUTION,
    Experiment,
    Parting,
    WordProbability,
    differing,
)
from regard.transformer.reading import Reading
from regard.typing import Array
from regard.view.terminal.style import PIPE, TerminalStyle, cells, pad, printable, shorten
from regard.watcher.experiments.outcome import tables

if TYPE_CHECKING:
    from regard.watcher.experiments.text_sources import TextSources

LABEL_COLUMNS = 8  # 'before' and 'after' with their blanks
LINE_COLUMNS = 40  # a line of the context and its beginning
MAX_HEADS, MAX_TERMS = 8, 12
AFTER_AN_ANSWER = (
    "The model wrote the end of this text, and below is what follows it. What it would have "
    "written instead is shown with regenerate=True."
)
EFFECTS_CAUTION = (
    "An effect is a real run without that head, all else as it is. Effects do not add up: later "
    "heads make up for a missing one."
)
DIRECT_CAUTION = (
    "An effect is a real run without that head. The formula (direct) has every norm and weight "
    "frozen: it misses what a head does through later layers, and what they do to make up for it."
)
SCORE_CAUTION = (
    "Exact for this text, with the norms' scales taken as given. A weight depends on the other "
    "scores of the row too."
)
SOURCES_CAUTION = (
    "Attention is norm-weighted, averaged over all layers and heads. The effect is the "
    "log-probability that the sentence loses in a real run in which no other token may look at "
    "that part; a negative one means that it is likelier without."
)


def page_of(result: Experiment | Effects | ScoreDecomposition, style: TerminalStyle = PIPE) -> str:
    """The page of any of these results."""
    if isinstance(result, Experiment):
        return experiment_page(result, style)
    if isinstance(result, Effects):
        return effects_page(result, style)
    return decomposition_page(result, style)


def experiment_page(experiment: Experiment, style: TerminalStyle = PIPE) -> str:
    """The changes, the outputs of both runs, and the odds where they part."""
    changed = experiment.changed or ("nothing",)
    lines = [line for x in changed for line in style.wrap(f"Changed: {printable(x)}.", "  ")]
    if isinstance(experiment.before, Reading):
        lines = _reading_lines(experiment, lines, style)
    else:
        lines += _watched_lines(experiment, style)
    return _page([*lines, "", *style.wrap(CAUTION)])


def _reading_lines(experiment: Experiment, changed: list[str], style: TerminalStyle) -> list[str]:
    """Sentence, changes, translations with the words that differ in [ ], odds, notes."""
    before, after = experiment.before, experiment.after
    sentences = [before.sentence]
    if after.sentence != before.sentence:
        sentences.append(after.sentence)
    differing = experiment.differing
    return [
        *(line for x in sentences for line in style.wrap(printable(x))),
        *changed,
        "",
        *_labelled("before", marked_words(before.translation_words, differing[0]), style),
        *_labelled("after", marked_words(after.translation_words, differing[1]), style),
        "",
        *_parting_lines(experiment.parting, experiment.same, style),
        *(line for note in before.notes for line in ["", *style.wrap(f"Note: {note}")]),
    ]


def _watched_lines(experiment: Experiment, style: TerminalStyle) -> list[str]:
    """Generated texts, and the next token of every sentence."""
    lines: list[str] = []
    if experiment.after.sequences is not None:
        for texts in zip(*experiment.texts, strict=True):
            words = [text.split() for text in texts]
            for name, own, marked in zip(
                ("before", "after"), words, differing(*words), strict=True
            ):
                lines += ["", *_labelled(name, marked_words(own, marked), style)]
    if experiment.before.read_what_was_written:
        lines += ["", *style.wrap(AFTER_AN_ANSWER)]
    outcome = experiment.after.outcome
    for sentence in range(0 if outcome is None else len(outcome.values)):
        for table in tables(experiment, sentence):
            names = [shorten(repr(row.word)) for row in table.rows]
            lines += ["", *style.wrap(printable(table.heading)), *_odds(names, table.rows)]
    return lines


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


def _labelled(name: str, text: str, style: TerminalStyle) -> list[str]:
    narrow = TerminalStyle(style.width - LABEL_COLUMNS, style.colour)
    lines = narrow.wrap(printable(text) or "(nothing)")
    names = [name, *[""] * (len(lines) - 1)]
    return [pad(x, LABEL_COLUMNS) + style.bold(line) for x, line in zip(names, lines, strict=True)]


def _parting_lines(parting: Parting, same: bool, style: TerminalStyle) -> list[str]:
    """The candidates for the word where the translations part, or that moved most."""
    at = f"After {_last_words(parting.prefix)}" if parting.prefix else "At the first word"
    reason = "the word whose probability changed most:" if same else "they part. The next word:"
    opening = "The translation did not change. " if same else ""
    names = [shorten(x.word) for x in parting.candidates]
    return [*style.wrap(f"{opening}{at} {reason}"), *_odds(names, parting.candidates)]


def _odds(names: Sequence[str], rows: Sequence[WordProbability]) -> list[str]:
    if not rows:
        return []
    label = max(map(cells, names))
    return [
        f"  {' ' * label}  {'before':>7}  {'after':>7}",
        *(
            f"  {pad(name, label)}  {percent(x.before, 1):>7}  {percent(x.after, 1):>7}"
            for name, x in zip(names, rows, strict=True)
        ),
    ]


def _last_words(words: Sequence[str]) -> str:
    """The last six words of a beginning in quotes, with dots for those before them."""
    dots = "... " if len(words) > 6 else ""
    return f'"{dots}{printable(marked_words(words[-6:], []))}"'


def effects_page(effects: Effects, style: TerminalStyle = PIPE) -> str:
    """The effects of all heads; with the formula, where there is one, and how well it did."""
    if effects.direct_by_layer is None:
        return _effects_without_formula(effects, style)
    choice = effects.choice
    words, against = printable(choice.of), printable(choice.against)
    at = f"after {_last_words(choice.prefix_words)}" if choice.prefix_words else "at the first word"
    lines = [
        *style.wrap(printable(effects.run.sentence)),
        *style.wrap(
            f'"{words}" against "{against}" {at}: logit difference '
            f"{effects.logit_difference:+.2f}. Effect of each head, in logits; + favours {words}."
        ),
    ]
    largest = float(abs(effects.effect_mlh).max())
    for part in effects.parts:
        lines += ["", *_grid(part, effects.grid(part), largest, style)]
    lines += ["", "The largest          effect   direct (formula)"]
    lines += [
        f"  {pad(f'{row.part} {row.layer}.{row.head}', 15)} {row.effect:+9.3f} {row.direct:+9.3f}"
        for row in effects.heads[:MAX_HEADS]
    ]
    parts = ", ".join(f"{x} {_correlation(effects.part_correlation(x))}" for x in effects.parts)
    overall = _correlation(effects.correlation)
    lines += ["", *style.wrap(f"Correlation of formula and runs: {overall} ({parts}).")]
    return _page([*lines, "", *style.wrap(DIRECT_CAUTION)])


def _effects_without_formula(effects: Effects, style: TerminalStyle) -> str:
    of, against = printable(repr(effects.of)), printable(repr(effects.against))
    rows = effects.heads
    lines = [
        *style.wrap(
            f"{of} against {against} {effects.where}: logit difference "
            f"{effects.logit_difference:+.2f}. Effect of each of {len(rows)} heads, in logits; + "
            f"favours {of}."
        ),
        "",
        *(
            f"  {pad(f'{row.part} {row.layer}.{row.head}', 15)} {row.effect:+9.3f}"
            for row in rows[:MAX_TERMS]
        ),
    ]
    if len(rows) > MAX_TERMS:
        largest = max(abs(row.effect) for row in rows[MAX_TERMS:])
        lines.append(f"  the other {len(rows) - MAX_TERMS}: at most {largest:.3f}")
    return _page([*lines, "", *style.wrap(EFFECTS_CAUTION)])


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
    shown = terms[:MAX_TERMS]
    label = max(cells(printable(str(term.query))) for term in shown)
    for term in shown:
        name = pad(printable(str(term.query)), label)
        lines.append(f"  {term.value:+8.3f}  {name}  x  {printable(str(term.key))}")
    if len(terms) > len(shown):
        rest = sum(term.value for term in terms[MAX_TERMS:])
        lines.append(f"  {rest:+8.3f}  the other {len(terms) - len(shown):,} terms together")
    return _page([*lines, "", *style.wrap(SCORE_CAUTION)])


def sources_page(sources: TextSources, style: TerminalStyle = PIPE) -> str:
    """Attention and effect of each span, sentence by sentence, and how well they agree."""
    texts = [" ".join(x.split()) for x in sources.span_texts]
    names = [
        shorten(f"{name}: {text}", LINE_COLUMNS) if name.startswith("line ") else shorten(name)
        for name, text in zip_longest(sources.spans, texts, fillvalue="")
    ]
    label = max(map(cells, names))
    lines: list[str] = []
    for number, sentence in enumerate(sources.sentences):
        lines += [*style.wrap(printable(sentence.strip()) or "(nothing)")]
        lines += [f"  {' ' * label}  attention   effect"]
        for n, name in enumerate(names):
            effect, attention = sources.effect_sn[number, n], sources.attention_sn[number, n]
            shown = "-" if effect != effect else f"{effect:+.2f}"
            share = "-" if attention != attention else percent(attention, decimals=1)
            lines.append(f"  {pad(name, label)}  {share:>9}  {shown:>7}")
        lines.append("")
    reason = sources.no_correlation
    agreed = f"none, as {reason}" if reason else f"{sources.correlation:.2f}"
    lines += style.wrap(f"Correlation of attention and effect: {agreed}.")
    lines += [line for note in sources.notes for line in style.wrap(printable(note))]
    return _page([*lines, "", *style.wrap(SOURCES_CAUTION)])


def _page(lines: Sequence[Any]) -> str:
    return "\n".join(line.rstrip() for line in lines)


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
