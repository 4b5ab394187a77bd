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
COUNTING = (
    "Layers and heads are counted from 1 here; the model's own names, and seen[layer, head], count "
    "from 0."
)
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
    layers = {stack: _layers(seen, stack) for stack in seen.stacks}
    if not all(_is_short(layer) for stack in layers.values() for _, layer in stack):
        return hold_map(opened, packed)
    tables = {stack: _tables(found, stack) for stack, found in layers.items()}
    parts = [_part(stack, found) for stack, found in layers.items()]
    reading = {
        "sentence": _text(parts[0]["query"]["words"]), "translation": "", "quick": False,
        "notes": [_numbering(layers), COUNTING], "caution": CAUTION, "alignment": None,
        "telling": None, "parts": parts,
    }  # fmt: skip
    return hold_tables(reading, tables, packed)


def _layers(seen: Seen, stack: str) -> list[tuple[Place, LayerSeen]]:
    return [(place, seen[place]) for place in seen.names if place.stack == stack]


def _is_short(layer: LayerSeen) -> bool:
    few = max(layer.queries, layer.keys) <= MOST_TOKENS
    return few and layer.queries_side is not None and bool(layer.parts or layer.every_weight)


def _tables(layers: list[tuple[Place, LayerSeen]], stack: str) -> Tables:
    weights_lhqk: Array = np.stack([layer.tile(slice(None), slice(None)) for _, layer in layers])
    others = {f"layer {at}": x.mean(axis=0) for at, x in enumerate(weights_lhqk, start=1)}
    return Tables(weights_lhqk, others | {"all": weights_lhqk.mean(axis=(0, 1))})


def _part(stack: str, layers: list[tuple[Place, LayerSeen]]) -> dict[str, Any]:
    first = layers[0][1]
    return {
        "name": stack,
        "title": stack,
        "about": TITLES.get(stack, ""),
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
    for stack, found in layers.items():
        numbers = [place.layer for place, _ in found]
        if numbers != list(range(len(numbers))):
            told.append(f"of the {stack} the model's layers {', '.join(map(str, numbers))}")
    return f"Watched: {'; '.join(told)}." if told else "All watched layers are here."


def _text(words: list[str]) -> str:
    return " ".join(words)
