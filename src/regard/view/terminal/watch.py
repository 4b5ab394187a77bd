"""Watched models in a terminal: summary, report of heads, images, and measures over all heads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from regard.display import percent
from regard.engine.call import NORM_WEIGHTED_NOTE as NORM_NOTE
from regard.errors import count
from regard.heads.names import MEASURES
from regard.view.terminal.style import PIPE, TerminalStyle, cells, pad, printable, shorten

if TYPE_CHECKING:
    from regard.typing import Array
    from regard.watcher.layer import LayerObservation
    from regard.watcher.measures.head_clusters import HeadCluster, HeadClusters, HeadNumbers
    from regard.watcher.measures.head_report import HeadReport, HeadRow
    from regard.watcher.measures.links import LabelAgreement, LinkAgreement
    from regard.watcher.measures.needle import NeedleReport, RetrievalHead
    from regard.watcher.measures.run_comparison import HeadDifference, RunComparison
    from regard.watcher.measures.sinks import AttentionShare, SinkReport, SinkToken
    from regard.watcher.media.image_attention import ImageAttention
    from regard.watcher.seen import Seen
    from regard.watcher.trace import Parting

MAX_LAYERS, MAX_HEADS, MAX_WORDS, MAX_LEFT_OUT = 40, 24, 40, 6
HEADINGS = tuple(name.heading for name in MEASURES.values())
EXPLAINED_MEASURES = ("first", "duplicate", "induction")
NOTE = (
    "Entropy in nats, the rest in % of a head's attention; layers and heads count from 0. "
    + "; ".join(f"{MEASURES[x].heading}: {MEASURES[x].target}" for x in EXPLAINED_MEASURES)
    + ". Attention is evidence, not explanation."
)


def summary(seen: Seen, style: TerminalStyle = PIPE) -> str:
    """The text, its size, every layer in a line, and where to look next."""
    if not seen.names:
        nothing = "no attention" if seen.without_softmax else "nothing yet"
        return "\n".join(style.wrap(f"Seen: {nothing}: {seen.advice}"))
    lines = style.wrap(_opening(seen), "  ")
    if seen.sentences > 1 and seen._sentence is None:
        lines.append("Choose one first: seen.sentence(0).")
        return "\n".join(lines)
    for part in seen.parts:
        lines += ["", *_part(seen, part, style)]
    for others in seen.without_softmax:
        lines += ["", *style.wrap(str(others), "  ")]
    left_out = _unrecorded(seen)
    if left_out:
        lines += ["", *style.wrap(left_out, "  ")]
    ask = "Ask seen[layer], seen[layer, head], seen.find(word, other), seen.report()."
    return "\n".join([*lines, "", *style.wrap(ask)])


def report_text(report: HeadReport, style: TerminalStyle = PIPE, most: int = MAX_HEADS) -> str:
    """One head a line: its measures in % and its name, as many as were asked for.

    Of a report that is not sorted and too long the most telling heads are shown.
    """
    if report.by is None and len(report.rows) > most:
        report = report.sorted("telling")
    wide = max((len(_head_name(row)) for row in report.rows), default=4)
    heading = f"{'head':<{wide}} " + " ".join(f"{x:>{_width(x)}}" for x in HEADINGS)
    lines = [style.bold(heading)]
    for row in report.rows[:most]:
        lines.append(f"{_head_name(row):<{wide}} " + " ".join(_row_cells(row)))
        lines += style.wrap(f"  {printable(row.label)}", "    ")
    if len(report.rows) > most:
        more = count(len(report.rows) - most, "more head")
        first = ", the largest first" if report.by in (*MEASURES, "telling") else ""
        order = f"by {report.by}{first}"
        lines += style.wrap(f"... {more}, {order}; sort with report.sorted('first'), or --sort.")
    notes = NOTE if report.weighted is None else f"{NOTE} Here {NORM_NOTE}"
    return "\n".join([*lines, "", *style.wrap(notes)])


def links_text(links: Sequence[object], most: int = 8) -> str:
    """The strongest links between two words."""
    return "\n".join(f"  {printable(str(link))}" for link in links[:most])


def _opening(seen: Seen) -> str:
    layers = count(len(seen.names), "layer")
    sizes = f"{layers} ({', '.join(seen.parts)}), {count(seen.sentences, 'sentence')}"
    return f"Seen: {sizes}; {_memory(seen)}."


def _unrecorded(seen: Seen) -> str:
    """Modules in which a softmax or an attention ran that is not among the layers."""
    paths = seen.unrecorded
    kinds = list(dict.fromkeys(re.sub(r"\b\d+\b", "*", path) for path in paths))
    if not kinds:
        return ""
    more = f" and {len(kinds) - MAX_LEFT_OUT} more" if len(kinds) > MAX_LEFT_OUT else ""
    return (
        "Not recorded: a softmax that no product with a value follows, or attention with a head "
        f"for each token, in {', '.join(kinds[:MAX_LEFT_OUT])}{more}. It may choose experts, or be "
        "attention of another kind."
    )


def _memory(seen: Seen) -> str:
    """The memory of the facts: of how many layers and texts, and on which device."""
    facts, query_key, device = seen._source.recorded_bytes()
    texts = seen._source.texts
    if texts is None:
        return f"{facts / 1e6:,.1f} MB, from a file"
    layers = count(seen._recorder.source.watched_layers, "layer")
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
    lines += [_layer_line(seen[key.part, key.layer], key.layer) for key in shown[:MAX_LAYERS]]
    if len(shown) > MAX_LAYERS:
        lines.append(f"  ... {count(len(shown) - MAX_LAYERS, 'more layer')}")
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


def _row_cells(row: HeadRow) -> list[str]:
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
    if len(texts) > MAX_WORDS:
        half = MAX_WORDS // 2
        texts = [*texts[:half], f"... {len(texts) - MAX_WORDS:,} more ...", *texts[-half:]]
    return " ".join(texts)


SHADES = " .:-=+*#%@"
MAX_GRID_ROWS, MAX_GRID_COLUMNS = 32, 64
IMAGE_NOTE = (
    "Rows and columns count from 0, at the top left. Of even: how much more than if the image's "
    "weight were spread evenly. Attention is evidence, not explanation."
)


def image_text(seen: ImageAttention, style: TerminalStyle = PIPE, most: int = 8) -> str:
    """Title, the share of the row on the image, a grid of shades, the strongest patches."""
    rows, columns = seen.weights.shape
    lines = style.wrap(printable(f"{seen.title}."), "  ")
    lines += style.wrap(printable(seen.summary))
    lines += ["", *(f"  {line}" for line in grid_lines(seen.weights)), ""]
    lines.append(style.bold("  row  column  weight  of even"))
    even = max(seen.total / (rows * columns), np.finfo(float).tiny)
    for row, column, weight in seen.strongest(most):
        lines.append(f"  {row:>3} {column:>7} {percent(weight, 1):>7} {weight / even:>7.1f}x")
    lines += [x for note in seen.notes for x in style.wrap(note)]
    return "\n".join([*lines, *style.wrap(IMAGE_NOTE)])


def words_text(words: Sequence[tuple[str, ImageAttention]], style: TerminalStyle = PIPE) -> str:
    """A line for each word that was written: its weight on the image, and its strongest patch."""
    wide = max([4, *(cells(shorten(word)) for word, _ in words)])
    lines = [style.bold(f"  {'word':<{wide}}  on image  strongest patch (row, column)")]
    for word, seen in words:
        (row, column, weight), *_ = seen.strongest(1)
        name, share = pad(shorten(word), wide), percent(seen.total, 1)
        lines.append(f"  {name}  {share:>8}  {percent(weight, 1):>7} in {row}, {column}")
    return "\n".join(lines)


def grid_lines(weights: Array) -> list[str]:
    """Each cell as a character, the fuller the larger its weight; blocks of cells in a large grid.

    >>> grid_lines(np.array([[0.0, 0.25], [1.0, 0.0]]))
    ['|  ==|', '|@@  |']
    """
    steps = [
        max(1, -(-n // most))
        for n, most in zip(weights.shape, (MAX_GRID_ROWS, MAX_GRID_COLUMNS // 2), strict=True)
    ]
    for axis, step in enumerate(steps):
        weights = np.maximum.reduceat(weights, np.arange(0, weights.shape[axis], step), axis=axis)
    most = float(weights.max(initial=0.0)) or 1.0
    levels = np.rint(np.sqrt(weights / most) * (len(SHADES) - 1)).astype(int)
    return ["|" + "".join(2 * SHADES[x] for x in row) + "|" for row in levels]


DEFAULT_HEADS_LISTED = 12
TOKEN_COLUMNS = 16
NEEDLE_NOTE = (
    "Copied: share of the answer's tokens whose row has its largest weight on that token in the "
    "needle. Needle: mean weight of those rows on the needle. The answer is given, not written by "
    "the model. Layers and heads count from 0."
)
AGREEMENT_NOTE = (
    "Right: share of links whose query has its largest weight on the key, among all words but "
    "itself. The best of many heads is lucky too: held out is the head chosen on every second "
    "sentence, measured on the others. One offset: the best single distance, in words. Layers and "
    "heads count from 0."
)


def comparison_page(
    comparison: RunComparison, style: TerminalStyle = PIPE, most: int = DEFAULT_HEADS_LISTED
) -> str:
    """The heads that differ most, each with the row that differs most."""
    lines = []
    if comparison.parting is not None:
        lines = [parting_page(comparison.parting, style), ""]
    for part, (aligned, one, other) in comparison.aligned.items():
        text = f"{part}: {count(aligned, 'token')} aligned, of {one:,} and of {other:,}."
        lines += style.wrap(text, "  ")
    lines += [line for note in comparison.notes for line in style.wrap(printable(note), "  ")]
    wide = max(len(_head(head)) for head in comparison.heads)
    lines += ["", style.bold(f"{'head':<{wide}}   bits  usual  most at")]
    lines += [_difference(head, wide, style) for head in comparison.heads[:most]]
    if len(comparison.heads) > most:
        lines.append(f"... {count(len(comparison.heads) - most, 'more head')}")
    usual = "usual: two different heads of the layer. Layers and heads count from 0."
    return "\n".join([*lines, "", *style.wrap(f"{comparison.definition} {usual}")])


def parting_page(parting: Parting, style: TerminalStyle = PIPE) -> str:
    """Where two runs part, and why."""
    told = str(parting).splitlines()
    return "\n".join(x for line in told for x in style.wrap(printable(line), "  "))


def _difference(head: HeadDifference, wide: int, style: TerminalStyle) -> str:
    row = head.largest
    usual = "    -" if head.usual is None else f"{head.usual:.3f}"
    keys = " -> ".join(f"{_token(x.token)} {percent(x.weight)}" for x in (row.one, row.other))
    line = f"{_head(head):<{wide}}  {head.distance:.3f}  {usual}  {_token(row.token)}: {keys}"
    return shorten(line, style.width)


def sinks_page(sinks: SinkReport, style: TerminalStyle = PIPE) -> str:
    """The tokens that heads rest on, mean shares by kind, and the streaming heads."""
    lines = [style.bold("Sinks: tokens above their even share, over all heads")]
    lines += [line for x in sinks.tokens for line in style.wrap(_sink(x, sinks), "    ")]
    if not sinks.tokens:
        lines.append("  none")
    names = {
        "first": "the first token",
        "special": "special tokens",
        "punctuation": "punctuation",
        "near": f"others closer than {sinks.near}",
        "distant": "others farther off",
    }
    for part in dict.fromkeys(head.part for head in sinks.heads):
        shares = [f"{names[x]}: {_share(both)}" for x, both in sinks.mean(part).items()]
        lines += style.wrap(f"{part}, mean over heads. {'; '.join(shares).capitalize()}.", "  ")
    few = [f"{head.part} {head.layer}.{head.head}" for head in sinks.streaming]
    if few:
        left_out = len(few) - DEFAULT_HEADS_LISTED
        more = f" and {left_out} more" if left_out > 0 else ""
        text = f"{count(len(few), 'streaming head')} (next to nothing farther off): "
        lines += style.wrap(f"{text}{', '.join(few[:DEFAULT_HEADS_LISTED])}{more}.", "  ")
    lines += [line for note in sinks.notes for line in style.wrap(printable(note), "  ")]
    return "\n".join(lines)


def _sink(sink: SinkToken, sinks: SinkReport) -> str:
    heads = sum(head.part == sink.part for head in sinks.heads)
    return (
        f"  {sink.part} {printable(sink.token)!r} (token {sink.position}, {sink.kind}): "
        f"{percent(sink.share)}{_evenly(sink.baseline)}; 40 % or more in {sink.heads} of "
        f"{count(heads, 'head')}"
    )


def _share(both: AttentionShare) -> str:
    return f"{percent(both.share)}{_evenly(both.baseline)}"


def _evenly(baseline: float | None) -> str:
    return "" if baseline is None else f" (evenly {percent(baseline)})"


def clusters_page(
    clusters: HeadClusters, style: TerminalStyle = PIPE, most: int = DEFAULT_HEADS_LISTED
) -> str:
    """The clusters of several heads, and how many heads are like no other."""
    from regard.watcher.measures.head_clusters import DEFINITION

    several = [one for one in clusters.clusters if len(one.heads) > 1]
    alone = len(clusters.clusters) - len(several)
    lines = [
        style.bold(
            f"{count(len(several), 'cluster')} of {count(len(clusters.heads), 'head')} "
            f"within {clusters.within:g}; {alone} alone"
        )
    ]
    for one in several[:most]:
        lines += style.wrap(_cluster(one), "    ")
    if len(several) > most:
        lines.append(f"... {count(len(several) - most, 'more cluster')}")
    usual = f"Any two heads: {clusters.usual:.3f}. Layers and heads count from 0."
    return "\n".join([*lines, "", *style.wrap(f"{DEFINITION} {usual}")])


def _cluster(one: HeadCluster) -> str:
    names = ", ".join(f"{head.layer}.{head.head}" for head in one.heads)
    return (
        f"  {one.heads[0].part} {names}: distance {one.spread:.3f}, from even attention "
        f"{one.even:.3f}"
    )


def needle_page(
    report: NeedleReport, style: TerminalStyle = PIPE, most: int = DEFAULT_HEADS_LISTED
) -> str:
    """The heads that copy from the needle, their chance level, and the model's own answers."""
    depths = ", ".join(f"{100 * depth:.0f} %" for depth in report.depths)
    lines = style.wrap(
        f"A needle at {depths} of {count(report.tokens, 'token')}; the answer: "
        f"{printable(' '.join(report.answer))}",
        "  ",
    )
    if report.answered is not None:
        own = ", ".join(percent(share) for share in report.answered)
        lines += style.wrap(f"The model itself gives so much of the answer: {own}.", "  ")
    wide = max(len(_head(head)) for head in report.heads)
    lines += ["", style.bold(f"{'head':<{wide}}   copied   evenly   needle   evenly  by depth")]
    lines += [_retrieval(head, wide) for head in report.heads[:most]]
    if len(report.heads) > most:
        lines.append(f"... {count(len(report.heads) - most, 'more head')}")
    return "\n".join([*lines, "", *style.wrap(NEEDLE_NOTE)])


def _retrieval(head: RetrievalHead, wide: int) -> str:
    numbers = (head.copied, head.copied_baseline, head.weight, head.weight_baseline)
    cells = "  ".join(f"{100 * number:>5.1f} %" for number in numbers)
    by_depth = " ".join(f"{100 * share:.0f}" for share in head.by_depth)
    return f"{_head(head):<{wide}}  {cells}  {by_depth}"


def agreement_page(
    agreement: LinkAgreement, style: TerminalStyle = PIPE, most: int = DEFAULT_HEADS_LISTED
) -> str:
    """The best head of each label and direction, and the best fixed offset."""
    wide = max(len(_label(row)) for row in agreement.rows)
    lines = [
        f"Links of {count(agreement.sentences, 'sentence')} in "
        f"{count(len(agreement.heads), 'head')}."
    ]
    if agreement.hidden:
        lines += style.wrap(
            f"{agreement.hidden:,} ways of links lead to a later word, which a "
            "causal model hides: left out.",
            "  ",
        )
    if agreement.misspelt:
        text = f"{count(len(agreement.misspelt), 'sentence')} left out: other tokens than words."
        lines += style.wrap(text, "  ")
    titles = f"{'links':<{wide}}  number  best head       right  held out  one offset"
    lines += ["", style.bold(titles)]
    lines += [_agreement(row, wide) for row in agreement.rows[:most]]
    if len(agreement.rows) > most:
        lines.append(f"... {count(len(agreement.rows) - most, 'more line')}")
    return "\n".join([*lines, "", *style.wrap(AGREEMENT_NOTE)])


def _agreement(row: LabelAgreement, wide: int) -> str:
    left_out = "-" if row.second_half is None else percent(row.second_half)
    return (
        f"{_label(row):<{wide}}  {row.links:>6,}  {_head(row.best):<14}  {percent(row.accuracy):>5}"
        f"  {left_out:>8}  {percent(row.baseline)} ({row.offset:+d})"
    )


def _label(row: LabelAgreement) -> str:
    return f"{shorten(printable(row.label), 12)} {row.direction}"


def _token(text: str) -> str:
    return shorten(printable(text), TOKEN_COLUMNS)


def _head(head: HeadNumbers | RetrievalHead | HeadDifference) -> str:
    return f"{head.part} {head.layer}.{head.head}"
