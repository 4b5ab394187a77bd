"""Arrays of a .regard file in fewer bytes, without losing a bit, and read when they are asked for.

16-bit numbers that were widened are narrow again, whole numbers take the bytes they need, ranges
are described by their ends, and rows of zeros are cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regard.engine.files import checksum, file_errors
from regard.errors import FileError
from regard.typing import Array
from regard.watcher.mixers.mixer_table import MEASURES

MIN_PACKED_BYTES = 2**10  # of an array that is worth a description
MAX_CUT_SHARE = 0.75  # rows are cut where no more than this is left


def packed(arrays: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Arrays as they are stored, and by name how those are that are stored another way.

    >>> stored, how = packed({"keys": np.arange(-1, 2000, 7), "x": np.zeros(3)})
    >>> stored["x"].dtype, how["keys"]
    (dtype('float64'), {'kind': 'range', 'start': -1, 'step': 7, 'number': 286})
    """
    stored, how = {}, {}
    for name, array in arrays.items():
        stored[name] = np.asarray(array)
        if stored[name].nbytes >= MIN_PACKED_BYTES:
            described = _packed_one(stored[name])
            if described is not None:
                how[name], smaller = described
                stored.pop(name)
                if smaller is not None:
                    stored[name] = smaller
    return stored, how


def _packed_one(array: Array) -> tuple[dict[str, Any], Array | None] | None:
    if array.dtype == np.int64:
        return _packed_integers(array)
    if array.dtype != np.float32:
        return None
    bits = array.view(np.uint32)
    if not (bits & np.uint32(0xFFFF)).any():
        return {"kind": "bfloat16"}, (bits >> 16).astype(np.uint16)
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    if np.array_equal(half.astype(np.float32).view(np.uint32), bits):
        return {"kind": "float16"}, half
    return _cut_rows(array)


def _packed_integers(array: Array) -> tuple[dict[str, Any], Array | None] | None:
    steps = np.diff(array) if array.ndim == 1 else np.zeros(0, np.int64)
    if steps.size and (steps == steps[0]).all():
        start, step = int(array[0]), int(steps[0])
        return {"kind": "range", "start": start, "step": step, "number": len(array)}, None
    low, high = int(array.min()), int(array.max())
    for dtype in (np.uint8, np.uint16, np.uint32):
        if high - low <= np.iinfo(dtype).max:
            return {"kind": "integers", "low": low}, (array - low).astype(dtype)
    return None


def _cut_rows(array: Array) -> tuple[dict[str, Any], Array] | None:
    """Rows (..., r, c) without the zeros that all heads have at their ends, as of a causal map."""
    if array.ndim < 2 or not array.size:
        return None
    seen_rc = (array.view(np.uint32) != 0).any(axis=tuple(range(array.ndim - 2)))
    starts_r = seen_rc.argmax(axis=1)
    stops_r = np.where(seen_rc.any(axis=1), seen_rc.shape[1] - seen_rc[:, ::-1].argmax(axis=1), 0)
    bounds = {"starts": starts_r.tolist(), "stops": stops_r.tolist()}
    inside_rc = _inside(seen_rc.shape[1], bounds)
    if inside_rc.sum() > MAX_CUT_SHARE * seen_rc.size:
        return None
    how = {"kind": "cut", "shape": list(array.shape), **bounds}
    return how, np.ascontiguousarray(array[..., inside_rc])


def _inside(width: int, how: dict[str, Any]) -> Array:
    at_c = np.arange(width)
    starts_r1, stops_r1 = (np.array(how[x])[:, None] for x in ("starts", "stops"))
    return (starts_r1 <= at_c) & (at_c < stops_r1)


def unpacked(array: Array, how: dict[str, Any]) -> Array:
    """An array as it was before ``packed``; of a range nothing was stored."""
    if how["kind"] == "bfloat16":
        return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if how["kind"] == "float16":
        return array.astype(np.float32)
    if how["kind"] == "integers":
        return array.astype(np.int64) + int(how["low"])
    if how["kind"] != "cut":
        raise FileError(f"the file packs arrays as {how['kind']!r}, which is not known.")
    shape = tuple(int(size) for size in how["shape"])
    result = np.zeros(shape, array.dtype)
    result[..., _inside(shape[-1], how)] = array
    return result


ANY_SIZE, ANY_INTEGER, NUMBER = range(2**63), range(-(2**62), 2**63), "a number"
SIZES = [ANY_SIZE]
# Lists have one kind of entries, and a dict with the key '*' one kind of values. '?' is optional.
HEADER_FIELDS: dict[str, Any] = {
    "sentences": range(1, 2**63),
    "layers": [
        {
            "part": str,
            "layer": ANY_SIZE,
            "sentence": ANY_SIZE,
            "keys": ANY_SIZE,
            "cost": {"plan": str, "flops": ANY_SIZE, "peak_bytes": ANY_SIZE, "kernels?": str},
            "notes?": [str],
            "rows": str,
            "columns": str,
            "map?": SIZES,
        }
    ],
    "parts": {
        "*": {
            "causal": bool,
            "offset": (None, ANY_INTEGER),
            "window": (None, [(None, ANY_INTEGER)]),
            "softcap": (None, NUMBER),
            "scale": NUMBER,
        }
    },
    "spans": [str],
    "contents": {"*": {"shape": SIZES, "dtype": str, "crc32": ANY_SIZE}},
    "paths?": {"*": [(str, ANY_SIZE)]},
    "prompts?": {"*": [(None, ANY_SIZE)]},
    "mixers?": [
        [
            {
                "path": str,
                "kind": str,
                "layer": ANY_SIZE,
                "problem?": str,
                "heads?": ANY_SIZE,
                "width?": ANY_SIZE,
                "columns?": str,
                "convolved?": bool,
                "error?": NUMBER,
                **{f"{name}?": [NUMBER] for name in MEASURES},
            }
        ]
    ],
    "packing?": {
        "*": {
            "kind": str,
            "low?": ANY_INTEGER,
            "start?": ANY_INTEGER,
            "step?": ANY_INTEGER,
            "number?": ANY_SIZE,
            "shape?": SIZES,
            "starts?": SIZES,
            "stops?": SIZES,
        }
    },
    "media?": {
        "layers?": {"*": SIZES},
        "grids?": [{"size": SIZES, "others": [str], "first": ANY_INTEGER, "image": ANY_INTEGER}],
        "pictures?": [{"area": [NUMBER], "width": ANY_SIZE, "height": ANY_SIZE}],
        "sound?": {"*": {"seconds": NUMBER, "real": SIZES}},
    },
    "sides?": {"*": {"tokens": [str], "words": [str], "word_of_token": SIZES}},
}


def check_header_fields(header: dict[str, Any], path: Path) -> None:
    """Raise a FileError for the first field that is missing or of another kind than it must be."""
    problem = next(_misfits(header, HEADER_FIELDS, ""), None)
    if problem is None and not header["layers"] and not header.get("mixers"):
        problem = "must have at least one layer, got []"
    if problem is not None:
        raise FileError(
            f"{path} is damaged: its header {problem}. Make the file again with seen.save(...)."
        )


def _misfits(value: Any, kind: Any, name: str) -> Iterator[str]:
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            yield f"must have an object as {name}, got {value!r:.60}"
            return
        if "*" in kind:
            for field, entry in value.items():
                yield from _misfits(entry, kind["*"], f"{name}[{field!r:.60}]")
            return
        for field, own in kind.items():
            plain = field.removesuffix("?")
            if plain in value:
                yield from _misfits(value[plain], own, f"{name}.{plain}" if name else plain)
            elif plain == field:
                yield f"has no {plain!r}" + (f" in {name}" if name else "")
    elif isinstance(kind, list):
        if not isinstance(value, list):
            yield f"must have a list as {name}, got {value!r:.60}"
            return
        for number, entry in enumerate(value):
            yield from _misfits(entry, kind[0], f"{name}[{number}]")
    elif not _is_of(kind, value):
        yield f"must not have {value!r:.60} as {name}"


def _is_of(kind: Any, value: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is_of(kind[0], x) for x in value)
    if type(kind) is tuple:
        return any(_is_of(one, value) for one in kind)
    if isinstance(kind, range):
        return isinstance(value, int) and not isinstance(value, bool) and value in kind
    if kind is NUMBER:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return value is None if kind is None else isinstance(value, kind)


class StoredArrays(Mapping[str, Any]):
    """The arrays of a file by name; each is read, checked and unpacked when it is asked for.

    All but those whose rows are cut stay in the file: indexing them reads a part.
    """

    def __init__(
        self, header: dict[str, Any], files: dict[str, Any], path: Path, verify: bool = False
    ) -> None:
        self.path, self._files, self._verify = path, files, verify
        check_header_fields(header, path)
        self._how: dict[str, Any] = header.get("packing", {})
        self._contents: dict[str, Any] = header["contents"]
        self._checked: set[str] = set()
        ranges = {name for name, how in self._how.items() if how["kind"] == "range"}
        if sorted(self._contents) != sorted(files) or ranges & set(files):
            raise FileError(f"{path} is damaged: its header names other arrays than it has.")
        for name, array in files.items():
            entry = self._contents[name]
            if entry["shape"] != list(array.shape) or entry["dtype"] != str(array.dtype):
                raise FileError(
                    f"{path} is damaged: its header gives {name} other axes than it has."
                )
        self._names = dict.fromkeys([*files, *sorted(ranges)])

    def __getitem__(self, name: str) -> Any:
        how = self._how.get(name, {})
        if how.get("kind") == "range":
            start, step, number = (int(how[x]) for x in ("start", "step", "number"))
            return np.arange(number) * step + start
        if self._verify:
            self.verify(name)
        with file_errors(self.path):
            return self.mapped(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # without reading it

    def mapped(self, name: str) -> Any:
        """A stored array that no checksum is compared for: a part of it may be all that is read."""
        stored, how = self._files[name], self._how.get(name, {})
        if how.get("kind") == "cut":
            with file_errors(self.path):
                return unpacked(np.asarray(stored), how)
        return stored.decoded(partial(unpacked, how=how)) if how else stored

    def shape_of(self, name: str) -> tuple[int, ...]:
        how = self._how.get(name, {})
        if how.get("kind") == "range":
            return (int(how["number"]),)
        return tuple(how["shape"] if how.get("kind") == "cut" else self._files[name].shape)

    def verify(self, name: str) -> None:
        """Compare an array with its checksum, once."""
        if name in self._checked:
            return
        if self._contents[name]["crc32"] != checksum(self._files[name]):
            raise FileError(
                f"{self.path} is damaged: the numbers of {name} are not those that were saved. "
                "Make the file again with seen.save(...)."
            )
        self._checked.add(name)

    def verify_all(self) -> None:
        for name in self._files:
            self.verify(name)

    @property
    def nbytes(self) -> int:
        return sum(math.prod(x.shape) * x.dtype.itemsize for x in self._files.values())

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
