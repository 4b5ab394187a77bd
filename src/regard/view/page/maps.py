"""Layers and heads of an observation, a watched model or a .regard file, for the Map view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.engine.call import Problem
from regard.engine.files import (
    check_header,
    mapped_arrays,
    observation_from_arrays,
    unread,
)
from regard.engine.observation import ArrayFacts, Observation
from regard.errors import ArgumentError
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.files.watched_file import FORMAT as SEEN
from regard.watcher.files.watched_file import VERSION as SEEN_VERSION
from regard.watcher.files.watched_file import StoredLayers
from regard.watcher.layer import LayerObservation
from regard.watcher.measures.head_report import report
from regard.watcher.seen import Seen

THUMBNAIL_CELLS = 24  # a side


def shrink(weights_lhqk: Array, most: int) -> Array:
    """Each head's picture in at most ``most`` x ``most`` cells; a cell is its largest weight.

    >>> shrink(np.eye(4)[None, None], 2)[0, 0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    for axis in (-2, -1):
        size = weights_lhqk.shape[axis]
        if size > most:
            edges = np.linspace(0, size, most + 1).astype(int)[:-1]
            weights_lhqk = np.maximum.reduceat(weights_lhqk, edges, axis=axis)
    return weights_lhqk


HeadIndex = tuple[int, ...] | None


def can_subsample(seen: Observation) -> bool:
    """Whether queries can be subsampled: not where a float mask is added to each score."""
    masks = [part.visibility.mask for part in seen.parts]
    return bool(masks) and all(
        mask is None or callable(mask) or mask.dtype == bool for mask in masks
    )


def subsampled(seen: Observation, index: HeadIndex, rows: Array) -> Observation:
    """An observation of one head at these queries only; the keys are not copied."""
    heads = seen._heads(index)
    logsumexp = seen.logsumexp.reshape(-1, seen.queries)[heads, rows]
    parts = tuple(_subsampled_part(part.on_host(), heads, rows) for part in seen.parts)
    return Observation(ArrayFacts(logsumexp=logsumexp), None, parts, seen.keys, seen.cost)


def _subsampled_part(part: Problem, heads: slice, rows: Array) -> Problem:
    shared = slice(heads.start // part.group, heads.start // part.group + 1)
    return replace(
        part,
        query_hqd=part.query_hqd[heads, rows],
        key_gkd=part.key_gkd[shared],
        value_gkv=part.value_gkv[shared],
        leading=(1,),
        visibility=part.visibility.subsample(heads.start, rows),
    )


MAX_TEXT_TOKENS = 4096  # in one response


@dataclass(frozen=True)
class Layer:
    """One observation of a file: its name, its heads, and the tokens of its rows and columns."""

    name: str
    seen: Observation
    queries: Sequence[str] = ()
    keys: Sequence[str] = ()

    @cached_property
    def heads(self) -> tuple[HeadIndex, ...]:
        """The index of each head in the leading axes."""
        return tuple(np.ndindex(*self.seen.head_shape)) if self.seen.head_shape else (None,)

    def about(self) -> dict[str, Any]:
        """Names and sizes for the page."""
        names = [", ".join(str(i) for i in index) if index else "0" for index in self.heads]
        facts = [x for x in ("received", "entropy", "map", "top_keys") if x in self.seen.facts]
        return {
            "name": self.name,
            "heads": names,
            "queries": self.seen.queries,
            "keys": self.seen.keys,
            "facts": facts,
            "fine": bool(self.seen.parts),
            "text": bool(self.queries) or bool(self.keys),
        }

    def text(self, side: Any, start: Any, stop: Any) -> list[str]:
        """A segment of the tokens of the queries or the keys; empty where the file has no text."""
        tokens = self.keys if side == "key" else self.queries
        first = bounded_integer("from", start, 0, len(tokens))
        return list(tokens[first : bounded_integer("to", stop, first, first + MAX_TEXT_TOKENS)])

    def strip(self, fact: str, index: HeadIndex, bounds: Array) -> Array | None:
        """Means of a fact along an axis, one for each cell; None where it was not observed."""
        if fact not in self.seen.facts:
            return None
        values: Array = self.seen.facts[fact]
        values = values if index is None else values[index]
        line = np.asarray(values[bounds[0] : bounds[-1]], np.float64)
        return np.asarray(np.add.reduceat(line, bounds[:-1] - bounds[0]) / np.diff(bounds))

    def best(self, index: HeadIndex, query: int) -> list[tuple[int, float]]:
        """The largest weights of a query and their keys; empty where none were stored."""
        if "top_keys" not in self.seen.facts:
            return []
        where: Any = (query,) if index is None else (*index, query)
        keys, weights = (self.seen.facts[x][where] for x in ("top_keys", "top_weights"))
        return [(int(k), float(w)) for k, w in zip(keys, weights, strict=True) if k >= 0 and w > 0]


@dataclass(frozen=True)
class MapSource:
    """Layers of one file for the Map view, with notes on them."""

    name: str
    layers: tuple[Layer, ...]
    notes: tuple[str, ...] = ()

    def about(self) -> dict[str, Any]:
        """Names and sizes, which the page needs before it requests numbers."""
        return {
            "name": self.name,
            "layers": [layer.about() for layer in self.layers],
            "notes": list(self.notes),
        }

    def layer(self, number: Any) -> Layer:
        """A layer by its number."""
        return self.layers[bounded_integer("layer", number, 0, len(self.layers) - 1)]


def open_file(path: Path) -> MapSource:
    """A .regard file, mapped and not read."""
    header, arrays = mapped_arrays(path)
    if isinstance(header, dict) and header.get("format") == SEEN:
        check_header(header, path, SEEN, SEEN_VERSION)
        return watched_source(Seen(StoredLayers(header, arrays, unread)), path.name)
    check_header(header, path)
    return observation_source(observation_from_arrays(header, arrays, unread), path.name)


def observation_source(seen: Observation, name: str = "observation") -> MapSource:
    """The map source of one observation, with its tokens where it has any."""
    return MapSource(name, (_layer(seen, getattr(seen, "name", "") or "attention"),), seen.notes)


def watched_source(seen: Seen, name: str = "model") -> MapSource:
    """The map source of a watched model: every layer of every sentence."""
    layers = []
    for number in range(seen.sentences) if seen._sentence is None else (seen._sentence,):
        before = f"sentence {number}, " if seen.sentences > 1 else ""
        one = seen.sentence(number)
        layers += [_layer(one[index], f"{before}{index}") for index in seen.names]
    return MapSource(name, tuple(layers))


def _layer(seen: Observation, name: str) -> Layer:
    sides = [getattr(seen, x, None) for x in ("query_text", "key_text")]
    rows, columns = (() if side is None else side.tokens for side in sides)
    return Layer(name, seen, rows, columns)


def bounded_integer(name: str, number: Any, least: int, most: int) -> int:
    """A whole number of a request, checked to be within bounds."""
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise ArgumentError(f"{name} must be {least}-{most}, got {number!r}.")
    return number


def head_labels(layers: list[tuple[LayerKey, LayerObservation]]) -> dict[str, Any]:
    """The label of each head's measures, short and in full; None where nothing was measured."""
    if any(layer.measures is None for _, layer in layers):
        return {"roles": None, "described_roles": None}
    heads = layers[0][1].head_shape[-1]
    labels = [row.label for row in report(layers).rows]
    described = [labels[at : at + heads] for at in range(0, len(labels), heads)]
    roles = [[label.partition(":")[0] for label in row] for row in described]
    return {"roles": roles, "described_roles": described}


MAX_HEADS = 4096
LAYER_SEPARATOR = " layer "  # between the name of a part and the number of its layer


def head_parts(source: MapSource) -> list[dict[str, Any]]:
    """Parts of a file with their layers, heads and labels; empty where there are too many heads."""
    if sum(len(layer.heads) for layer in source.layers) > MAX_HEADS:
        return []
    return [_part(name, layers) for name, layers in _by_part(source).items()]


def head_thumbnails(source: MapSource, part: Any) -> Array | None:
    """thumbnails_lhqk from the stored maps; None where a layer has none, or they differ in size."""
    layers = _by_part(source).get(part, [])
    if not layers or any("map" not in layer.seen.facts for layer in layers):
        return None
    maps = [np.asarray(x.seen.map).reshape(-1, *x.seen.map.shape[-2:]) for x in layers]
    thumbnails = [shrink(map_hrc, THUMBNAIL_CELLS) for map_hrc in maps]
    alike = all(x.shape == thumbnails[0].shape for x in thumbnails)
    return np.stack(thumbnails) if alike else None


def _by_part(source: MapSource) -> dict[str, list[Layer]]:
    """Layers by the names of their parts; those with another number of heads are left out."""
    parts: dict[str, list[Layer]] = {}
    for layer in source.layers:
        own = parts.setdefault(layer.name.partition(LAYER_SEPARATOR)[0], [])
        if not own or len(own[0].heads) == len(layer.heads):
            own.append(layer)
    return parts


def _part(name: str, layers: list[Layer]) -> dict[str, Any]:
    labels = _labels(layers)
    return {
        "name": name,
        "title": name,
        "about": "",
        "layers": len(layers),
        "heads": len(layers[0].heads),
        **labels,
    }


def _labels(layers: list[Layer]) -> dict[str, Any]:
    watched = [
        (LayerKey(layer.name, at), layer.seen)
        for at, layer in enumerate(layers)
        if isinstance(layer.seen, LayerObservation)
    ]
    if len(watched) < len(layers):
        return {"roles": None, "described_roles": None}
    return head_labels(watched)
