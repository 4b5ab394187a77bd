"""The native library: loaded once, its level chosen once, or the reason why NumPy serves.

``REGARD_NATIVE`` forces a level (``baseline``, ``avx2``, ``avx512``, ``neon``) or ``off``;
``REGARD_NATIVE_LIBRARY`` names another file, such as one built with sanitizers.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.native.compile import (
    FOLDER,
    LEVELS,
    RECORD_FILE,
    architecture,
    architecture_levels,
    fingerprint,
    library_name,
    sources_checksum,
)
from regard.errors import ArgumentError
from regard.typing import Array

OFF = "off"
LEVEL_NAMES = (OFF, *dict.fromkeys(level for levels in LEVELS.values() for level in levels))
_forced: str | None = None  # of the process: helpers of a call must agree with it


@dataclass(frozen=True)
class NativeState:
    """The level that serves, or why none does; ``usable`` are those of this machine, best first."""

    level: str | None
    reason: str | None
    usable: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.level is None:
            return f"NumPy serves: {self.reason}"
        compiler = _record(FOLDER).get("compiler")
        return f"{self.level} (usable: {', '.join(self.usable)}), compiled by {compiler}"


def native_state() -> NativeState:
    """The level that serves this call, or the reason why NumPy does."""
    return _state(_forced or _from_environment())


def levels() -> tuple[str, ...]:
    """The levels of the library that this machine supports, best first; none without a library."""
    return _state(None).usable


@contextlib.contextmanager
def using_level(level: str) -> Iterator[None]:
    """Use a level, or ``"off"``, on all threads; NumPy serves where the machine lacks it."""
    global _forced
    before, _forced = _forced, _checked("level", level)
    try:
        yield
    finally:
        _forced = before


def function(name: str) -> Callable[..., int] | None:
    """A kernel at the level in use, called with the address of its arguments; None: NumPy serves.

    The interpreter's lock is released while it runs.
    """
    level = native_state().level
    return None if level is None else _bound(name, level)


@cache
def _bound(name: str, level: str) -> Callable[..., int]:
    library, _ = _library()
    bound = library[f"regard_{name}_{level}"]
    bound.argtypes, bound.restype = [ctypes.c_void_p], ctypes.c_int
    kernel: Callable[..., int] = bound
    return kernel


@cache
def _from_environment() -> str | None:
    chosen = os.environ.get("REGARD_NATIVE")
    return _checked("REGARD_NATIVE", chosen) if chosen else None


def _checked(name: str, level: str) -> str:
    if level not in LEVEL_NAMES:
        raise ArgumentError(f"{name} must be one of {', '.join(LEVEL_NAMES)}, got {level!r}.")
    return level


@cache
def _state(forced: str | None) -> NativeState:
    if forced == OFF:
        return NativeState(None, "the native kernels are switched off")
    library, reason = _library()
    if library is None:
        return NativeState(None, reason)
    known = reversed(architecture_levels(architecture()))
    usable = tuple(level for level in known if library.regard_supports(level.encode()))
    if forced is not None and forced not in usable:
        return NativeState(None, f"this machine or library has no level {forced!r}", usable)
    return NativeState(forced or usable[0], None, usable)


@cache
def _library() -> tuple[Any, str | None]:
    """The loaded library, or None and the reason."""
    path = Path(os.environ.get("REGARD_NATIVE_LIBRARY") or FOLDER / library_name())
    if not path.exists():
        return None, _why_missing()
    again = "to build it again: python -m regard.engine.native.compile"
    record = _record(path.parent)
    try:
        if (record.get("size"), record.get("crc32")) != fingerprint(path):
            return None, f"the library is not the one that was built, or incomplete; {again}"
        library = ctypes.CDLL(str(path))
        library.regard_sources.restype = ctypes.c_uint32
        checksum = library.regard_sources()
    except (OSError, AttributeError) as error:
        return None, f"the library cannot be loaded: {error}"
    if checksum != sources_checksum():
        return None, f"the library was built from other sources; {again}"
    return library, None


def _why_missing() -> str:
    again = "to build the kernels now: python -m regard.engine.native.compile"
    if reason := _record(FOLDER).get("reason"):
        return f"at installation {reason}; {again}"
    others = sorted({path.name for path in FOLDER.glob("_kernels.*-*")} - {library_name()})
    if others:
        return f"the library is for another platform ({', '.join(others)}); {again}"
    return f"no library was built; {again}"


def _record(folder: Path) -> dict[str, Any]:
    """The outcome of the last build in a folder; empty where it cannot be read."""
    import json

    try:
        record = json.loads((folder / RECORD_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def is_addressable(array: NDArray[Any]) -> bool:
    """Whether C can step through an array by whole numbers; a field of a packed record it cannot.

    >>> records = np.zeros(3, [("flag", "u1"), ("x", "f4")])
    >>> is_addressable(records["x"]), is_addressable(records["x"].copy())
    (False, True)
    """
    return array.flags.aligned and not any(step % array.itemsize for step in array.strides)


MIN_NATIVE_SIZE = 2**12  # numbers: fewer are faster in NumPy


class SquaresArguments(ctypes.Structure):
    """Arguments and results of one call, in the order of squares.c."""

    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("number", ctypes.c_int64),
        ("width", ctypes.c_int64),
        ("largest", ctypes.c_double),
        ("total", ctypes.c_double),
    )


def native_squares(array: Array) -> tuple[float, float] | None:
    """The largest squared length of a row, and the sum of all; None where NumPy has to say.

    Both are infinite or NaN if a number is, or if its square is beyond float32.

    >>> x = np.ones((1, 2048, 3), np.float32)
    >>> native_squares(x) in (None, (3.0, 6144.0))
    True
    """
    kernel = function("sum_squares")
    if kernel is None or not isinstance(array, np.ndarray) or array.dtype != np.float32:
        return None
    if array.size < MIN_NATIVE_SIZE or not (array.flags.c_contiguous and array.flags.aligned):
        return None
    width = array.shape[-1]
    call = SquaresArguments(array.__array_interface__["data"][0], array.size // width, width)
    kernel(ctypes.addressof(call))
    return call.largest, call.total
