"""Grids of images, and the pictures themselves, in the .regard file of a watched run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, NotAskedError
from regard.typing import Array
from regard.watcher.capture.forward_run import LayerKey
from regard.watcher.media.image_grids import HINT, ImageGrid, Size, last_keys
from regard.watcher.media.picture_bytes import PictureBytes
from regard.watcher.media.seen_media import FramedPicture
from regard.watcher.media.sound_axis import SAY

if TYPE_CHECKING:
    from regard.watcher.seen import Seen

GRID, PICTURE = "image_grid.", "picture."


def media_header(seen: Seen, arrays: dict[str, Array]) -> dict[str, Any]:
    """Grids by layer and sentence, and pictures, for the header; their arrays are added."""
    grids: list[ImageGrid] = []
    layers: dict[str, list[int]] = {}
    for key in seen.names:
        for sentence in range(seen.sentences):
            own = _grids_of(seen, key, sentence)
            if own:
                layers[f"{key.part}.{key.layer}.{sentence}"] = [_number(x, grids) for x in own]
            if not own or "text" not in own[0].others:  # patches have no sentences
                break
    for number, grid in enumerate(grids):
        arrays[f"{GRID}{number}"] = grid.cells
    entries = [{"size": list(grid.size), "others": list(grid.others), "first": grid.first,
                "image": grid.image} for grid in grids]  # fmt: skip
    pictures = _pictures(seen, grids, arrays)
    return {"layers": layers, "grids": entries, "pictures": pictures, "sound": _sound(seen)}


def _sound(seen: Seen) -> dict[str, Any]:
    """Seconds of a position, and positions without padding, by their number of keys."""
    sound: dict[str, Any] = {}
    for key in seen.names:
        if key.part.split()[0] not in ("encoder", "cross") or not seen._source.has(key, 0):
            continue
        positions = seen._source.layer(key, 0).keys
        if str(positions) in sound:
            continue
        try:
            seconds = seen._source.seconds_of_position(positions)
        except (NotAskedError, ArgumentError):  # no sound, or none whose times are known
            continue
        real = [seen._source.real_positions(positions, x) for x in range(seen.sentences)]
        sound[str(positions)] = {"seconds": seconds, "real": real}
    return sound


def _grids_of(seen: Seen, key: LayerKey, sentence: int) -> tuple[ImageGrid, ...]:
    try:
        return seen._source.image_grids(key, sentence)
    except (NotAskedError, ArgumentError):  # no image, or a grid that only its user knows
        return ()


def _number(grid: ImageGrid, grids: list[ImageGrid]) -> int:
    """The number of an equal grid, or of a new one: the layers of a part share theirs."""
    for number, other in enumerate(grids):
        same = (grid.size, grid.others, grid.first, grid.image) == (
            other.size, other.others, other.first, other.image)  # fmt: skip
        if same and np.array_equal(grid.cells, other.cells):
            return number
    grids.append(grid)
    return len(grids) - 1


def _pictures(seen: Seen, grids: list[ImageGrid], arrays: dict[str, Array]) -> list[dict[str, Any]]:
    entries = []
    for number, framed in enumerate(seen._pictures or seen._source.pictures):
        grid = next((x for x in grids if x.image == number), None)
        if grid is None:
            raise ArgumentError(
                f"picture {number} needs an image that the model was given, but none of that "
                f"number was seen; where the grid is not known: {HINT} in seen.image."
            )
        area, _ = framed.area_on(grid.size, seen._source.processor)
        small = framed.picture.small()
        arrays[f"{PICTURE}{number}"] = np.frombuffer(small.data, np.uint8)
        entries.append({"width": small.width, "height": small.height, "area": list(area)})
    return entries


class StoredMedia:
    """Grids, pictures and times of a file; one of an older version has none."""

    processor: Any = None

    def __init__(self, header: dict[str, Any], arrays: Mapping[str, Any]) -> None:
        self._grids_of_layers, self._media_arrays = header.get("layers", {}), arrays
        self._grid_entries = header.get("grids", ())
        self._picture_entries, self._sound = header.get("pictures", ()), header.get("sound", {})

    def seconds_of_position(self, positions: int) -> float:
        """Seconds between two positions of an encoder of sound."""
        if str(positions) not in self._sound:
            raise NotAskedError(f"the file does not say how long a position is: {SAY}.")
        return float(self._sound[str(positions)]["seconds"])

    def real_positions(self, positions: int, sentence: int) -> int:
        """Positions of an encoder of sound that hear no padding."""
        real = self._sound.get(str(positions), {}).get("real", ())
        return int(real[sentence]) if sentence < len(real) else positions

    @cached_property
    def pictures(self) -> tuple[FramedPicture, ...]:
        """The pictures, in the order of the model's images."""
        return tuple(
            self._picture(number, entry) for number, entry in enumerate(self._picture_entries)
        )

    def grids(
        self, layer_key: LayerKey, sentence: int, size: Size | None, keys: int
    ) -> tuple[ImageGrid, ...]:
        """The grids of the images that a layer attends to."""
        if size is not None:
            return (last_keys(size, keys, sentence),)
        prefix = f"{layer_key.part}.{layer_key.layer}."
        numbers = self._grids_of_layers.get(
            f"{prefix}{sentence}", self._grids_of_layers.get(f"{prefix}0", ())
        )
        if not numbers:
            raise NotAskedError(
                f"{layer_key} of the file saw no image whose grid is known: {HINT}."
            )
        return tuple(self._grid(int(number)) for number in numbers)

    def _grid(self, number: int) -> ImageGrid:
        entry = self._grid_entries[number]
        rows, columns = (int(x) for x in entry["size"])
        return ImageGrid.of(
            (rows, columns), np.asarray(self._media_arrays[f"{GRID}{number}"]), entry["others"],
            first=int(entry["first"]), image=int(entry["image"]),
        )  # fmt: skip

    def _picture(self, number: int, entry: dict[str, Any]) -> FramedPicture:
        data = np.asarray(self._media_arrays[f"{PICTURE}{number}"]).tobytes()
        left, top, right, bottom = (float(x) for x in entry["area"])
        picture = PictureBytes(data, int(entry["width"]), int(entry["height"]))
        return FramedPicture(picture, (left, top, right, bottom))
