"""Text of a monitored training: each measure over its steps as a sparkline, and the alerts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import count
from regard.monitoring.health import ADVICE, MEASURES
from regard.monitoring.writers import EXTREMES
from regard.typing import Array
from regard.view.terminal.style import PIPE, TerminalStyle, printable

if TYPE_CHECKING:
    from regard.monitoring.folder import History

BARS = "▁▂▃▄▅▆▇█"
MOST_ALERTS = 12
NAME_COLUMNS, NUMBER_COLUMNS = 15, 9


def summary(history: History, style: TerminalStyle = PIPE, measure: str | None = None) -> str:
    """Every measure over all heads; or one measure, layer by layer."""
    lines = [*style.wrap(_about(history)), ""]
    if not len(history.steps):
        return "\n".join([*lines, "Nothing has been observed yet."])
    if measure is None:
        lines += _measures(history, style)
    else:
        lines += _layers(history, measure, style)
    return "\n".join([*lines, "", *_alerts(history, style)])


def _about(history: History) -> str:
    about = history.about
    rows = "" if about.rows is None else f", {about.rows} sampled queries of each sentence"
    probe = " of a fixed batch" if about.probe else ""
    text = (
        f"{printable(history.folder)}: {count(len(about.layers), 'layer')}, "
        f"{count(about.heads, 'head')}; {count(len(history.steps), 'observation')}{probe}, "
        f"one every {count(about.every, 'step')}{rows}."
    )
    if len(history.all_steps):
        text += f" Steps {history.all_steps[0]:,} to {history.all_steps[-1]:,}."
    if history.damaged:
        text += f" Left out: {count(history.damaged, 'damaged record')}."
    if history.missing:
        missing = count(history.missing, "record")
        text += f" Missing: at least {missing}, since a file of the folder was cut."
    return text


def sparkline(numbers: Array, width: int) -> str:
    """Numbers as bars, at most ``width`` of them, the mean of neighbours; · where none is finite.

    >>> sparkline(np.array([0.0, 1.0, 2.0, np.nan]), 10)
    '▁▅█·'
    """
    edges = np.linspace(0, len(numbers), min(width, len(numbers)) + 1).astype(int)
    parts = [x[np.isfinite(x)] for a, b in pairwise(edges) for x in (numbers[a:b],)]
    means = np.array([x.mean() if len(x) else np.nan for x in parts])
    if not np.isfinite(means).any():
        return "·" * len(means)
    low, high = np.nanmin(means), np.nanmax(means)
    scaled = (means - low) / (high - low) if high > low else means * 0
    bars = np.rint(np.nan_to_num(scaled) * (len(BARS) - 1)).astype(int)
    return "".join("·" if np.isnan(x) else BARS[bar] for x, bar in zip(means, bars, strict=True))


def _row(name: str, numbers: Array, style: TerminalStyle, where: str = "") -> str:
    """A name, the first number, a sparkline, the last number."""
    finite = numbers[np.isfinite(numbers)]
    first, last = (f"{x:.4g}" for x in (finite[0], finite[-1])) if len(finite) else ("-", "-")
    width = max(8, style.width - NAME_COLUMNS - 2 * NUMBER_COLUMNS - 24)
    line = f"{name:<{NAME_COLUMNS}}{first:>{NUMBER_COLUMNS}} {sparkline(numbers, width)} {last}"
    return f"{line}  {where}".rstrip()


def _measures(history: History, style: TerminalStyle) -> Iterator[str]:
    if np.isfinite(history.losses).any():
        yield _row("loss", history.losses, style)
    for name in history.about.measures:
        table = history[name]
        if not np.isfinite(table).any():
            continue
        reduce = EXTREMES.get(name, np.nanmean)
        known = [x[np.isfinite(x)] for x in table]
        numbers = np.array([reduce(x) if len(x) else np.nan for x in known])
        yield _row(name, numbers, style, _outlier(history, name))
    yield ""
    yield from style.wrap(
        "First and last number; over all heads: the largest score and bound, the smallest "
        "min_entropy, the mean of the others. Beside it the head that is furthest from the rest "
        "at the end, as layer.head. What a measure means, and layer by layer: --measure score."
    )


def _outlier(history: History, name: str) -> str:
    """The head whose last number differs most from the median."""
    last = history[name][-1]
    if np.isfinite(last).sum() < 2:
        return ""
    extremes = {"score": last, "bound": last, "min_entropy": -last}
    distance = extremes.get(name, np.abs(last - np.nanmedian(last)))
    at = int(np.nanargmax(distance))
    layer = int(np.searchsorted(history.about.starts, at, side="right")) - 1
    found = history.about.layers[layer]
    return f"{found.part} {found.layer}.{at - history.about.starts[layer]} {last[at]:.3g}"


def _layers(history: History, measure: str, style: TerminalStyle) -> Iterator[str]:
    reduce = EXTREMES.get(measure, np.nanmean)
    yield from style.wrap(f"{measure}: {MEASURES.get(measure, '')}. {ADVICE.get(measure, '')}")
    yield ""
    for index, layer in enumerate(history.about.layers):
        known = [x[np.isfinite(x)] for x in history.layer(measure, index)]
        numbers = np.array([reduce(x) if len(x) else np.nan for x in known])
        yield _row(f"{layer.part} {layer.layer}", numbers, style)


def _alerts(history: History, style: TerminalStyle) -> Iterator[str]:
    alerts = history.alerts
    if not alerts:
        yield "No alerts."
        return
    yield f"{count(len(alerts), 'alert')}:"
    for alert in alerts[:MOST_ALERTS]:
        over = "" if alert["last"] is None else f" Over since step {alert['last'] + 1}."
        yield from style.wrap(
            f"  {printable(alert['severity'])}: {printable(alert['line'])}{over}", "    "
        )
    if len(alerts) > MOST_ALERTS:
        yield f"  and {len(alerts) - MOST_ALERTS} more, in events.jsonl."
