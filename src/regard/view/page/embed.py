"""Data that a single-file page embeds: of a reading, of an observation, of a watched model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.heads.links import CAUTION
from regard.text.words import TokenizedText
from regard.transformer.reading import Reading
from regard.transformer.roles import PARTS
from regard.typing import Array
from regard.view.page.blobs import Form, Packed, choose_form, pack_table, small_picture
from regard.view.page.map_source import Layer, Opened, opened_seen
from regard.view.page.regions import Region, region_of
from regard.watcher.forward_run import Place
from regard.watcher.layer import LayerSeen
from regard.watcher.seen import Seen

SIDES = (256, 192, 128, 96, 64, 48, 32)


@dataclass(frozen=True)
class Room:
    """How many cells of maps, and keys with their weights, a page holds of all heads together."""

    cells: int
    pairs: int


FILE = Room(2_000_000, 600_000)


CELL = Room(150_000, 50_000)  # of a notebook, which keeps every output


def hold_map(opened: Opened, packed: Packed, room: Room = FILE) -> dict[str, Any]:
    """Every head at one resolution; the page says that it can be shown no finer."""
    heads = sum(len(layer.heads) for layer in opened.layers)
    side = next((x for x in SIDES if heads * x * x <= room.cells), SIDES[-1])
    about = opened.about()
    for layer in about["layers"]:
        layer["fine"] = False
    held = {
        "about": about,
        "heads": [_hold_layer(layer, side, packed) for layer in opened.layers],
        "best": _hold_best(opened.layers, room.pairs // max(1, heads), packed),
        "tokens": _tokens(opened.layers),
    }
    return {"views": ["map"], "map": held}


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


def _hold_layer(layer: Layer, side: int, packed: Packed) -> list[dict[str, Any]]:
    seen = layer.seen
    whole = Region((0, seen.queries), (0, seen.keys), (side, side))
    if not seen.queries or not seen.keys:
        raise ArgumentError("a map needs at least one query and one key, but there are none.")
    return [_hold_head(layer, place, whole, packed) for place in layer.heads]


def _hold_head(layer: Layer, place: Any, whole: Region, packed: Packed) -> dict[str, Any]:
    shown = region_of(layer.seen, place, whole, thorough=True, check=lambda: None)
    rows, columns = shown.values_rc.shape
    strips = {"received": layer.strip("received", place, shown.column_edges),
              "entropy": layer.strip("entropy", place, shown.row_edges)}  # fmt: skip
    there = [strip for strip in strips.values() if strip is not None]
    numbers: Array = np.concatenate([shown.values_rc.reshape(-1), *there])
    single = rows == layer.seen.queries and columns == layer.seen.keys
    what = shown.what if single else f"{shown.what.split(';')[0]}; this file holds nothing finer"
    return {
        **shown.places(),
        "what": what,
        "better": False,
        "place": packed.add(numbers.astype("<f4").tobytes()),
        **{name: strip is not None for name, strip in strips.items()},
    }


def _hold_best(layers: Sequence[Layer], pairs: int, packed: Packed) -> dict[str, Any] | None:
    """As many best keys of each query as fit; a float32 holds any key's number exactly."""
    if any("top_keys" not in layer.seen.facts for layer in layers):
        return None
    queries = max(layer.seen.queries for layer in layers)
    kept = min(layer.seen.facts["top_keys"].shape[-1] for layer in layers)
    count = min(kept, pairs // max(1, queries))
    if not count:
        return None
    places = [
        [packed.add(_pairs(layer, place, count)) for place in layer.heads] for layer in layers
    ]
    return {"count": count, "places": places}


def _pairs(layer: Layer, place: Any, count: int) -> bytes:
    keys, weights = (
        (layer.seen.facts[x] if place is None else layer.seen.facts[x][place])[:, :count]
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


def hold_reading(reading: Reading, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    """A reading as the page takes it, with its tables, and the steps of the head it opens at."""
    held = hold_weights(reading, packed)
    return held | {"views": ["read", "steps"], "steps": _steps(reading, packed, state)}


def hold_weights(reading: Reading, packed: Packed) -> dict[str, Any]:
    """The reading and its tables alone: what a notebook, which keeps every output, has room for."""
    from regard.view.page.routes.read_routes import as_page

    tables = {part: _tables(reading, part) for part in PARTS}
    return hold_tables(as_page(reading), tables, packed)


def _steps(reading: Reading, packed: Packed, state: Mapping[str, Any]) -> dict[str, Any]:
    from regard.view.page.steps_data import data_of_reading

    link = reading.highlight().link
    part = state.get("part", "encoder")
    layer, head = state.get("layer", link.layer), state.get("head", link.head)
    # Leaving the positions out needs the model, which stays behind.
    data = replace(data_of_reading(reading, part, layer, head), position=False)
    return {f"{part} {layer} {head}": packed.add(data.to_bytes())}


def hold_tables(
    reading: dict[str, Any], tables: Mapping[str, Tables], packed: Packed
) -> dict[str, Any]:
    """Any reading in the shape of static/api.js, whoever made it."""
    form = _form(tables)
    held, left_out = {}, []
    for name, part in tables.items():
        held[name], missing = _hold_part(part, form, packed)
        left_out += missing
    note = _note(form, sum(left_out) / max(1, len(left_out)))
    notes = [*reading["notes"], *([note] if note else [])]
    return {"views": ["read"], "reading": reading | {"notes": notes}, "tables": held}


def _tables(reading: Reading, part: str) -> Tables:
    layers = range(reading.model.config.layers)
    others = {f"layer {layer}": reading.average(part, layer).tokens_qk for layer in layers}
    others["all"] = reading.average(part).tokens_qk
    if part != "cross":
        others["rollout"] = reading.rollout(part).tokens_qk
    return Tables(reading.weights(part, by="tokens"), others)


def _form(tables: Mapping[str, Tables]) -> Form:
    sizes = [table.shape for part in tables.values() for _, table in part.named()]
    return choose_form(sum(rows for rows, _ in sizes), max(columns for _, columns in sizes))


def _hold_part(part: Tables, form: Form, packed: Packed) -> tuple[dict[str, Any], list[float]]:
    from regard.view.page.routes.read_routes import THUMBNAIL, small

    places, left_out = {}, []
    for name, weights_qk in part.named():
        content, missing = pack_table(weights_qk, form)
        places[name] = packed.add(content)
        left_out.append(missing)
    shrunk = small(part.weights_lhqk, THUMBNAIL)
    rows, columns = part.weights_lhqk.shape[-2:]
    thumbnails = {"rows": shrunk.shape[-2], "columns": shrunk.shape[-1],
                  "place": packed.add(small_picture(shrunk))}  # fmt: skip
    held = {"form": form.name, "rows": rows, "columns": columns, "places": places,
            "thumbnails": thumbnails}  # fmt: skip
    return held, left_out


def _note(form: Form, left_out: float) -> str:
    """What a file leaves out, said in it."""
    if form.name == "float32":
        return ""
    if form.name == "float16":
        return "This file holds every weight to three digits."
    return (
        f"This file holds the {form.kept} largest weights of each row to three digits; the rest, "
        f"{100 * left_out:.2g} % on average, is not in it."
    )


MOST_TOKENS = 1024


TITLES = {
    "encoder": "the input looks at itself",
    "decoder": "the text looks at what came before it",
    "cross": "the output looks at the input",
}


def hold_seen(seen: Seen, packed: Packed) -> dict[str, Any]:
    """The Read view where all weights of one text can be had, and the Map view in any case."""
    opened = opened_seen(seen)
    if seen.sentences > 1 and seen._sentence is None:
        return hold_map(opened, packed)
    layers = {part: _layers(seen, part) for part in seen.parts}
    if not all(_is_short(layer) for found in layers.values() for _, layer in found):
        return hold_map(opened, packed)
    tables = {part: _tables_hold_seen(found) for part, found in layers.items()}
    parts = [_part(part, found) for part, found in layers.items()]
    reading = {
        "sentence": _text(parts[0]["query"]["words"]), "translation": "", "quick": False,
        "notes": [_numbering(layers)], "caution": CAUTION, "alignment": None,
        "highlight": None, "parts": parts,
    }  # fmt: skip
    return hold_tables(reading, tables, packed)


def _layers(seen: Seen, part: str) -> list[tuple[Place, LayerSeen]]:
    return [(place, seen[place]) for place in seen.names if place.part == part]


def _is_short(layer: LayerSeen) -> bool:
    few = max(layer.queries, layer.keys) <= MOST_TOKENS
    return few and layer.queries_side is not None and bool(layer.parts or layer.every_weight)


def _tables_hold_seen(layers: list[tuple[Place, LayerSeen]]) -> Tables:
    weights_lhqk: Array = np.stack([layer.tile(slice(None), slice(None)) for _, layer in layers])
    others = {f"layer {at}": x.mean(axis=0) for at, x in enumerate(weights_lhqk)}
    return Tables(weights_lhqk, others | {"all": weights_lhqk.mean(axis=(0, 1))})


def _part(part: str, layers: list[tuple[Place, LayerSeen]]) -> dict[str, Any]:
    first = layers[0][1]
    return {
        "name": part,
        "title": part,
        "about": TITLES.get(part, ""),
        "layers": len(layers),
        "heads": first.leading[-1],
        "causal": False,
        "steps": False,
        "query": _side(first.queries_side),
        "key": _side(first.keys_side),
        "roles": None,
        "ways": ["head", "layer", "all"],
        "thumbnail": [min(24, first.queries), min(24, first.keys)],
    }


def _side(side: TokenizedText | None) -> dict[str, Any]:
    found = side or TokenizedText((), (), (), ())
    return {"language": "", "tokens": list(found.tokens), "words": list(found.words),
            "word_of_token": list(found.word_of_token)}  # fmt: skip


def _numbering(layers: dict[str, list[tuple[Place, LayerSeen]]]) -> str:
    """Which layers were watched, where they are not all from the first on."""
    told = []
    for part, found in layers.items():
        numbers = [place.layer for place, _ in found]
        if numbers != list(range(len(numbers))):
            listed = ", ".join(map(str, numbers))
            told.append(f"of the {part} the model's layers {listed}, numbered from 0 here")
    return f"Watched: {'; '.join(told)}." if told else "All watched layers are here."


def _text(words: list[str]) -> str:
    return " ".join(words)
