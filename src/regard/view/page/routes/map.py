"""Map: runs of files and of a loaded model: texts, heads, rows, any rectangle of the weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from regard.errors import ArgumentError
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
from regard.view.page.maps import HeadIndex, bounded_integer
from regard.view.page.readings import text_field
from regard.view.page.regions import Region, RegionCells, region_cells
from regard.view.page.runs import Layer, Line, Run, open_run
from regard.watcher.mixers.mixer_table import evenly

MAX_CELLS = 1024  # a side


def answers(sources: Sources) -> AnswerTable:
    """about, text, heads, link, thumbnails, row, column, region and mixer of a run."""
    run = run_of(sources)

    def on_run(answer: Callable[[Run, Fields, Stop], Answer]) -> AnswerFunction:
        return lambda fields, stop: answer(run(fields), fields, stop)

    of_run: dict[str, Callable[[Run, Fields, Stop], Answer]] = {
        "about": lambda run, fields, stop: json_answer(run.about()),
        "text": lambda run, fields, stop: json_answer(run.text(fields.get("text", 0))),
        "heads": lambda run, fields, stop: json_answer(run.heads()),
        "link": _link,
        "weights": _weights,
        "thumbnails": _thumbnails,
        "row": _row,
        "column": _column,
        "region": _region,
        "mixer": _mixer,
    }
    return {f"/api/map/{name}": on_run(answer) for name, answer in of_run.items()}


def run_of(sources: Sources) -> Callable[[Fields], Run]:
    """The run that a request is about: a sentence of a file, or a text that the model read."""

    @lru_cache(maxsize=8)
    def opened(index: int, sentence: int) -> Run:
        return open_run(sources.files[index], sentence)

    def requested(fields: Fields) -> Run:
        if sources.model is not None and "run" in fields:
            return sources.model.run(text_field(fields, "run"))
        index = sources.index(fields, "file")
        return opened(index, bounded_integer("sentence", fields.get("sentence", 0), 0, 2**31))

    return requested


def _head(run: Run, fields: Fields) -> tuple[Layer, HeadIndex]:
    layer = run.part(fields.get("part")).layer(fields.get("layer", 0))
    return layer, layer.heads[
        bounded_integer("head", fields.get("head", 0), 0, len(layer.heads) - 1)
    ]


def _link(run: Run, fields: Fields, stop: Stop) -> Answer:
    """The most telling link of a head; null where it has none."""
    part = run.part(fields.get("part"))
    layer = part.layer(fields.get("layer", 0))
    head = bounded_integer("head", fields.get("head", 0), 0, len(layer.heads) - 1)
    link = run.link(part, layer, head)
    return json_answer(link and link._asdict())


def _weights(run: Run, fields: Fields, stop: Stop) -> Answer:
    """The weight from one token to another in every head of a part: [layer, head, weight]."""
    found = []
    for layer in run.part(fields.get("part")).layers:
        stop.check()
        query = bounded_integer("query", fields.get("query"), 0, layer.seen.queries - 1)
        key = bounded_integer("key", fields.get("key"), 0, layer.seen.keys - 1)
        rows = [layer.row(index, query).weights[key] for index in layer.heads]
        found += [[layer.number, head, float(weight)] for head, weight in enumerate(rows)]
    return json_answer(found)


def _thumbnails(run: Run, fields: Fields, stop: Stop) -> Answer:
    made = run.thumbnails(run.part(fields.get("part")))
    return numbers(np.zeros((0, 0, 0, 0)) if made is None else made)


def _row(run: Run, fields: Fields, stop: Stop) -> Answer:
    layer, index = _head(run, fields)
    query = bounded_integer("query", fields.get("query"), 0, layer.seen.queries - 1)
    return _line(layer.row(index, query))


def _column(run: Run, fields: Fields, stop: Stop) -> Answer:
    layer, index = _head(run, fields)
    key = bounded_integer("key", fields.get("key"), 0, layer.seen.keys - 1)
    return _line(layer.column(index, key))


def _line(line: Line) -> Answer:
    shown = {"known": line.known, "rest": line.rest}
    return numbers(line.weights, {"X-Regard-Shown": json.dumps(shown)})


def _region(run: Run, fields: Fields, stop: Stop) -> Answer:
    """The cells, then what each column received and each row's entropy, in one answer."""
    layer, index = _head(run, fields)
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


def _mixer(run: Run, fields: Fields, stop: Stop) -> Answer:
    """Signed shares (heads, rows, tokens) of a layer without a softmax, and which rows they are."""
    if run.mixers is None:
        raise ArgumentError("this run has no layers without a softmax that were watched.")
    number = bounded_integer("number", fields.get("number", 0), 0, len(run.mixers.facts) - 1)
    drawn = run.mixers.drawn(number)
    shown = np.zeros((0, 0, 0)) if drawn is None else drawn
    rows = evenly(shown.shape[2]) if shown.size else []
    return numbers(shown, {"X-Regard-Shown": json.dumps({"rows": rows})})


def _range(name: str, value: Any, size: int) -> tuple[int, int]:
    start, stop = value if isinstance(value, list) and len(value) == 2 else (None, None)
    first = bounded_integer(f"the start of {name}", start, 0, size - 1)
    return first, bounded_integer(f"the end of {name}", stop, first + 1, size)


def _cells(value: Any) -> tuple[int, int]:
    rows, columns = value if isinstance(value, list) and len(value) == 2 else (None, None)
    return bounded_integer("cells down", rows, 1, MAX_CELLS), bounded_integer(
        "cells across", columns, 1, MAX_CELLS
    )
