"""Read: a sentence in; words, parts, roles and links out, and weights as numbers on demand."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from regard.transformer.reading import Reading
from regard.typing import Array
from regard.view.page.answers import (
    Answer,
    AnswerTable,
    Fields,
    Sources,
    Stop,
    json_answer,
    numbers,
)
from regard.view.page.maps import THUMBNAIL_CELLS, shrink
from regard.view.page.readings import as_page, integer_field, text_field


def answers(sources: Sources) -> AnswerTable:
    """read, weights, thumbnails."""

    def read(fields: Fields, stop: Stop) -> Answer:
        quick = fields.get("quick") is True
        reading = requested_reading(sources, fields, stop)
        page = as_page(reading, quick=quick)
        return json_answer(page | {"first": first_table(reading, page, fields)} if quick else page)

    def weights(fields: Fields, stop: Stop) -> Answer:
        return numbers(table(requested_reading(sources, fields, stop), fields))

    def thumbnails(fields: Fields, stop: Stop) -> Answer:
        weights_lhqk = requested_reading(sources, fields, stop).weights(
            part=text_field(fields, "part"), by="tokens"
        )
        return numbers(shrink(weights_lhqk, THUMBNAIL_CELLS))

    return {"/api/read": read, "/api/weights": weights, "/api/thumbnails": thumbnails}


def requested_reading(sources: Sources, fields: Fields, stop: Stop) -> Reading:
    """The reading of the sentence in a request, with its changes where it has any."""
    sentence, quick = text_field(fields, "sentence"), fields.get("quick") is True
    if fields.get("changes"):
        after: Reading = sources.readings.experiment(sentence, fields["changes"], stop.check).after
        return after
    return sources.readings.read(sentence, stop.check, quick=quick)


def first_table(reading: Reading, page: dict[str, Any], fields: Fields) -> dict[str, Any]:
    """The table that the page draws first, the highlight's unless it asks for another head.

    It comes with the reading: a second request would take as long as the drawing.
    """
    config = reading.model.config
    at = page["highlight"]
    requested = fields.get("at")
    if isinstance(requested, dict) and all(
        type(requested.get(x)) is int and 0 <= requested[x] < most
        for x, most in (("layer", config.layers), ("head", config.heads))
    ):
        at = requested
    weights_qk = reading.weights(layer=at["layer"], head=at["head"], by="tokens")
    content = np.ascontiguousarray(weights_qk, "<f4").tobytes()
    return {
        "part": "encoder",
        "layer": at["layer"],
        "head": at["head"],
        "rows": weights_qk.shape[0],
        "columns": weights_qk.shape[1],
        "weights": base64.b64encode(content).decode(),
    }


def table(reading: Reading, fields: Fields) -> Array:
    """weights_qk between tokens: of one head, the average of a layer or of all, or rolled out."""
    part, show = text_field(fields, "part"), fields.get("show", "head")
    if show == "rollout":
        return reading.rollout(part).tokens_qk
    if show == "all":
        return reading.average(part=part).tokens_qk
    layer = integer_field(fields, "layer")
    if show == "layer":
        return reading.average(layer, part=part).tokens_qk
    return reading.weights(layer, integer_field(fields, "head"), part=part, by="tokens")
