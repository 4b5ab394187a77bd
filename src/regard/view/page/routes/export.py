"""Save: what the page shows as PDF or as a card, a reading or a file as one page of its own."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.textbook.examples import run_example
from regard.transformer.reading import Reading
from regard.view.figure.picture import Picture
from regard.view.page.answers import Answer, AnswerTable, Fields, Sources, Stop, html_answer
from regard.view.page.embed import offline_page, offline_run
from regard.view.page.maps import bounded_integer
from regard.view.page.readings import experiment_outcome, text_field
from regard.view.page.routes.map import run_of

MAX_TRIED = 6  # as web/read/experiment.js keeps
HIDDEN_STEP = -32768  # minus infinity, the score of a hidden key
STATE_FIELDS = (
    *("part", "layer", "head", "show", "as", "least", "marks", "q", "row", "stage", "cell"),
)


def answers(sources: Sources) -> AnswerTable:
    """pdf of a figure, card of a figure, html of a reading, html of a run."""

    def pdf(fields: Fields, stop: Stop) -> Answer:
        return Answer(figure(fields).content(".pdf"), "application/pdf")

    def card(fields: Fields, stop: Stop) -> Answer:
        content = figure({**fields, "kind": "card"}).content(".svg")
        return Answer(content, "image/svg+xml")

    def html(fields: Fields, stop: Stop) -> Answer:
        if "example" in fields:
            example = run_example(text_field(fields, "example"))
            return html_answer(offline_page(example.steps))
        state = fields.get("state")
        reading = sources.readings.read(text_field(fields, "sentence"), stop.check)
        state_fields = (
            {x: state[x] for x in STATE_FIELDS if x in state} if isinstance(state, dict) else {}
        )
        state_fields |= {x: fields[x] for x in ("part", "layer", "head", "view") if x in fields}
        return html_answer(offline_page(reading, state_fields, _tried(reading, fields, stop)))

    def _tried(reading: Reading, fields: Fields, stop: Stop) -> list[dict[str, Any]]:
        """The experiments of the page, run again: what a file says is what the model did."""
        tried = fields.get("tried", [])
        if not isinstance(tried, list) or len(tried) > MAX_TRIED:
            raise ArgumentError(f"tried must be a list of at most {MAX_TRIED} lists of changes.")
        made = [sources.readings.experiment(reading.sentence, x, stop.check) for x in tried]
        return [experiment_outcome(one) for one in made]

    run = run_of(sources)

    def map_html(fields: Fields, stop: Stop) -> Answer:
        state = fields.get("state")
        return html_answer(offline_run(run(fields), state if isinstance(state, dict) else {}))

    return {
        "/api/export/pdf": pdf,
        "/api/export/card": card,
        "/api/export/html": html,
        "/api/export/map": map_html,
    }


def figure(fields: Fields) -> Picture:
    """A figure of web/lib/figure_svg.js as a picture."""
    names = (_names(fields, "queries"), _names(fields, "keys"))
    axes = _names(fields, "axes")
    if len(axes) != 2:
        raise ArgumentError("axes must be two titles, of the rows and of the columns.")
    return Picture(
        _numbers(fields, (len(names[0]), len(names[1]))),
        names,
        text_field(fields, "kind"),
        text_field(fields, "title"),
        text_field(fields, "caption"),
        text_field(fields, "provenance"),
        _rows(fields, len(names[0])),
        (axes[0], axes[1]),
        text_field(fields, "what"),
    )


def _numbers(fields: Fields, shape: tuple[int, int]) -> Any:
    """Steps of the largest number: two bytes each, or one for its root (web/lib/export.js)."""
    sqrt = fields.get("sqrt") is True
    try:
        content = base64.b64decode(text_field(fields, "steps"), validate=True)
        steps = np.frombuffer(content, np.uint8 if sqrt else "<i2")
        most = float(fields.get("most", 1.0))
    except (binascii.Error, OverflowError, TypeError, ValueError):
        steps, most = np.zeros(0, np.uint8), 1.0
    if len(steps) != shape[0] * shape[1] or not len(steps) or not 0 < most < np.inf:
        raise ArgumentError("steps must hold one number for each cell of the figure.")
    if sqrt:
        return (most * (steps / 255.0) ** 2).reshape(shape)
    return np.where(steps == HIDDEN_STEP, -np.inf, steps * (most / 32767)).reshape(shape)


def _names(fields: Fields, name: str) -> tuple[str, ...]:
    names = fields.get(name)
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise ArgumentError(f"{name} must be a list of names.")
    return tuple(names)


def _rows(fields: Fields, size: int) -> tuple[int, ...]:
    rows = fields.get("chosen", [])
    if not isinstance(rows, list):
        raise ArgumentError("chosen must be a list of rows.")
    return tuple(bounded_integer("a chosen row", row, 0, size - 1) for row in rows)
