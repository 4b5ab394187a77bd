"""Map: the files that were opened, any rectangle of their weights, and what a row looks at."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from regard.view.page.answers import (
    Answer,
    AnswerFunction,
    AnswerTable,
    Fields,
    Sources,
    Stop,
    json_answer,
    numbers,
)
from regard.view.page.maps import (
    HeadIndex,
    Layer,
    MapSource,
    bounded_integer,
    head_parts,
    head_thumbnails,
    open_file,
)
from regard.view.page.readings import text_field
from regard.view.page.regions import Region, RegionCells, region_cells

MAX_CELLS = 1024  # a side


def answers(sources: Sources) -> AnswerTable:
    """about, heads, thumbnails, region, row and text of the files that the command line named."""

    @lru_cache(maxsize=8)
    def source(index: int) -> MapSource:
        return open_file(sources.files[index])

    def on_file(answer: Callable[[MapSource, Fields, Stop], Answer]) -> AnswerFunction:
        def answer_on_file(fields: Fields, stop: Stop) -> Answer:
            return answer(source(sources.index(fields, "file")), fields, stop)

        return answer_on_file

    of_file: dict[str, Callable[[MapSource, Fields, Stop], Answer]] = {
        "about": lambda file, fields, stop: json_answer(file.about()),
        "heads": lambda file, fields, stop: json_answer({"parts": head_parts(file)}),
        "thumbnails": lambda file, fields, stop: _thumbnails(file, fields),
        "region": _region,
        "row": lambda file, fields, stop: json_answer(_row(file, fields)),
        "text": lambda file, fields, stop: json_answer({"tokens": _text(file, fields)}),
    }
    return {f"/api/map/{name}": on_file(answer) for name, answer in of_file.items()}


def _thumbnails(file: MapSource, fields: Fields) -> Answer:
    made = head_thumbnails(file, text_field(fields, "part"))
    return numbers(np.zeros((0, 0, 0, 0)) if made is None else made)


def _text(file: MapSource, fields: Fields) -> list[str]:
    layer = file.layer(fields.get("layer", 0))
    return layer.text(fields.get("side"), fields.get("from"), fields.get("to"))


def _region(file: MapSource, fields: Fields, stop: Stop) -> Answer:
    """The cells, then what each column received and each row's entropy, in one answer."""
    layer, index = _head(file, fields)
    region = Region(
        _range("rows", fields.get("rows"), layer.seen.queries),
        _range("columns", fields.get("columns"), layer.seen.keys),
        _cells(fields.get("cells")),
    )
    cells = region_cells(
        layer.seen, index, region, thorough=fields.get("thorough") is True, check=stop.check
    )
    shown = {"X-Regard-Shown": json.dumps(_description(cells, layer))}
    return numbers(
        np.concatenate([cells.values_rc.reshape(-1), *_strips(layer, index, cells)]), shown
    )


def _strips(layer: Layer, index: HeadIndex, cells: RegionCells) -> list[Any]:
    strips = (
        layer.strip("received", index, cells.column_edges),
        layer.strip("entropy", index, cells.row_edges),
    )
    return [strip for strip in strips if strip is not None]


def _description(cells: RegionCells, layer: Layer) -> dict[str, Any]:
    return {
        **cells.geometry(),
        "what": cells.description,
        "better": cells.better,
        "received": "received" in layer.seen.facts,
        "entropy": "entropy" in layer.seen.facts,
    }


def _row(file: MapSource, fields: Fields) -> dict[str, Any]:
    layer, index = _head(file, fields)
    query = bounded_integer("query", fields.get("query"), 0, layer.seen.queries - 1)
    best = layer.best(index, query)
    return {"query": query, "keys": [k for k, _ in best], "weights": [w for _, w in best]}


def _head(file: MapSource, fields: Fields) -> tuple[Layer, HeadIndex]:
    layer = file.layer(fields.get("layer", 0))
    return layer, layer.heads[
        bounded_integer("head", fields.get("head", 0), 0, len(layer.heads) - 1)
    ]


def _range(name: str, value: Any, size: int) -> tuple[int, int]:
    start, stop = value if isinstance(value, list) and len(value) == 2 else (None, None)
    first = bounded_integer(f"the start of {name}", start, 0, size - 1)
    return first, bounded_integer(f"the end of {name}", stop, first + 1, size)


def _cells(value: Any) -> tuple[int, int]:
    rows, columns = value if isinstance(value, list) and len(value) == 2 else (None, None)
    return bounded_integer("cells down", rows, 1, MAX_CELLS), bounded_integer(
        "cells across", columns, 1, MAX_CELLS
    )
