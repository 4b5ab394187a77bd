"""Text of a watched model: a summary, and the report of its heads as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from regard.engine.call import NORM_WEIGHTED_NOTE as NORM_NOTE
from regard.errors import count
from regard.heads.names import MEASURES
from regard.view.terminal.style import PIPE, TerminalStyle, printable

if TYPE_CHECKING:
    from regard.watcher.layer import LayerObservation
    from regard.watcher.measures.head_report import HeadReport, HeadRow
    from regard.watcher.seen import Seen

MOST_LAYERS, MOST_HEADS, MOST_WORDS = 40, 24, 40
HEADINGS = tuple(name.heading for name in MEASURES.values())
EXPLAINED = ("first", "duplicate", "induction")
NOTE = (
    "Entropy in nats, the rest in % of a head's attention; layers and heads count from 0. "
    + "; ".join(f"{MEASURES[x].heading}: {MEASURES[x].target}" for x in EXPLAINED)
    + ". Attention is evidence, not explanation."
)


def summary(seen: Seen, style: TerminalStyle = PIPE) -> str:
    """The text, its size, every layer in a line, and where to look next."""
    if not seen.names:
        return "Seen: nothing yet. Call the model inside the block."
    lines = style.wrap(_opening(seen), "  ")
    if seen.sentences > 1 and seen._sentence is None:
        lines.append("Choose one first: seen.sentence(0).")
        return "\n".join(lines)
    for part in seen.parts:
        lines += ["", *_part(seen, part, style)]
    return "\n".join([*lines, "", *style.wrap(
        "Ask seen[layer], seen[layer, head], seen.find(word, other), seen.report()."
    )])  # fmt: skip


def report_text(report: HeadReport, style: TerminalStyle = PIPE, most: int = MOST_HEADS) -> str:
    """One head a line: its measures in % and its name, as many as were asked for."""
    wide = max((len(_head_name(row)) for row in report.rows), default=4)
    heading = f"{'head':<{wide}} " + " ".join(f"{x:>{_width(x)}}" for x in HEADINGS)
    lines = [style.bold(heading)]
    for row in report.rows[:most]:
        lines.append(f"{_head_name(row):<{wide}} " + " ".join(_cells_of(row)))
        lines += style.wrap(f"  {printable(row.label)}", "    ")
    if len(report.rows) > most:
        more = count(len(report.rows) - most, "more head")
        lines.append(f"... {more}; sort with report.sorted('induction'), or --sort.")
    notes = NOTE if report.weighted is None else f"{NOTE} Here {NORM_NOTE}"
    return "\n".join([*lines, "", *style.wrap(notes)])


def links_text(links: Sequence[object], most: int = 8) -> str:
    """The strongest links between two words."""
    return "\n".join(f"  {printable(str(link))}" for link in links[:most])


def _opening(seen: Seen) -> str:
    layers = count(len(seen.names), "layer")
    sizes = f"{layers} ({', '.join(seen.parts)}), {count(seen.sentences, 'sentence')}"
    return f"Seen: {sizes}; {_memory(seen)}."


def _memory(seen: Seen) -> str:
    """The memory of the facts: of how many layers and texts, and on which device."""
    facts, query_key, device = seen._source.recorded_bytes()
    texts = seen._source.texts
    if texts is None:
        return f"{facts / 1e6:,.1f} MB, from a file"
    layers = count(seen._recorder.watched_layers, "layer")
    return (
        f"{(facts + query_key) / 1e6:,.1f} MB for {layers}"
        f"{f' of {texts} texts' if texts > 1 else ''}, "
        f"{query_key / 1e6:,.1f} MB of it query and key"
        f"{f', and {device / 1e6:,.1f} MB on the device' if device else ''}"
    )


def _part(seen: Seen, part: str, style: TerminalStyle) -> list[str]:
    queries, keys = seen.texts(part)
    rows, columns = count(len(queries.tokens), "query", "queries"), count(len(keys.tokens), "key")
    lines = style.wrap(f"{part}: {rows} on {columns}: {_text(keys.words)}", "  ")
    shown = [key for key in seen.names if key.part == part]
    lines.append(
        style.bold("  layer  entropy  of unif  first  itself  prev  next  most received token")
    )
    lines += [_layer_line(seen[key.part, key.layer], key.layer)
              for key in shown[:MOST_LAYERS]]  # fmt: skip
    if len(shown) > MOST_LAYERS:
        lines.append(f"  ... {count(len(shown) - MOST_LAYERS, 'more layer')}")
    return lines


def _layer_line(layer: LayerObservation, number: int) -> str:
    measures = layer.measures
    if measures is None:
        return f"  {number:>5}"
    entropy = float(measures.entropy.mean_h.mean())
    uniform = float(measures.entropy.baseline_h.mean())
    measured = [measures.first, measures.itself, measures.previous, measures.next]
    shares = [100 * float(x.mean_h.mean()) for x in measured]
    received_k = np.asarray(layer.received, np.float64).mean(axis=0)
    key = int(received_k.argmax())
    share = received_k[key] / max(received_k.sum(), np.finfo(float).tiny)
    token = layer.key_text.tokens[key] if layer.key_text else str(key)
    of_uniform = 100 * entropy / uniform if uniform > 0 else 0.0
    return (
        f"  {number:>5} {entropy:>8.2f} {of_uniform:>7.0f}% {shares[0]:>5.0f}% {shares[1]:>6.0f}% "
        f"{shares[2]:>4.0f}% {shares[3]:>4.0f}%  {printable(token)[:16]} ({100 * share:.0f} %)"
    )


def _cells_of(row: HeadRow) -> list[str]:
    numbers = [row.measured[name] for name in MEASURES]
    texts = [f"{numbers[0]:.2f}"]
    for name, number in zip(list(MEASURES)[1:], numbers[1:], strict=True):
        texts.append(f"{100 * number:.0f}" if row.queries[name] else "-")
    return [f"{text:>{_width(x)}}" for text, x in zip(texts, HEADINGS, strict=True)]


def _width(heading: str) -> int:
    return max(5, len(heading))


def _head_name(row: HeadRow) -> str:
    return f"{row.part} {row.layer}.{row.head}"


def _text(words: Sequence[str]) -> str:
    """The words, their middle left out where they are many."""
    texts = [printable(word) for word in words]
    if len(texts) > MOST_WORDS:
        half = MOST_WORDS // 2
        texts = [*texts[:half], f"... {len(texts) - MOST_WORDS:,} more ...", *texts[-half:]]
    return " ".join(texts)
