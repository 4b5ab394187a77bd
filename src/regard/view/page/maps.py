"""Files of the page, opened and checked as they are read; and heads of them, made smaller."""

from __future__ import annotations

import zlib
from bisect import bisect_right
from pathlib import Path
from typing import Any

import numpy as np

from regard.engine.call import blocks
from regard.engine.files import (
    FileReader,
    check_contents,
    check_header,
    file_errors,
    mapped_arrays,
    observation_from_arrays,
    unread,
)
from regard.engine.observation import Observation
from regard.errors import ArgumentError, FileError
from regard.typing import Array
from regard.watcher.files.watched_file import FORMAT as SEEN
from regard.watcher.files.watched_file import VERSION as SEEN_VERSION
from regard.watcher.files.watched_file import StoredLayers
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


def map_edges(seen: Observation) -> tuple[Array, Array]:
    """Edges of a map's rows and columns: those stored with it, else those of ``observe``."""
    rows, columns = (getattr(seen, name, None) for name in ("row_edges", "column_edges"))
    down, across = seen.facts.fact_shape("map")[-2:]
    return (
        blocks(seen.queries, down) if rows is None else np.asarray(rows),
        blocks(seen.keys, across) if columns is None else np.asarray(columns),
    )


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


def bounded_integer(name: str, number: Any, least: int, most: int) -> int:
    """A whole number of a request, checked to be within bounds."""
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise ArgumentError(f"{name} must be {least}-{most}, got {number!r}.")
    return number
