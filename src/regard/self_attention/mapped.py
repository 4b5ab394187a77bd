"""A .regard file opened without being read: its arrays lie in the file until they are looked at.

So a file of a million tokens opens as fast as one of a thousand.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import FileError
from regard.self_attention.observation import Observation
from regard.self_attention.storage import check_header, observation_of
from regard.self_attention.tiles.arguments import Extent, hold
from regard.self_attention.tiles.problem import Array, Problem

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1",
          "BOOL": "?"}  # fmt: skip
LONG = 1e4  # stands for the length of a row nobody measured: too long for sums without a shift


def open_mapped(path: str | Path) -> Observation:
    """An observation whose facts, query and key are read from the file as they are used."""
    header, arrays = mapped_arrays(Path(path))
    check_header(header, Path(path))
    return observation_of(header, arrays, unread)


def mapped_arrays(path: Path) -> tuple[Any, dict[str, Array]]:
    """What the file says about itself, and its arrays, mapped."""
    if not path.is_file():
        raise FileError(f"{path} is not there.")
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            described = json.loads(file.read(min(size, path.stat().st_size)))
        content: Array = np.memmap(path, np.uint8, "r")
        about = json.loads(described.pop("__metadata__", {}).get("regard", "null"))
        return about, {x: _array(content[8 + size :], entry) for x, entry in described.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is not a whole .regard file: {error}. It may be cut short or of another kind; "
            "make it again with seen.save(...)."
        ) from None


def _array(content: Array, entry: dict[str, Any]) -> Array:
    start, stop = entry["data_offsets"]
    array: Array = content[start:stop].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return array


def unread(query: Array, key: Array, value: Array, **given: Any) -> Problem:
    """As ``pose``, but without looking at the numbers."""
    whole = Extent(query.dtype, tuple(query.shape[:-2]), query.shape[-2], key.shape[-2],
                   {"query": LONG, "key": LONG, "value": 0.0})  # fmt: skip
    return hold({"query": query, "key": key, "value": value}, whole, given)
