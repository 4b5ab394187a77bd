"""Watched runs for the Read view: words, images, generated text, and weights of any head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.engine.files import file_errors
from regard.errors import ArgumentError, NotAskedError, count
from regard.heads.links import CAUTION
from regard.heads.rollout import rolled_out
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.view.page.maps import THUMBNAIL_CELLS, bounded_integer, head_labels, open_stored, shrink
from regard.view.page.readings import page_side
from regard.watcher.capture.runs import LayerKey
from regard.watcher.layer import LayerObservation
from regard.watcher.media.image_grids import ImageGrid
from regard.watcher.media.picture_bytes import FramedPicture
from regard.watcher.seen import Seen


def mark_generated(part: dict[str, Any], seen: Seen) -> None:
    """Set ``generated`` of both sides of a part: its first token and word; None without any."""
    name, query, key = part["name"], part["query"], part["key"]
    # Queries after a cache that was filled before the run do not begin where the text does.
    is_text = name == "cross" or len(query["tokens"]) == len(key["tokens"])
    query["generated"] = first_generated(query, seen.prompt_tokens(name)) if is_text else None
    keys = "encoder" if name == "cross" else name
    given = seen.prompt_tokens(keys) if keys in seen.parts else None
    key["generated"] = first_generated(key, given)


def first_generated(side: Mapping[str, Any], given: int | None) -> dict[str, int] | None:
    """The first token and the first word that the model generated; None where there is none.

    A word that the prompt began is the prompt's.

    >>> first_generated({"word_of_token": [0, 1, 1, 2]}, 2)
    {'token': 2, 'word': 2}
    """
    words = side["word_of_token"]
    if given is None or not 0 < given < len(words):
        return None
    began = words[given - 1] == words[given]
    return {"token": given, "word": words[given] + began}


def authorship(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on what was given and what was generated, where anything was."""
    for part in parts:
        side = part["query"]
        if side["generated"]:
            given = side["generated"]["token"]
            return [
                f"The model generated {count(len(side['tokens']) - given, 'token')}, in italics; "
                f"it was given {count(given, 'token')} before them."
            ]
    return []


PATCH_PIXELS = 24  # where there is no picture


def page_images(seen: Seen) -> list[dict[str, Any]]:
    """Every image (web/types.d.ts: PageImage); none where the run has no image or no grid."""
    grids = {part: _image_grids(seen, part) for part in seen.parts}
    numbers = sorted({grid.image for own in grids.values() for grid in own if grid.image >= 0})
    pictures = seen._pictures or seen._source.pictures
    return [
        _image(
            seen,
            {part: _numbered(own, number) for part, own in grids.items()},
            pictures[number] if number < len(pictures) else None,
        )
        for number in numbers
    ]


def parts_by_images(seen: Seen) -> list[str]:
    """The parts of a run; those whose text has images in it come first."""
    return sorted(
        seen.parts, key=lambda part: not any("text" in x.others for x in _image_grids(seen, part))
    )


def name_patches(part: dict[str, Any], images: list[dict[str, Any]]) -> None:
    """Name the tokens of images in a part by their rows and columns, on both sides of a text."""
    sides = [part["key"]]
    if len(part["query"]["tokens"]) == len(part["key"]["tokens"]):
        sides.append(part["query"])
    for number, image in enumerate(images):
        grid = image["parts"].get(part["name"])
        for token, cell in enumerate(grid["cells"] if grid else ()):
            if cell >= 0:
                row, column = divmod(cell, grid["columns"])
                name = f"patch {row},{column}" + (f" of {number}" if len(images) > 1 else "")
                for side in sides:
                    side["tokens"][token] = name
                    side["words"][side["word_of_token"][token]] = name


def _image_grids(seen: Seen, part: str) -> tuple[ImageGrid, ...]:
    key = next(key for key in seen.names if key.part == part)
    try:
        return seen._source.image_grids(key, seen._sentence or 0)
    except (NotAskedError, ArgumentError):  # no image, or none whose grid is known
        return ()


def _numbered(grids: tuple[ImageGrid, ...], number: int) -> ImageGrid | None:
    return next((grid for grid in grids if grid.image == number and len(grid.cells) == 1), None)


def _image(
    seen: Seen, grids: dict[str, ImageGrid | None], framed: FramedPicture | None
) -> dict[str, Any]:
    known = {part: grid for part, grid in grids.items() if grid is not None}
    parts = {
        part: {"rows": grid.rows, "columns": grid.columns, "cells": grid.cells[0].tolist()}
        for part, grid in known.items()
    }
    first = next(iter(known.values()))
    if framed is None:
        size = {"width": PATCH_PIXELS * first.columns, "height": PATCH_PIXELS * first.rows}
        return {"picture": "", **size, "area": [0, 0, 1, 1], "parts": parts}
    area, _ = framed.area_on(first, seen._source.processor)
    small = framed.picture.small()
    return {
        "picture": small.uri,
        "width": small.width,
        "height": small.height,
        "area": list(area),
        "parts": parts,
    }


MAX_TOKENS = 1024
NO_TEXT = TokenizedText((), (), (), ())
TITLES = {
    "encoder": "the input looks at itself",
    "decoder": "the text looks at what came before it",
    "cross": "the output looks at the input",
}


def is_readable(seen: Seen) -> bool:
    """Whether this is one short text with every weight available."""
    if seen.sentences > 1 and seen._sentence is None:
        return False
    return all(_is_short(layer) for part in seen.parts for _, layer in part_layers(seen, part))


def watched_reading(seen: Seen) -> dict[str, Any]:
    """A watched text in the shape of a reading (web/lib/api.js)."""
    layers = {part: part_layers(seen, part) for part in parts_by_images(seen)}
    parts, images = [_part(part, entries) for part, entries in layers.items()], page_images(seen)
    for part in parts:
        name_patches(part, images)
        mark_generated(part, seen)
    return {
        "sentence": " ".join(parts[0]["query"]["words"]),
        "translation": "",
        "quick": False,
        "notes": [_numbering(layers), *authorship(parts)],
        "caution": CAUTION,
        "alignment": None,
        "highlight": None,
        "parts": parts,
        "images": images,
    }


def part_layers(seen: Seen, part: str) -> list[tuple[LayerKey, LayerObservation]]:
    """The watched layers of one part, in order."""
    return [(key, seen[key]) for key in seen.names if key.part == part]


def _is_short(layer: LayerObservation) -> bool:
    few = max(layer.queries, layer.keys) <= MAX_TOKENS
    return few and layer.query_text is not None and bool(layer.parts or layer.every_weight)


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
        "heads": first.head_shape[-1],
        "causal": False,
        "steps": False,
        "query": page_side(first.query_text or NO_TEXT),
        "key": page_side(first.key_text or NO_TEXT),
        **head_labels(layers),
        "ways": ["head", "layer", "all", *(("rollout",) if has_rollout(layers) else ())],
        "thumbnail": [min(24, first.queries), min(24, first.keys)],
    }


def _numbering(layers: dict[str, list[tuple[LayerKey, LayerObservation]]]) -> str:
    """A sentence on the layers that were watched, where some were left out."""
    notes = []
    for part, entries in layers.items():
        numbers = [key.layer for key, _ in entries]
        if numbers != list(range(len(numbers))):
            listed = ", ".join(map(str, numbers))
            notes.append(f"of the {part} the model's layers {listed}, numbered from 0 here")
    return f"Watched: {'; '.join(notes)}." if notes else "All watched layers are here."


class Run:
    """One text of a watched model: its reading, and weights of any head on demand."""

    def __init__(self, seen: Seen, path: Path) -> None:
        self._seen, self._path = seen, path

    @cached_property
    def reading(self) -> dict[str, Any]:
        with file_errors(self._path):
            return watched_reading(self._seen)

    def weights(self, fields: Mapping[str, Any]) -> Array:
        """weights_qk between tokens: of one head, or the average of a layer or of all."""
        layers, show = self._layers(fields), fields.get("show", "head")
        if show == "all":
            means = [self._tile(layer).mean(axis=0) for _, layer in layers]
            return np.asarray(np.mean(means, axis=0))
        if show == "rollout" and has_rollout(layers):
            return rolled_out(self._tile(layer).mean(axis=0) for _, layer in layers)
        number = bounded_integer("layer", fields.get("layer"), 0, len(layers) - 1)
        weights_hqk = self._tile(layers[number][1])
        if show == "layer":
            return np.asarray(weights_hqk.mean(axis=0))
        head = bounded_integer("head", fields.get("head"), 0, len(weights_hqk) - 1)
        return np.asarray(weights_hqk[head])

    def thumbnails(self, fields: Mapping[str, Any]) -> Array:
        """Thumbnails of all heads, computed layer by layer to save memory."""
        return np.stack(
            [shrink(self._tile(layer), THUMBNAIL_CELLS) for _, layer in self._layers(fields)]
        )

    def _layers(self, fields: Mapping[str, Any]) -> list[Any]:
        part = fields.get("part")
        if part not in self._seen.parts:
            raise ArgumentError(f"part must be one of {', '.join(self._seen.parts)}, got {part!r}.")
        return part_layers(self._seen, str(part))

    @staticmethod
    def _tile(layer: Any) -> Array:
        return np.asarray(layer.tile(slice(None), slice(None)))


def readable_run(path: Path) -> Run | None:
    """The run of a file where the Read view can show it: one short text, with every weight."""
    seen = open_stored(path)
    if not isinstance(seen, Seen):
        return None
    with file_errors(path):
        one = seen.sentence(0) if seen.sentences > 1 else seen
        return Run(one, path) if is_readable(one) else None


def open_run(path: Path) -> Run:
    """The run of a file; raises an ArgumentError where the Read view cannot show it."""
    run = readable_run(path)
    if run is None:
        raise ArgumentError(
            f"{path.name} cannot be shown in the Read view, which needs one text of at most "
            f"{MAX_TOKENS:,} tokens with its query and key: use the Map view."
        )
    return run
