"""The explorer as one HTML file: the data of a result, embedded as compressed base64 text.

A page decodes a block when it first needs it.

A table has one of three forms:

    float32   every weight
    float16   every weight to three digits
    largest   the largest weights of each row to three digits with their keys, and the rest's sum

Numbers of two bytes are laid out as all low bytes, then all high bytes: the high ones are much
alike and compress well.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, singledispatch
from typing import Any
from urllib.parse import urlencode

import numpy as np

from regard import __version__
from regard.corpus.survey import Survey
from regard.engine.observation import Observation
from regard.errors import ArgumentError
from regard.experiments.selection import PARTS
from regard.heads.links import CAUTION
from regard.textbook.steps import Steps
from regard.transformer.reading import Reading
from regard.transformer.residual import ResidualRun
from regard.typing import Array
from regard.view.page.maps import THUMBNAIL_CELLS, shrink
from regard.view.page.readings import as_page
from regard.view.page.regions import Region, region_cells
from regard.view.page.runs import Layer, Run, observed_run, watched_run
from regard.view.page.single_file import (
    bundle,
    json_block,
    page_style,
    single_file,
    text_block,
    web_files,
)
from regard.view.page.steps import layer_data, next_words_data, reading_data, steps_data
from regard.watcher.seen import Seen

MAX_FLOAT32_WEIGHTS = 150_000  # up to here every weight is stored in float32
MAX_FLOAT16_WEIGHTS = 700_000  # up to here every weight is stored in float16
MAX_LARGEST_WEIGHTS = 3_200_000  # beyond it only the largest ones, about 10 MB of page
MAX_PER_ROW, MIN_PER_ROW = 40, 4


@dataclass
class Blobs:
    """Deflated blocks of bytes, concatenated as base64; each is addressed by its span."""

    blocks: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, content: bytes) -> list[int]:
        """Append a block and return its span: where it begins and its length, in characters."""
        compressor = zlib.compressobj(6, zlib.DEFLATED, -15)
        text = base64.b64encode(compressor.compress(content) + compressor.flush()).decode()
        span = [self.length, len(text)]
        self.blocks.append(text)
        self.length += len(text)
        return span

    @property
    def text(self) -> str:
        return "".join(self.blocks)


@dataclass(frozen=True)
class Form:
    """Encoding of a page's tables: its ``name``, and how many weights it stores per row."""

    name: str
    per_row: int = 0


def choose_form(rows: int, columns: int) -> Form:
    """The most precise form that stays small, for this number of rows over all tables.

    >>> choose_form(144 * 64, 64).name, choose_form(144 * 512, 512)
    ('float16', Form(name='largest', per_row=40))
    """
    if rows * columns <= MAX_FLOAT32_WEIGHTS:
        return Form("float32")
    if rows * columns <= MAX_FLOAT16_WEIGHTS:
        return Form("float16")
    per_row = max(MIN_PER_ROW, min(MAX_PER_ROW, MAX_LARGEST_WEIGHTS // max(1, rows)))
    return Form("largest", min(per_row, columns))


def pack_table(weights_qk: Array, form: Form) -> tuple[bytes, float]:
    """A table in a form, and the share of its weights that the form leaves out."""
    if form.name == "float32":
        return weights_qk.astype("<f4").tobytes(), 0.0
    if form.name == "float16":
        return planes(weights_qk.astype("<f2")), 0.0
    return _largest(weights_qk, form.per_row)


def planes(array: Array) -> bytes:
    """All low bytes, then all high bytes, of numbers of two bytes.

    >>> planes(np.array([0x0102, 0x0304], "<u2"))
    b'\\x02\\x04\\x01\\x03'
    """
    by_byte: Array = np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(-1, 2)
    return bytes(by_byte.T.tobytes())


def small_picture(weights_lhqk: Array) -> bytes:
    """The shades of thumbnails: the root of each weight in 256 steps, as the page draws it."""
    steps: Array = np.rint(255 * np.sqrt(np.clip(weights_lhqk, 0, 1)))
    return bytes(steps.astype(np.uint8).tobytes())


def _largest(weights_qk: Array, per_row: int) -> tuple[bytes, float]:
    """Counts, keys as differences, weights, and the sum of the other weights, of each row."""
    rows, columns = weights_qk.shape
    keys_qn = np.sort(
        np.argpartition(weights_qk, columns - per_row, axis=1)[:, columns - per_row :]
    )
    weights_qn = np.take_along_axis(weights_qk, keys_qn, axis=1).astype(np.float64)
    positive_qn = weights_qn > 0
    rest_q = np.maximum(weights_qk.sum(axis=1, dtype=np.float64) - weights_qn.sum(axis=1), 0)
    counts_q = positive_qn.sum(axis=1)
    keys, weights = keys_qn[positive_qn], weights_qn[positive_qn]
    steps = np.diff(keys, prepend=0)
    starts = np.cumsum(counts_q)[:-1]
    starts = starts[starts < len(keys)]
    steps[starts] = keys[starts]
    parts = (
        counts_q.astype("<u2"),
        steps.astype("<u2"),
        weights.astype("<f2"),
        rest_q.astype("<f2"),
    )
    return b"".join(map(planes, parts)), float(rest_q.mean()) if rows else 0.0


RESOLUTIONS = (256, 192, 128, 96, 64, 48, 32)


@dataclass(frozen=True)
class CellBudget:
    """Most cells of maps, and most keys with their weights, of all heads of a page together."""

    cells: int
    pairs: int


FILE_BUDGET = CellBudget(2_000_000, 2_000_000)
NOTEBOOK_BUDGET = CellBudget(700_000, 100_000)  # of a notebook, which keeps every output


def embed_run(run: Run, blobs: Blobs, budget: CellBudget = FILE_BUDGET) -> dict[str, Any]:
    """Texts, heads and maps of a run: every weight where all of them fit, else larger cells."""
    layers = [layer for part in run.parts for layer in part.layers]
    heads = sum(len(layer.heads) for layer in layers)
    pairs = _pairs_per_query(layers, budget.pairs)
    parts: list[dict[str, Any]] = []
    for part in run.parts:
        thumbnails = run.thumbnails(part)
        parts.append(
            {
                "heads": [_embed_layer(x, _cells(x, heads, budget), blobs) for x in part.layers],
                "best": [
                    [blobs.add(_pairs(x, index, pairs)) for index in x.heads] if pairs else []
                    for x in part.layers
                ],
                "thumbnails": None
                if thumbnails is None
                else {"shape": thumbnails.shape, "blob": blobs.add(small_picture(thumbnails))},
            }
        )
    about = run.about()
    for told, held in zip(about["parts"], parts, strict=True):
        for layer, own in zip(told["layers"], held["heads"], strict=True):
            _tell_what_is_held(layer, own[0], pairs)
    texts = [run.text(number) for number in range(len(run.texts))]
    data = {"about": about, "texts": texts, "ranking": run.heads(), "parts": parts, "pairs": pairs}
    return {"views": ["map"], "run": data}


def _tell_what_is_held(layer: dict[str, Any], first: dict[str, Any], pairs: int) -> None:
    """Say of a layer what the page holds, which may be less than the run does."""
    (rows, columns), (across, down) = first["cells"], (layer["queries"], layer["keys"])
    layer["exact"] = (rows, columns) == (across, down)
    layer["missing"] = ""
    layer["least"] = [-(-across // rows), -(-down // columns)]
    if not layer["exact"]:
        largest = f"the {pairs} largest weights of each token and " if pairs else ""
        layer["missing"] = (
            f"This page holds {largest}maps in cells of {layer['least'][0]} x "
            f"{layer['least'][1]} tokens, all exact; for the rest open the .regard file."
        )


def _pairs_per_query(layers: Sequence[Layer], budget: int) -> int:
    """How many best keys of each query fit; 0 where a layer has none."""
    if any("top_keys" not in layer.seen.facts for layer in layers):
        return 0
    queries = sum(len(layer.heads) * layer.seen.queries for layer in layers)
    available = min(layer.seen.facts.fact_shape("top_keys")[-1] for layer in layers)
    return min(available, budget // max(1, queries))


def _cells(layer: Layer, heads: int, budget: CellBudget) -> int:
    """Cells on a side of a layer's maps: its tokens, where the weights of as many heads fit."""
    seen = layer.seen
    if layer.is_exact and heads * seen.queries * seen.keys <= budget.cells:
        return max(seen.queries, seen.keys)
    return next((x for x in RESOLUTIONS if heads * x * x <= budget.cells), RESOLUTIONS[-1])


def _embed_layer(layer: Layer, cells: int, blobs: Blobs) -> list[dict[str, Any]]:
    seen = layer.seen
    full = Region((0, seen.queries), (0, seen.keys), (cells, cells))
    if not seen.queries or not seen.keys:
        raise ArgumentError("a map needs at least one query and one key.")
    return [_embed_head(layer, index, full, blobs) for index in layer.heads]


def _embed_head(layer: Layer, index: Any, full: Region, blobs: Blobs) -> dict[str, Any]:
    shown = region_cells(layer.seen, index, full, thorough=True, check=lambda: None)
    strips = {
        "received": layer.strip("received", index, shown.column_edges),
        "entropy": layer.strip("entropy", index, shown.row_edges),
    }
    present = [strip for strip in strips.values() if strip is not None]
    numbers: Array = np.concatenate([shown.values_rc.reshape(-1), *present])
    return {
        **shown.geometry(),
        "what": shown.description.split(";")[0],
        "better": False,
        "blob": blobs.add(numbers.astype("<f4").tobytes()),
        **{name: strip is not None for name, strip in strips.items()},
    }


def _pairs(layer: Layer, index: Any, count: int) -> bytes:
    """The best keys of each query with their weights; float32 holds their numbers exactly."""
    keys, weights = (
        (layer.seen.facts[x] if index is None else layer.seen.facts[x][index])[:, :count]
        for x in ("top_keys", "top_weights")
    )
    return bytes(np.stack([keys, weights], axis=-1).astype("<f4").tobytes())


@dataclass(frozen=True)
class Tables:
    """One part's weights_lhqk, and further tables by the name that the page asks for."""

    weights_lhqk: Array
    others: Mapping[str, Array]

    def named(self) -> Iterator[tuple[str, Array]]:
        """'head 3 6' and the like, then the others."""
        for layer, weights_hqk in enumerate(self.weights_lhqk):
            for head, weights_qk in enumerate(weights_hqk):
                yield f"head {layer} {head}", weights_qk
        yield from self.others.items()


def embed_reading(reading: Reading, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    """A reading as the page takes it, with its tables, and the steps of the head it opens at."""
    data = embed_weights(reading, blobs) | {"views": ["read", "steps", "map"]}
    if state.get("view") == "steps":  # megabytes, so only on request
        data |= _path(reading, blobs, state)
    return data | {"steps": _steps(reading, blobs, state)}


def embed_weights(reading: Reading, blobs: Blobs) -> dict[str, Any]:
    """The reading and its tables alone, small enough for a notebook, which keeps every output."""
    tables = {part: _tables(reading, part) for part in PARTS}
    return embed_tables(as_page(reading), tables, blobs)


def _steps(reading: Reading, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    link = reading.highlight().link
    part = state.get("part", "encoder")
    layer, head = state.get("layer", link.layer), state.get("head", link.head)
    # Leaving the positions out needs the model, which stays behind.
    data = replace(reading_data(reading, part, layer, head), position=False)
    return {f"{part} {layer} {head}": blobs.add(data.to_bytes())}


def _path(reading: Reading, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    """The layer around the head that the steps open at, and the next words."""
    run, part = ResidualRun.from_reading(reading), state.get("part", "encoder")
    layer = state.get("layer", reading.highlight().link.layer)
    layers = {f"{part} {layer}": blobs.add(layer_data(run, part, layer).to_bytes())}
    if part == "encoder":
        return {"layers": layers}
    return {"layers": layers, "next": blobs.add(next_words_data(run).to_bytes())}


def embed_tables(
    reading: dict[str, Any], tables: Mapping[str, Tables], blobs: Blobs
) -> dict[str, Any]:
    """A reading in the shape of web/lib/api.js, with its weight tables."""
    form = _form(tables)
    data, left_out = {}, []
    for name, part in tables.items():
        data[name], missing = _embed_part(part, form, blobs)
        left_out += missing
    note = _note(form, sum(left_out) / max(1, len(left_out)))
    notes = [*reading["notes"], *([note] if note else [])]
    return {"views": ["read", "map"], "reading": reading | {"notes": notes}, "tables": data}


def _tables(reading: Reading, part: str) -> Tables:
    layers = range(reading.model.config.layers)
    others = {f"layer {layer}": reading.average(layer, part=part).tokens_qk for layer in layers}
    others["all"] = reading.average(part=part).tokens_qk
    if part != "cross":
        others["rollout"] = reading.rollout(part).tokens_qk
    return Tables(reading.weights(part=part, by="tokens"), others)


def _form(tables: Mapping[str, Tables]) -> Form:
    sizes = [table.shape for part in tables.values() for _, table in part.named()]
    return choose_form(sum(rows for rows, _ in sizes), max(columns for _, columns in sizes))


def _embed_part(part: Tables, form: Form, blobs: Blobs) -> tuple[dict[str, Any], list[float]]:
    spans, left_out = {}, []
    for name, weights_qk in part.named():
        content, missing = pack_table(weights_qk, form)
        spans[name] = blobs.add(content)
        left_out.append(missing)
    shrunk = shrink(part.weights_lhqk, THUMBNAIL_CELLS)
    rows, columns = part.weights_lhqk.shape[-2:]
    thumbnails = {
        "rows": shrunk.shape[-2],
        "columns": shrunk.shape[-1],
        "blob": blobs.add(small_picture(shrunk)),
    }
    data = {
        "form": form.name,
        "rows": rows,
        "columns": columns,
        "blobs": spans,
        "thumbnails": thumbnails,
    }
    return data, left_out


def _note(form: Form, left_out: float) -> str:
    """A sentence on the weights that a file leaves out; empty where it has them all."""
    if form.name == "float32":
        return ""
    if form.name == "float16":
        return "This file holds every weight to three digits."
    return (
        f"This file holds the {form.per_row} largest weights of each row to three digits; the "
        f"rest, {100 * left_out:.2g} % on average, is not in it."
    )


ENTRY = "lib/embedded.js"
# Of each view the module that web/app.js imports, and its function.
VIEW_MODULES = {
    "read": ("read/read.js", "showRead"),
    "steps": ("steps/steps.js", "showSteps"),
    "map": ("run/run.js", "showRun"),
    "learn": ("learn/learn.js", "showLearn"),
    "training": ("monitor/monitor.js", "showTraining"),
}
NOT_HELD = "This page does not hold this view."
NO_MODEL = {
    "run/live.js": "export function liveModel() {\nreturn null;\n}\n"
}  # only a server has one


def offline_page(
    thing: Any,
    state: Mapping[str, Any] | None = None,
    tried: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The page of a reading, steps, an observation or a watched model, opened at ``state``.

    ``tried`` are outcomes of experiments on a reading.
    """
    blobs = Blobs()
    data = embed(thing, blobs, state or {}) | ({"tried": list(tried)} if tried else {})
    at = dict(data.pop("at", state or {}))
    view = at.pop("view", data["views"][0])
    return page_with(data | {"address": address(view, at)}, blobs)


def offline_run(run: Run, state: Mapping[str, Any] | None = None) -> str:
    """The page of a run, opened at a state."""
    blobs = Blobs()
    data = embed_run(run, blobs)
    return page_with(data | {"address": address("map", state or {})}, blobs)


@singledispatch
def embed(thing: Any, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    """Data for ``web/lib/embedded.js``; arrays go into ``blobs``."""
    raise ArgumentError(
        "a page can show a reading, steps, an observation or a watched model, got "
        f"{type(thing).__name__}."
    )


@embed.register
def _(thing: Reading, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_reading(thing, blobs, state)


@embed.register
def _(thing: Steps, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {x: state[x] for x in ("head", "sentence") if x in state}
    data = steps_data(thing, **chosen).to_bytes()
    return {"views": ["steps"], "at": {}, "steps": {"": blobs.add(data)}}


@embed.register
def _(thing: Observation, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_run(observed_run(thing), blobs)


@embed.register
def _(thing: Seen, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    return embed_run(watched_run(thing), blobs)


def address(view: str, state: Mapping[str, Any]) -> str:
    """The fragment of an address: a view and its state.

    >>> address("read", {"layer": 3, "head": 6, "word": None})
    '#read?layer=3&head=6'
    """
    fields = {name: value for name, value in state.items() if value is not None}
    return f"#{view}" + (f"?{urlencode(fields)}" if fields else "")


def page_with(data: Mapping[str, Any], blobs: Blobs, *, fonts: bool = True) -> str:
    """The explorer with these data embedded, and its fonts if they are wanted."""
    # The styles of Look and the Map are of more than one view.
    folders = {view: module.partition("/")[0] for view, (module, _) in VIEW_MODULES.items()}
    without = tuple(folders[x] for x in ("steps", "learn", "training") if x not in data["views"])
    return single_file(
        web_files()["page.html"],
        style=page_style(fonts=fonts, without=without),
        script=_script(tuple(data["views"])),
        blocks=[
            json_block("embedded", {"version": __version__, **data}),
            text_block("numbers", blobs.text),
        ],
        policy=["img-src data: blob:"],
    )


@cache
def _script(views: tuple[str, ...]) -> str:
    """The script of a page with these views: what the others need is left out."""
    left_out = {
        module: f'export async function {show}() {{\nthrow new Error("{NOT_HELD}");\n}}\n'
        for view, (module, show) in VIEW_MODULES.items()
        if view not in views
    }
    return bundle(web_files() | left_out | NO_MODEL, ENTRY)


def survey_page(survey: Survey) -> str:
    """The report of a survey; text of documents is shown as text, never as markup."""
    texts = web_files()
    return single_file(
        texts["survey/survey.html"],
        style=page_style() + texts["survey/survey.css"],
        script=bundle(texts, "survey/survey.js"),
        blocks=[json_block("report", survey.report)],
        version=__version__,
        caution=CAUTION,
    )
