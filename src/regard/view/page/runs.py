"""Watched runs for the Read view: .regard files whose text is read head by head."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from regard.engine.files import check_header, mapped_arrays, unread
from regard.errors import ArgumentError
from regard.heads.rollout import rolled_out
from regard.typing import Array
from regard.view.page.embed import MOST_TOKENS, has_rollout, is_readable, layers_of, watched_reading
from regard.view.page.map_source import bounded_integer
from regard.view.page.thumbnails import THUMBNAIL, small
from regard.watcher.files.watched_file import FORMAT, VERSION, StoredLayers
from regard.watcher.seen import Seen


class Run:
    """One text of a watched model: its reading, and weights of any head on demand."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    @cached_property
    def reading(self) -> dict[str, Any]:
        """The run in the shape of a reading (web/lib/api.js)."""
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
        """A small picture of each head, one layer at a time: all weights are never held at once."""
        return np.stack([small(self._tile(layer), THUMBNAIL) for _, layer in self._layers(fields)])

    def _layers(self, fields: Mapping[str, Any]) -> list[Any]:
        part = fields.get("part")
        if part not in self._seen.parts:
            raise ArgumentError(
                f"part needs to be one of {', '.join(self._seen.parts)}, but it is {part!r}."
            )
        return layers_of(self._seen, str(part))

    @staticmethod
    def _tile(layer: Any) -> Array:
        return np.asarray(layer.tile(slice(None), slice(None)))


def readable_run(path: Path) -> Run | None:
    """The run of a file where the Read view can show it: one short text, with every weight."""
    header, arrays = mapped_arrays(path)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        return None
    check_header(header, path, FORMAT, VERSION)
    seen = Seen(StoredLayers(header, arrays, unread))
    one = seen.sentence(0) if seen.sentences > 1 else seen
    return Run(one) if is_readable(one) else None


def open_run(path: Path) -> Run:
    """The run of a file; says why where the Read view cannot show it."""
    run = readable_run(path)
    if run is None:
        raise ArgumentError(
            f"{path.name} needs to be a watched text of at most {MOST_TOKENS:,} tokens with its "
            "query and key to be read head by head: look at it in the Map view."
        )
    return run
