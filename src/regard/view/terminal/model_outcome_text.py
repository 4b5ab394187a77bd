"""A change in a watched model in a terminal: next tokens and text before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.display import percent
from regard.view.terminal.style import PIPE, TerminalStyle, cells, pad, printable, shorten

if TYPE_CHECKING:
    from regard.watcher.changes.model_because import ModelScore
    from regard.watcher.changes.model_effects import ModelEffects
    from regard.watcher.changes.model_outcome import ModelOutcome
    from regard.watcher.changes.text_sources import TextSources

LABEL = 8
CAUTION = (
    "A real second run in which nothing else was changed. No change does not prove that the part "
    "is unused: other heads can make up for it."
)
MOST = 12
EFFECTS_CAUTION = (
    "An effect is a real run without that head, all else as it is. Effects do not add up: later "
    "heads make up for a missing one."
)
SOURCES_CAUTION = (
    "Attention is norm-weighted, averaged over all layers and heads. The effect is the "
    "log-probability that the sentence loses in a real run in which no other token may look at "
    "that part; a negative one means that it is likelier without."
)
SCORE_CAUTION = (
    "Exact for this text, with the norms' scales taken as given. A weight depends on the other "
    "scores of the row too."
)


def outcome_page(outcome: ModelOutcome, style: TerminalStyle = PIPE) -> str:
    """The changes, both texts, and the odds of the next token."""
    lines = [
        line for x in outcome.changed for line in style.wrap(f"Changed: {printable(x)}.", "  ")
    ]
    if outcome.after.sequences is not None:
        for before, after in zip(*outcome.texts, strict=True):
            lines += ["", *_labelled("before", before, style), *_labelled("after", after, style)]
    if outcome.after.logits is not None:
        sentences = outcome.logits[0].shape[0]
        for sentence in range(sentences):
            lines += ["", *_table(outcome, sentence, sentences)]
    return "\n".join(line.rstrip() for line in [*lines, "", *style.wrap(CAUTION)])


def _labelled(name: str, text: str, style: TerminalStyle) -> list[str]:
    wrapped = TerminalStyle(style.width - LABEL, style.colour).wrap(printable(text)) or [
        "(nothing)"
    ]
    names = [name, *[""] * (len(wrapped) - 1)]
    return [pad(x, LABEL) + line for x, line in zip(names, wrapped, strict=True)]


def _table(outcome: ModelOutcome, sentence: int, sentences: int) -> list[str]:
    rows = outcome.next_tokens(sentence=sentence)
    names = [shorten(repr(row.token)) for row in rows]
    label = max(cells(name) for name in names)
    of = f" of sentence {sentence}" if sentences > 1 else ""
    heading = f"The next token{of}:"
    columns = f"  {' ' * label}  {'before':>7}  {'after':>7}"
    return [heading, columns, *(
        f"  {pad(name, label)}  {percent(row.before, decimals=1):>7}  "
        f"{percent(row.after, decimals=1):>7}"
        for name, row in zip(names, rows, strict=True)
    )]  # fmt: skip


def model_effects_page(effects: ModelEffects, style: TerminalStyle = PIPE) -> str:
    """The largest effects, and what the difference was."""
    of, against = printable(repr(effects.of)), printable(repr(effects.against))
    rows = effects.heads
    lines = [
        *style.wrap(
            f"{of} against {against} after token {effects.position}: logit difference "
            f"{effects.logit_difference:+.2f}. Effect of each of {len(rows)} heads, in logits; + "
            f"favours {of}."
        ),
        "",
        *(
            f"  {pad(f'{row.part} {row.layer}.{row.head}', 15)} {row.effect:+9.3f}"
            for row in rows[:MOST]
        ),
    ]
    if len(rows) > MOST:
        most = max(abs(row.effect) for row in rows[MOST:])
        lines.append(f"  the other {len(rows) - MOST}: at most {most:.3f}")
    return "\n".join(line.rstrip() for line in [*lines, "", *style.wrap(EFFECTS_CAUTION)])


def sources_page(sources: TextSources, style: TerminalStyle = PIPE) -> str:
    """Attention and effect of each span, sentence by sentence, and how well they agree."""
    label = max(cells(shorten(name)) for name in sources.spans)
    lines: list[str] = []
    for number, sentence in enumerate(sources.sentences):
        lines += [*style.wrap(printable(sentence.strip()) or "(nothing)")]
        lines += [f"  {' ' * label}  attention   effect"]
        for n, name in enumerate(sources.spans):
            effect = sources.effect_sn[number, n]
            shown = "-" if effect != effect else f"{effect:+.2f}"
            share = percent(sources.attention_sn[number, n], decimals=1)
            lines.append(f"  {pad(shorten(name), label)}  {share:>9}  {shown:>7}")
        lines.append("")
    correlation = sources.correlation
    agreed = "not defined" if correlation != correlation else f"{correlation:.2f}"
    lines += style.wrap(f"Correlation of attention and effect: {agreed}.")
    return "\n".join(line.rstrip() for line in [*lines, "", *style.wrap(SOURCES_CAUTION)])


def score_page(score: ModelScore, style: TerminalStyle = PIPE) -> str:
    """The score, its largest terms, and the sum of the rest."""
    query, key = printable(score.query), printable(score.key)
    lines = [
        *style.wrap(
            f"Score of {query} on {key} in {score.layer}, head {score.head}: {score.score:.3f} "
            f"({percent(score.weight)})."
        ),
        f"{score.total:.3f} is the sum of {len(score.terms)} terms:",
        "",
    ]
    lines += [
        f"  {x.value:+9.3f}  {printable(str(x.query))}  x  {printable(str(x.key))}"
        for x in score.terms[:MOST]
    ]
    rest = score.terms[MOST:]
    if rest:
        together = sum(x.value for x in rest)
        lines.append(f"  {together:+9.3f}  the other {len(rest)} terms together")
    return "\n".join(line.rstrip() for line in [*lines, "", *style.wrap(SCORE_CAUTION)])
