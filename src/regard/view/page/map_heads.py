"""Every head of a file as a small picture with its label, for the grid beside the map."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.typing import Array
from regard.view.page.embed import labels_of
from regard.view.page.map_source import Layer, MapSource
from regard.view.page.thumbnails import THUMBNAIL, small
from regard.watcher.capture.runs import LayerKey
from regard.watcher.layer import LayerObservation

MOST_HEADS = 4096
LAYER = " layer "  # between the name of a part and the number of its layer


def head_parts(source: MapSource) -> list[dict[str, Any]]:
    """Parts of a file with their layers, heads and labels; empty where there are too many heads."""
    if sum(len(layer.heads) for layer in source.layers) > MOST_HEADS:
        return []
    return [_part(name, layers) for name, layers in _by_part(source).items()]


def head_thumbnails(source: MapSource, part: Any) -> Array | None:
    """thumbnails_lhqk from the stored maps; None where a layer has none, or they differ in size."""
    layers = _by_part(source).get(part, [])
    if not layers or any("map" not in layer.seen.facts for layer in layers):
        return None
    maps = [np.asarray(x.seen.map).reshape(-1, *x.seen.map.shape[-2:]) for x in layers]
    thumbnails = [small(map_hrc, THUMBNAIL) for map_hrc in maps]
    alike = all(x.shape == thumbnails[0].shape for x in thumbnails)
    return np.stack(thumbnails) if alike else None


def _by_part(source: MapSource) -> dict[str, list[Layer]]:
    """Layers by the names of their parts; those with another number of heads are left out."""
    parts: dict[str, list[Layer]] = {}
    for layer in source.layers:
        own = parts.setdefault(layer.name.partition(LAYER)[0], [])
        if not own or len(own[0].heads) == len(layer.heads):
            own.append(layer)
    return parts


def _part(name: str, layers: list[Layer]) -> dict[str, Any]:
    labels = _labels(layers)
    return {"name": name, "title": name, "about": "", "layers": len(layers),
            "heads": len(layers[0].heads), **labels}  # fmt: skip


def _labels(layers: list[Layer]) -> dict[str, Any]:
    watched = [
        (LayerKey(layer.name, at), layer.seen)
        for at, layer in enumerate(layers)
        if isinstance(layer.seen, LayerObservation)
    ]
    if len(watched) < len(layers):
        return {"roles": None, "described_roles": None}
    return labels_of(watched)
