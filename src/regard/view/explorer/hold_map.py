"""What a page in one file holds of an observation: each head's map, strips and best keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import ArgumentError
from regard.view.explorer.cells import Array, Region
from regard.view.explorer.opened import Layer, Opened
from regard.view.explorer.packed import Packed
from regard.view.explorer.regions import region_of

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
