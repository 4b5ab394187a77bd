"""Map: the files that were opened, any rectangle of their weights, and what a row looks at."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from regard.view.page.jobs import Context, Fields, Stop, numbers
from regard.view.page.map_source import Layer, Opened, Place, open_file, whole
from regard.view.page.regions import Region, Shown, region_of

MOST_CELLS = 1024  # a side


def routes(context: Context) -> list[Route]:
    """about, region, row and text of the files that the command line named."""

    @lru_cache(maxsize=8)
    def opened(place: int) -> Opened:
        return open_file(context.files[place])

    def file_of(fields: Fields) -> Opened:
        return opened(whole("file", fields.get("file"), 0, len(context.files) - 1))

    def about(fields: Fields, stop: Stop) -> Response:
        return JSONResponse(file_of(fields).about())

    def region(fields: Fields, stop: Stop) -> Response:
        return _region(file_of(fields), fields, stop.check)

    def row(fields: Fields, stop: Stop) -> Response:
        return JSONResponse(_row(file_of(fields), fields))

    def text(fields: Fields, stop: Stop) -> Response:
        layer = file_of(fields).layer(fields.get("layer", 0))
        stretch = (fields.get("side"), fields.get("from"), fields.get("to"))
        return JSONResponse({"tokens": layer.text(*stretch)})

    return [
        context.post("/api/map/about", about),
        context.post("/api/map/region", region),
        context.post("/api/map/row", row),
        context.post("/api/map/text", text),
    ]


def _region(file: Opened, fields: Fields, check: Callable[[], None]) -> Response:
    """The cells, then what each column received and each row's entropy, in one answer."""
    layer, place = _head(file, fields)
    wanted = Region(
        _range("rows", fields.get("rows"), layer.seen.queries),
        _range("columns", fields.get("columns"), layer.seen.keys),
        _cells(fields.get("cells")),
    )
    shown = region_of(
        layer.seen, place, wanted, thorough=fields.get("thorough") is True, check=check
    )
    response = numbers(np.concatenate([shown.values_rc.reshape(-1), *_strips(layer, place, shown)]))
    response.headers["X-Regard-Shown"] = json.dumps(_said(shown, layer))
    return response


def _strips(layer: Layer, place: Place, shown: Shown) -> list[Any]:
    found = (layer.strip("received", place, shown.column_edges),
             layer.strip("entropy", place, shown.row_edges))  # fmt: skip
    return [strip for strip in found if strip is not None]


def _said(shown: Shown, layer: Layer) -> dict[str, Any]:
    return {
        **shown.places(),
        "what": shown.what,
        "better": shown.better,
        "received": "received" in layer.seen.facts,
        "entropy": "entropy" in layer.seen.facts,
    }


def _row(file: Opened, fields: Fields) -> dict[str, Any]:
    layer, place = _head(file, fields)
    query = whole("query", fields.get("query"), 0, layer.seen.queries - 1)
    best = layer.best(place, query)
    return {"query": query, "keys": [k for k, _ in best], "weights": [w for _, w in best]}


def _head(file: Opened, fields: Fields) -> tuple[Layer, Place]:
    layer = file.layer(fields.get("layer", 0))
    return layer, layer.heads[whole("head", fields.get("head", 0), 0, len(layer.heads) - 1)]


def _range(name: str, given: Any, size: int) -> tuple[int, int]:
    start, stop = given if isinstance(given, list) and len(given) == 2 else (None, None)
    first = whole(f"the start of {name}", start, 0, size - 1)
    return first, whole(f"the end of {name}", stop, first + 1, size)


def _cells(given: Any) -> tuple[int, int]:
    rows, columns = given if isinstance(given, list) and len(given) == 2 else (None, None)
    return whole("cells down", rows, 1, MOST_CELLS), whole("cells across", columns, 1, MOST_CELLS)
