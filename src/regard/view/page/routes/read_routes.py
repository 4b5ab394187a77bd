"""Read: a sentence in; words, parts, roles and links out, and weights as numbers on demand."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from regard.errors import ArgumentError
from regard.heads.links import CAUTION
from regard.text.words import TokenizedText
from regard.transformer.reading import Reading
from regard.transformer.roles import PARTS, Role
from regard.typing import Array
from regard.view.page.jobs import Context, Fields, Stop, numbers
from regard.view.page.map_source import bounded_integer
from regard.view.page.thumbnails import THUMBNAIL, small

if TYPE_CHECKING:
    from regard.view.page.runs import Run

TITLES = {
    "encoder": ("encoder", "English looks at English"),
    "decoder": ("decoder", "French looks at the French before it"),
    "cross": ("cross", "French looks at English"),
}


def routes(context: Context) -> list[Route]:
    """read, weights, thumbnails."""

    def reading_of(fields: Fields, stop: Stop) -> Reading:
        sentence, quick = fields.get("sentence"), fields.get("quick") is True
        if not isinstance(sentence, str):
            raise ArgumentError("a sentence needs to be text: send it as 'sentence'.")
        if fields.get("changes"):
            changed = context.readings.experiment(sentence, fields["changes"], stop.check)
            after: Reading = changed.after
            return after
        return context.readings.of(sentence, stop.check, quick=quick)

    @lru_cache(maxsize=4)
    def opened(index: int) -> Run:
        from regard.view.page.runs import open_run

        return open_run(context.files[index])

    def run_of(fields: Fields) -> Run | None:
        if fields.get("file") is None:
            return None
        return opened(bounded_integer("file", fields["file"], 0, len(context.files) - 1))

    def read(fields: Fields, stop: Stop) -> Response:
        if run := run_of(fields):
            return JSONResponse(run.reading | {"file": fields["file"]})
        quick = fields.get("quick") is True
        reading = reading_of(fields, stop)
        page = as_page(reading, quick=quick)
        return JSONResponse(page | {"first": first_table(reading, page, fields)} if quick else page)

    def weights(fields: Fields, stop: Stop) -> Response:
        if run := run_of(fields):
            return numbers(run.weights(fields))
        return numbers(table(reading_of(fields, stop), fields))

    def thumbnails(fields: Fields, stop: Stop) -> Response:
        if run := run_of(fields):
            return numbers(run.thumbnails(fields))
        weights_lhqk = reading_of(fields, stop).weights(part=str(fields.get("part")), by="tokens")
        return numbers(small(weights_lhqk, THUMBNAIL))

    return [
        context.post("/api/read", read),
        context.post("/api/weights", weights),
        context.post("/api/thumbnails", thumbnails),
    ]


def as_page(reading: Reading, *, quick: bool = False) -> dict[str, Any]:
    """A reading as the page takes it (the shape is written down in web/lib/api.js)."""
    parts = ("encoder",) if quick else PARTS
    return {
        "sentence": reading.sentence,
        "translation": reading.translation,
        "quick": quick,
        "parts": [_part(reading, part) for part in parts],
        "alignment": None if quick else _alignment(reading),
        "highlight": reading.highlight().to_dict(),
        "notes": list(reading.notes),
        "caution": CAUTION,
    }  # fmt: skip


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
    return {"part": "encoder", "layer": at["layer"], "head": at["head"],
            "rows": weights_qk.shape[0], "columns": weights_qk.shape[1],
            "weights": base64.b64encode(content).decode()}  # fmt: skip


def table(reading: Reading, fields: Fields) -> Array:
    """weights_qk between tokens: of one head, the average of a layer or of all, or rolled out."""
    part, show = str(fields.get("part")), fields.get("show", "head")
    layer, head = fields.get("layer"), fields.get("head")
    if show == "rollout":
        return reading.rollout(part).tokens_qk
    if show == "all":
        return reading.average(part=part).tokens_qk
    if not isinstance(layer, int):
        raise ArgumentError(f"layer needs a whole number from 0, but it is {layer!r}.")
    if show == "layer":
        return reading.average(layer, part=part).tokens_qk
    if not isinstance(head, int):
        raise ArgumentError(f"head needs a whole number from 0, but it is {head!r}.")
    return reading.weights(part=part, layer=layer, head=head, by="tokens")


def _part(reading: Reading, part: str) -> dict[str, Any]:
    queries, keys = reading.texts(part)
    sizes, roles = reading.model.config, reading.model.roles.heads(part)
    title, about = TITLES[part]
    language = {id(reading.source): "English", id(reading.target): "French"}
    return {
        "name": part,
        "title": title,
        "about": about,
        "layers": sizes.layers,
        "heads": sizes.heads,
        "causal": part == "decoder",
        "query": _side(queries, language[id(queries)]),
        "key": _side(keys, language[id(keys)]),
        **_roles(roles, sizes.layers, sizes.heads),
        "ways": ["head", "layer", "all", *(() if part == "cross" else ("rollout",))],
        "thumbnail": [
            min(THUMBNAIL, len(queries.tokens)),
            min(THUMBNAIL, len(keys.tokens)),
        ],
        "steps": True,
    }


def _side(side: TokenizedText, language: str) -> dict[str, Any]:
    return {
        "language": language,
        "tokens": list(side.tokens),
        "words": list(side.words),
        "word_of_token": list(side.word_of_token),
    }


def _roles(roles: Mapping[tuple[int, int], Role], layers: int, heads: int) -> dict[str, Any]:
    """The name of each head's role, and the name with the measure that it rests on."""

    def table(attribute: str) -> list[list[str]]:
        return [
            [getattr(roles.get((layer, head)), attribute, "") for head in range(heads)]
            for layer in range(layers)
        ]

    return {"roles": table("name"), "described_roles": table("described")}


def _alignment(reading: Reading) -> dict[str, Any]:
    alignment = reading.alignment
    return {
        "words": list(alignment.words),
        "sources": [
            [{"key": key, "weight": float(alignment.weights_qk[row, key])}
             for key in alignment.source_columns(row)]
            for row in range(len(alignment.words))
        ],
        "heads": [list(head) for head in alignment.heads],
    }  # fmt: skip
