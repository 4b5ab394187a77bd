"""Layers and heads of an observation, a watched model or a .regard file, for the Map view."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.engine.call import Problem
from regard.engine.files import (
    FileReader,
    check_contents,
    check_header,
    file_errors,
    mapped_arrays,
    observation_from_arrays,
    unread,
)
from regard.engine.observation import ArrayFacts, Observation
from regard.errors import ArgumentError, FileError
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
        return {
            "name": self.name,
            "layers": [layer.about() for layer in self.layers],
            "notes": list(self.notes),
        }

    def layer(self, number: Any) -> Layer:
        return self.layers[bounded_integer("layer", number, 0, len(self.layers) - 1)]


CHECKED_AT_ONCE_BYTES = 2**25  # of a file whose arrays are checked when it is opened
CHECKED_BLOCK_BYTES = 2**24


class CheckedReader(FileReader):
    """A .regard file of which each array is compared with its checksum when it is first read.

    The page draws parts of arrays: without this a damaged one would be drawn as it is.
    """

    def __init__(self, path: Path, arrays: dict[str, Any], contents: dict[str, Any]) -> None:
        super().__init__(path)
        placed = sorted((x.start, x.nbytes, name) for name, x in arrays.items() if x.nbytes)
        self._extents = {start: (size, name) for start, size, name in placed}
        self._starts = list(self._extents)
        self._checksums = {name: entry["crc32"] for name, entry in contents.items()}
        self._checked: set[int] = set()
        if sum(size for size, _ in self._extents.values()) <= CHECKED_AT_ONCE_BYTES:
            for start in self._starts:
                self._check(start)

    def read(self, start: int, size: int) -> bytearray:
        if size:
            self._check(self._starts[bisect_right(self._starts, start) - 1])
        return super().read(start, size)

    def _check(self, start: int) -> None:
        if start in self._checked:
            return
        size, name = self._extents[start]
        checksum = 0
        for at in range(0, size, CHECKED_BLOCK_BYTES):
            block = super().read(start + at, min(CHECKED_BLOCK_BYTES, size - at))
            checksum = zlib.crc32(block, checksum)
        if checksum != self._checksums[name]:
            raise FileError(
                f"{self.path} is damaged: the numbers of {name} are not those that were saved. "
                "Make the file again with seen.save(...)."
            )
        self._checked.add(start)


def checked_arrays(path: Path) -> tuple[Any, dict[str, Any]]:
    """The header of a .regard file, and its arrays: read, and checked, as they are indexed."""
    header, arrays = mapped_arrays(path)
    is_run = isinstance(header, dict) and header.get("format") == SEEN
    check_header(header, path, *((SEEN, SEEN_VERSION) if is_run else ()))
    with file_errors(path):
        check_contents(header["contents"], arrays, path, verify=False)
        reader = CheckedReader(path, arrays, header["contents"])
    for array in arrays.values():
        array.reader = reader  # type: ignore[attr-defined]
    return header, arrays


def open_stored(path: Path) -> Seen | Observation:
    """What a .regard file holds, not read but checked: its arrays are read as they are drawn."""
    header, arrays = checked_arrays(path)
    with file_errors(path):
        if header["format"] == SEEN:
            return Seen(StoredLayers(header, arrays, unread, path))
        return observation_from_arrays(header, arrays, unread)


def open_file(path: Path) -> MapSource:
    """The map source of a .regard file."""
    seen = open_stored(path)
    with file_errors(path):
        source = watched_source if isinstance(seen, Seen) else observation_source
        return source(seen, path.name)  # type: ignore[arg-type]


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


def head_thumbnails(source: MapSource, part: str) -> Array | None:
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
