"""Data that a single-file page embeds: of a reading, of an observation, of a watched model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.heads.links import CAUTION
from regard.heads.rollout import rolled_out
from regard.text.words import TokenizedText
from regard.transformer.reading import Reading
from regard.transformer.roles import PARTS
from regard.typing import Array
from regard.view.page.blobs import Blobs, Form, choose_form, pack_table, small_picture
from regard.view.page.generated_text import authorship, mark_generated
from regard.view.page.image_data import name_patches, page_images, parts_by_images
from regard.view.page.map_source import Layer, MapSource, source_of_watched
from regard.view.page.regions import Region, region_of
from regard.view.page.thumbnails import THUMBNAIL, small
from regard.watcher.capture.runs import LayerKey
from regard.watcher.layer import LayerObservation
from regard.watcher.seen import Seen

RESOLUTIONS = (256, 192, 128, 96, 64, 48, 32)


@dataclass(frozen=True)
class CellBudget:
    """Most cells of maps, and most keys with their weights, of all heads of a page together."""

    cells: int
    pairs: int


FILE = CellBudget(2_000_000, 600_000)


CELL = CellBudget(150_000, 50_000)  # of a notebook, which keeps every output


def embed_map(source: MapSource, blobs: Blobs, budget: CellBudget = FILE) -> dict[str, Any]:
    """Every head at one resolution; the page says that it can be shown no finer."""
    heads = sum(len(layer.heads) for layer in source.layers)
    cells = next((x for x in RESOLUTIONS if heads * x * x <= budget.cells), RESOLUTIONS[-1])
    about = source.about()
    for layer in about["layers"]:
        layer["fine"] = False
    data = {
        "about": about,
        "heads": [_embed_layer(layer, cells, blobs) for layer in source.layers],
        "best": _embed_best(source.layers, budget.pairs // max(1, heads), blobs),
        "tokens": _tokens(source.layers),
    }
    return {"views": ["map"], "map": data}


def _tokens(layers: Sequence[Layer]) -> dict[str, list[Any]]:
    """The different texts once each, and for every layer which are its rows' and its columns'."""
    texts: list[list[str]] = []
    sides = []
    for layer in layers:
        pair = []
        for tokens in (list(layer.queries), list(layer.keys)):
            if tokens not in texts:
                texts.append(tokens)
            pair.append(texts.index(tokens))
        sides.append(pair)
    return {"texts": texts, "sides": sides}


def _embed_layer(layer: Layer, cells: int, blobs: Blobs) -> list[dict[str, Any]]:
    seen = layer.seen
    full = Region((0, seen.queries), (0, seen.keys), (cells, cells))
    if not seen.queries or not seen.keys:
        raise ArgumentError("a map needs at least one query and one key, but there are none.")
    return [_embed_head(layer, index, full, blobs) for index in layer.heads]


def _embed_head(layer: Layer, index: Any, full: Region, blobs: Blobs) -> dict[str, Any]:
    shown = region_of(layer.seen, index, full, thorough=True, check=lambda: None)
    rows, columns = shown.values_rc.shape
    strips = {"received": layer.strip("received", index, shown.column_edges),
              "entropy": layer.strip("entropy", index, shown.row_edges)}  # fmt: skip
    present = [strip for strip in strips.values() if strip is not None]
    numbers: Array = np.concatenate([shown.values_rc.reshape(-1), *present])
    single = rows == layer.seen.queries and columns == layer.seen.keys
    what = (
        shown.description
        if single
        else f"{shown.description.split(';')[0]}; this file holds nothing finer"
    )
    return {
        **shown.geometry(),
        "what": what,
        "better": False,
        "blob": blobs.add(numbers.astype("<f4").tobytes()),
        **{name: strip is not None for name, strip in strips.items()},
    }


def _embed_best(layers: Sequence[Layer], pairs: int, blobs: Blobs) -> dict[str, Any] | None:
    """As many best keys of each query as fit; a float32 holds any key's number exactly."""
    if any("top_keys" not in layer.seen.facts for layer in layers):
        return None
    queries = max(layer.seen.queries for layer in layers)
    available = min(layer.seen.facts["top_keys"].shape[-1] for layer in layers)
    count = min(available, pairs // max(1, queries))
    if not count:
        return None
    spans = [[blobs.add(_pairs(layer, index, count)) for index in layer.heads] for layer in layers]
    return {"count": count, "blobs": spans}


def _pairs(layer: Layer, index: Any, count: int) -> bytes:
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
    data = embed_weights(reading, blobs) | {"views": ["read", "steps"]}
    if state.get("view") == "steps":  # megabytes, for who asked for them
        data |= _path(reading, blobs, state)
    return data | {"steps": _steps(reading, blobs, state)}


def embed_weights(reading: Reading, blobs: Blobs) -> dict[str, Any]:
    """The reading and its tables alone, small enough for a notebook, which keeps every output."""
    from regard.view.page.routes.read_routes import as_page

    tables = {part: _tables(reading, part) for part in PARTS}
    return embed_tables(as_page(reading), tables, blobs)


def _steps(reading: Reading, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.page.steps_data import data_of_reading

    link = reading.highlight().link
    part = state.get("part", "encoder")
    layer, head = state.get("layer", link.layer), state.get("head", link.head)
    # Leaving the positions out needs the model, which stays behind.
    data = replace(data_of_reading(reading, part, layer, head), position=False)
    return {f"{part} {layer} {head}": blobs.add(data.to_bytes())}


def _path(reading: Reading, blobs: Blobs, state: Mapping[str, Any]) -> dict[str, Any]:
    """The layer around the head that the steps open at, and the next words."""
    from regard.transformer.residual import ResidualRun
    from regard.view.page.path_data import data_of_layer, data_of_next_words

    run, part = ResidualRun.from_reading(reading), state.get("part", "encoder")
    layer = state.get("layer", reading.highlight().link.layer)
    layers = {f"{part} {layer}": blobs.add(data_of_layer(run, part, layer).to_bytes())}
    if part == "encoder":
        return {"layers": layers}
    return {"layers": layers, "next": blobs.add(data_of_next_words(run).to_bytes())}


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
    return {"views": ["read"], "reading": reading | {"notes": notes}, "tables": data}


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
    shrunk = small(part.weights_lhqk, THUMBNAIL)
    rows, columns = part.weights_lhqk.shape[-2:]
    thumbnails = {"rows": shrunk.shape[-2], "columns": shrunk.shape[-1],
                  "blob": blobs.add(small_picture(shrunk))}  # fmt: skip
    data = {"form": form.name, "rows": rows, "columns": columns, "blobs": spans,
            "thumbnails": thumbnails}  # fmt: skip
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


MOST_TOKENS = 1024


TITLES = {
    "encoder": "the input looks at itself",
    "decoder": "the text looks at what came before it",
    "cross": "the output looks at the input",
}


def embed_watched(seen: Seen, blobs: Blobs) -> dict[str, Any]:
    """The Read view where all weights of one text can be had, and the Map view in any case."""
    if not is_readable(seen):
        return embed_map(source_of_watched(seen), blobs)
    tables = {part: _watched_tables(layers_of(seen, part)) for part in seen.parts}
    return embed_tables(watched_reading(seen), tables, blobs)


def is_readable(seen: Seen) -> bool:
    """Whether this is one text, short enough to be read, with every weight at hand."""
    if seen.sentences > 1 and seen._sentence is None:
        return False
    return all(_is_short(layer) for part in seen.parts for _, layer in layers_of(seen, part))


def watched_reading(seen: Seen) -> dict[str, Any]:
    """A watched text in the shape of a reading (web/lib/api.js)."""
    layers = {part: layers_of(seen, part) for part in parts_by_images(seen)}
    parts, images = [_part(part, entries) for part, entries in layers.items()], page_images(seen)
    for part in parts:
        name_patches(part, images)
        mark_generated(part, seen)
    return {
        "sentence": _text(parts[0]["query"]["words"]), "translation": "", "quick": False,
        "notes": [_numbering(layers), *authorship(parts)], "caution": CAUTION, "alignment": None,
        "highlight": None, "parts": parts, "images": images,
    }  # fmt: skip


def layers_of(seen: Seen, part: str) -> list[tuple[LayerKey, LayerObservation]]:
    """The watched layers of one part, in order."""
    return [(key, seen[key]) for key in seen.names if key.part == part]


def _is_short(layer: LayerObservation) -> bool:
    few = max(layer.queries, layer.keys) <= MOST_TOKENS
    return few and layer.query_text is not None and bool(layer.parts or layer.every_weight)


def _watched_tables(layers: list[tuple[LayerKey, LayerObservation]]) -> Tables:
    weights_lhqk: Array = np.stack([layer.tile(slice(None), slice(None)) for _, layer in layers])
    others = {f"layer {at}": x.mean(axis=0) for at, x in enumerate(weights_lhqk)}
    others["all"] = weights_lhqk.mean(axis=(0, 1))
    if has_rollout(layers):
        others["rollout"] = rolled_out(weights_lhqk.mean(axis=1))
    return Tables(weights_lhqk, others)


def has_rollout(layers: list[tuple[LayerKey, LayerObservation]]) -> bool:
    """Whether the layers read what the ones before them wrote: queries and keys are one text."""
    key, first = layers[0]
    return key.part != "cross" and first.queries == first.keys


def _part(part: str, layers: list[tuple[LayerKey, LayerObservation]]) -> dict[str, Any]:
    first = layers[0][1]
    return {
        "name": part,
        "title": part,
        "about": TITLES.get(part, ""),
        "layers": len(layers),
        "heads": first._leading[-1],
        "causal": False,
        "steps": False,
        "query": _side(first.query_text),
        "key": _side(first.key_text),
        **labels_of(layers),
        "ways": ["head", "layer", "all", *(("rollout",) if has_rollout(layers) else ())],
        "thumbnail": [min(24, first.queries), min(24, first.keys)],
    }


def labels_of(layers: list[tuple[LayerKey, LayerObservation]]) -> dict[str, Any]:
    """The label of each head's measures, short and in full; None where nothing was measured."""
    from regard.watcher.measures.head_report import report

    if any(layer.measures is None for _, layer in layers):
        return {"roles": None, "described_roles": None}
    heads = layers[0][1]._leading[-1]
    labels = [row.label for row in report(layers).rows]
    described = [labels[at : at + heads] for at in range(0, len(labels), heads)]
    roles = [[label.partition(":")[0] for label in row] for row in described]
    return {"roles": roles, "described_roles": described}


def _side(side: TokenizedText | None) -> dict[str, Any]:
    text = side or TokenizedText((), (), (), ())
    return {"language": "", "tokens": list(text.tokens), "words": list(text.words),
            "word_of_token": list(text.word_of_token)}  # fmt: skip


def _numbering(layers: dict[str, list[tuple[LayerKey, LayerObservation]]]) -> str:
    """A sentence on the layers that were watched, where some were left out."""
    notes = []
    for part, entries in layers.items():
        numbers = [key.layer for key, _ in entries]
        if numbers != list(range(len(numbers))):
            listed = ", ".join(map(str, numbers))
            notes.append(f"of the {part} the model's layers {listed}, numbered from 0 here")
    return f"Watched: {'; '.join(notes)}." if notes else "All watched layers are here."


def _text(words: list[str]) -> str:
    return " ".join(words)
