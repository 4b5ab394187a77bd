"""What a page in one file holds of a watched model: every head of a short text, else its maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.inputs.subwords import Side
from regard.models.layer import LayerSeen
from regard.models.run import Place
from regard.models.seen import Seen
from regard.view.explorer.hold_map import hold_map
from regard.view.explorer.hold_reading import Tables, hold_tables
from regard.view.explorer.opened import opened_seen
from regard.view.explorer.packed import Array, Packed

MOST_TOKENS = 1024
CAUTION = (
    "Attention is evidence, not explanation: it shows where a head looks, not why the model "
    "answers as it does."
)
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
    tables = {part: _tables(found) for part, found in layers.items()}
    parts = [_part(part, found) for part, found in layers.items()]
    reading = {
        "sentence": _text(parts[0]["query"]["words"]), "translation": "", "quick": False,
        "notes": [_numbering(layers)], "caution": CAUTION, "alignment": None,
        "telling": None, "parts": parts,
    }  # fmt: skip
    return hold_tables(reading, tables, packed)


def _layers(seen: Seen, part: str) -> list[tuple[Place, LayerSeen]]:
    return [(place, seen[place]) for place in seen.names if place.part == part]


def _is_short(layer: LayerSeen) -> bool:
    few = max(layer.queries, layer.keys) <= MOST_TOKENS
    return few and layer.queries_side is not None and bool(layer.parts or layer.every_weight)


def _tables(layers: list[tuple[Place, LayerSeen]]) -> Tables:
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


def _side(side: Side | None) -> dict[str, Any]:
    found = side or Side((), (), (), ())
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
