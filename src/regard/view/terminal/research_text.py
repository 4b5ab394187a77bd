"""Tables over the heads of watched runs in a terminal: runs, sinks, clusters, needles, links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.display import percent
from regard.errors import count
from regard.view.terminal.style import PIPE, TerminalStyle, printable, shorten

if TYPE_CHECKING:
    from regard.watcher.measures.head_clusters import HeadCluster, HeadClusters, HeadNumbers
    from regard.watcher.measures.links import LabelAgreement, LinkAgreement
    from regard.watcher.measures.needle import NeedleReport, RetrievalHead
    from regard.watcher.measures.run_comparison import HeadDifference, RunComparison
    from regard.watcher.measures.sinks import AttentionShare, SinkReport, SinkToken

MOST = 12
TOKEN = 16


def comparison_page(
    comparison: RunComparison, style: TerminalStyle = PIPE, most: int = MOST
) -> str:
    """The heads that differ most, each with the row that differs most."""
    lines = []
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
    names = {"first": "the first token", "special": "special tokens",
             "punctuation": "punctuation", "near": f"others closer than {sinks.near}",
             "distant": "others farther off"}  # fmt: skip
    for part in dict.fromkeys(head.part for head in sinks.heads):
        shares = [f"{names[x]}: {_share(both)}" for x, both in sinks.mean(part).items()]
        lines += style.wrap(f"{part}, mean over heads. {'; '.join(shares).capitalize()}.", "  ")
    few = [f"{head.part} {head.layer}.{head.head}" for head in sinks.streaming]
    if few:
        more = f" and {len(few) - MOST} more" if len(few) > MOST else ""
        text = f"{count(len(few), 'streaming head')} (next to nothing farther off): "
        lines += style.wrap(f"{text}{', '.join(few[:MOST])}{more}.", "  ")
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


def clusters_page(clusters: HeadClusters, style: TerminalStyle = PIPE, most: int = MOST) -> str:
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


def needle_page(report: NeedleReport, style: TerminalStyle = PIPE, most: int = MOST) -> str:
    """The heads that copy from the needle, beside chance, and the model's own answers."""
    depths = ", ".join(f"{100 * depth:.0f} %" for depth in report.depths)
    lines = style.wrap(f"A needle at {depths} of {count(report.tokens, 'token')}; the answer: "
                       f"{printable(' '.join(report.answer))}", "  ")  # fmt: skip
    if report.answered is not None:
        own = ", ".join(percent(share) for share in report.answered)
        lines += style.wrap(f"The model itself gives so much of the answer: {own}.", "  ")
    wide = max(len(_head(head)) for head in report.heads)
    lines += ["", style.bold(f"{'head':<{wide}}   copied   evenly   needle   evenly  by depth")]
    lines += [_retrieval(head, wide) for head in report.heads[:most]]
    if len(report.heads) > most:
        lines.append(f"... {count(len(report.heads) - most, 'more head')}")
    return "\n".join([*lines, "", *style.wrap(
        "Copied: share of the answer's tokens whose row has its largest weight on that token in "
        "the needle. Needle: mean weight of those rows on the needle. The answer is given, not "
        "written by the model. Layers and heads count from 0."
    )])  # fmt: skip


def _retrieval(head: RetrievalHead, wide: int) -> str:
    numbers = (head.copied, head.copied_baseline, head.weight, head.weight_baseline)
    cells = "  ".join(f"{100 * number:>5.1f} %" for number in numbers)
    by_depth = " ".join(f"{100 * share:.0f}" for share in head.by_depth)
    return f"{_head(head):<{wide}}  {cells}  {by_depth}"


def agreement_page(agreement: LinkAgreement, style: TerminalStyle = PIPE, most: int = MOST) -> str:
    """The best head of each label and direction beside the best fixed offset."""
    wide = max(len(_label(row)) for row in agreement.rows)
    lines = [f"Links of {count(agreement.sentences, 'sentence')} in "
             f"{count(len(agreement.heads), 'head')}."]  # fmt: skip
    if agreement.hidden:
        lines += style.wrap(f"{agreement.hidden:,} ways of links lead to a later word, which a "
                            "causal model hides: left out.", "  ")  # fmt: skip
    if agreement.misspelt:
        text = f"{count(len(agreement.misspelt), 'sentence')} left out: other tokens than words."
        lines += style.wrap(text, "  ")
    titles = f"{'links':<{wide}}  number  best head       right  held out  one offset"
    lines += ["", style.bold(titles)]
    lines += [_agreement(row, wide) for row in agreement.rows[:most]]
    if len(agreement.rows) > most:
        lines.append(f"... {count(len(agreement.rows) - most, 'more line')}")
    return "\n".join([*lines, "", *style.wrap(
        "Right: share of links whose query has its largest weight on the key, among all words but "
        "itself. The best of many heads is lucky too: held out is the head chosen on every second "
        "sentence, measured on the others. One offset: the best single distance, in words. Layers "
        "and heads count from 0."
    )])  # fmt: skip


def _agreement(row: LabelAgreement, wide: int) -> str:
    left_out = "-" if row.second_half is None else percent(row.second_half)
    return (
        f"{_label(row):<{wide}}  {row.links:>6,}  {_head(row.best):<14}  {percent(row.accuracy):>5}"
        f"  {left_out:>8}  {percent(row.baseline)} ({row.offset:+d})"
    )


def _label(row: LabelAgreement) -> str:
    return f"{shorten(printable(row.label), 12)} {row.direction}"


def _token(text: str) -> str:
    return shorten(printable(text), TOKEN)


def _head(head: HeadNumbers | RetrievalHead | HeadDifference) -> str:
    return f"{head.part} {head.layer}.{head.head}"
