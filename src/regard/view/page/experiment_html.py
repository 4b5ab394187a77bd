"""An experiment in a notebook: both translations with the words that differ, odds, and a picture.

Plain HTML without scripts: a cell's output that is a few kilobytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from regard.display import percent
from regard.errors import RegardError
from regard.experiments.effects import Effects
from regard.experiments.experiment import Experiment
from regard.transformer.reading import Reading
from regard.view.page.notebook import as_image

CELL = 'style="text-align:left;padding:2px 12px 2px 0"'


def experiment_html(experiment: Experiment) -> str:
    """HTML output of a cell; the text of a terminal is folded below it."""
    changed = "".join(f"<li>{escape(x)}</li>" for x in experiment.changed) or "<li>nothing</li>"
    before, after = experiment.before, experiment.after
    text = f'<pre style="overflow-x:auto">{escape(str(experiment))}</pre>'
    if not isinstance(before, Reading):
        return f"<div><p>Changed:</p><ul>{changed}</ul>{_picture(experiment)}{text}</div>"
    rows = [
        _row("before", _sentence(before, experiment.differing[0])),
        _row("after", _sentence(after, experiment.differing[1])),
    ]
    return (
        f"<div><p>{escape(before.sentence)}</p><p>Changed:</p><ul>{changed}</ul>"
        f"<table>{''.join(rows)}</table>{_odds(experiment)}{_picture(experiment)}"
        f"<details><summary>As text</summary>{text}</details></div>"
    )


def effects_html(effects: Effects) -> str:
    """HTML output of a cell: the grids of all parts as one picture, and the text below it."""
    text = f'<pre style="overflow-x:auto">{escape(str(effects))}</pre>'
    image = as_image(effects.picture().svg(), "effects of all heads")
    return f"<div>{image}<details><summary>As text</summary>{text}</details></div>"


def _sentence(reading: Reading, differing: Sequence[int]) -> str:
    words = [
        f"<mark>{escape(word)}</mark>" if number in differing else escape(word)
        for number, word in enumerate(reading.translation_words)
    ]
    return " ".join(words).replace("&#x27; ", "&#x27;")


def _odds(experiment: Experiment) -> str:
    parting = experiment.parting
    prefix = escape(" ".join(parting.prefix[-6:]).replace("' ", "'"))
    rows = "".join(
        f"<tr><td {CELL}>{escape(x.word)}</td><td {CELL}>{percent(x.before, 1)}</td>"
        f"<td {CELL}>{percent(x.after, 1)}</td></tr>"
        for x in parting.candidates
    )
    reason = "whose probability changed most" if experiment.same else "where they part"
    return (
        f"<p>The word {reason}, after &ldquo;{prefix}&rdquo;:</p><table><tr><th></th>"
        f"<th {CELL}>before</th><th {CELL}>after</th></tr>{rows}</table>"
    )


def _picture(experiment: Experiment) -> str:
    try:
        return as_image(experiment.picture().svg(), "weights after the change")
    except RegardError:
        return ""


def _row(name: str, content: str) -> str:
    return f"<tr><th {CELL}>{name}</th><td {CELL}>{content}</td></tr>"
