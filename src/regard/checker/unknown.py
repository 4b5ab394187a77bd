"""Unknown arguments: parameters of a function that get their shape from the way they are used.

``x @ w`` asks for a matrix, ``+ b`` for a vector, ``params["w"]`` for a dict. An ``Unknown`` is
handed in for such an argument; what it has become after one call is handed in ever after.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from regard.checker.adapters import native
from regard.typing import Array

MAX_PARTS = 3
PRODUCTS = ("matmul", "dot", "mm", "bmm", "inner", "__matmul__", "__rmatmul__")
WIDTH, HEADS, HEAD_WIDTH = 12, 3, 4


class Settled(dict[str, Any]):
    """What an unknown dict or object has become: its parts by key or by attribute."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Unknown:
    """An argument whose first use says what it is.

    ``columns``: of a matrix that it may turn out to be. ``names``: of the parts of a dict.
    """

    def __init__(
        self, library: str, columns: int, names: tuple[str, ...] = (), seed: int = 0
    ) -> None:
        self._library, self._columns, self._names, self._seed = library, columns, names, seed
        self._array: Array | None = None
        self._parts: dict[str | int, Unknown] = {}
        self._whole: Unknown | None = None  # of which this is the transpose

    def settled(self, convert: Callable[[Array], Any]) -> Any:
        """What it has become: an array, a list, a dict, or None where it was not used."""
        if self._array is not None:
            return convert(self._array)
        parts = {name: part.settled(convert) for name, part in self._parts.items()}
        if parts and all(isinstance(name, int) for name in parts):
            return [parts[i] for i in sorted(parts, key=int)]
        return Settled({str(name): part for name, part in parts.items()}) if parts else None

    def _shaped(self, shape: tuple[int, ...]) -> Any:
        """The array that it becomes, of this shape, for the library."""
        if self._whole is not None:
            turned = self._whole._shaped(shape[::-1])
            return turned.T if len(shape) < 3 else turned.swapaxes(-1, -2)
        if self._array is None:
            random = np.random.default_rng([self._seed, 71])
            rows = shape[-2] if len(shape) > 1 else 4
            self._array = random.standard_normal(shape) * max(rows, 1) ** -0.5
        return native(self._array, self._library, "float64")

    def _part(self, name: str | int) -> Unknown:
        if name not in self._parts:
            seed = 10 * self._seed + len(self._parts) + 1
            self._parts[name] = Unknown(self._library, self._columns, self._names, seed)
        return self._parts[name]

    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, str | int):
            return self._part(name)
        if isinstance(name, tuple) and None in name:  # a number for each head, or for more
            kept = [x for x in name if isinstance(x, slice)]
            return self._shaped((HEADS, WIDTH)[: len(kept)])[name]
        return self._shaped((WIDTH, self._columns))[name]

    def reshape(self, *shape: Any) -> Any:
        """An array in a form that is said: its sizes are known then."""
        sizes = tuple(shape[0]) if isinstance(shape[0], tuple | list) else shape
        known = tuple(self._columns if n == -1 else int(n) for n in sizes)
        return self._shaped((math.prod(known),)).reshape(sizes)

    view = reshape

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("dim", "to", "device"):
            raise AttributeError(name)
        if name in ("T", "mT"):
            turned = Unknown(self._library, self._columns)
            turned._whole = self
            return turned
        if name in ("shape", "ndim", "dtype", "size"):
            return getattr(self._shaped((WIDTH, self._columns)), name)
        return self._part(name)

    def __iter__(self) -> Iterator[Unknown]:
        return iter([self._part(i) for i in range(MAX_PARTS)])

    def keys(self) -> tuple[str, ...]:
        return self._names

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _meet(ufunc.__name__, lambda *x: getattr(ufunc, method)(*x, **options), inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return _meet(function.__name__, lambda *x: function(*x, **options), args)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), options: Any = None
    ) -> Any:
        return _meet(function.__name__, lambda *x: function(*x, **(options or {})), args)

    def __rmatmul__(self, other: Any) -> Any:
        return _meet("matmul", lambda one, two: one @ two, (other, self))

    def __radd__(self, other: Any) -> Any:
        return _meet("add", lambda one, two: one + two, (other, self))

    def __rmul__(self, other: Any) -> Any:
        return _meet("mul", lambda one, two: one * two, (other, self))


def _meet(name: str, call: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """An operation of known and unknown arrays: the unknown ones get the shapes that it needs."""
    inputs = _opened(name, inputs)
    shapes = [tuple(getattr(x, "shape", ())) if not isinstance(x, Unknown) else () for x in inputs]
    made = []
    for i, x in enumerate(inputs):
        if isinstance(x, Unknown):
            x = x._shaped(_needed_shape(name, i, inputs, shapes, x._columns))
            shapes[i] = tuple(x.shape)
        made.append(x)
    return call(*made)


def _opened(name: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    if name == "einsum" and len(inputs) == 2 and isinstance(inputs[1], list | tuple):
        return (inputs[0], *inputs[1])
    return inputs


def _needed_shape(
    name: str, i: int, inputs: tuple[Any, ...], shapes: list[tuple[int, ...]], columns: int
) -> tuple[int, ...]:
    if name == "einsum":
        letters = re.sub(r"\s|->.*", "", inputs[0]).split(",")
        known = {x: n for term, shape in zip(letters, shapes[1:], strict=True) for x, n in
                 zip(term, shape, strict=False)}  # fmt: skip
        new = [x for x in letters[i - 1] if x not in known]
        sizes = (HEADS, HEAD_WIDTH) if len(new) > 1 else (columns,)
        known |= dict(zip(new, sizes, strict=False))
        return tuple(known.get(x, 1) for x in letters[i - 1])
    if name == "linear":
        return (columns, shapes[0][-1]) if i == 1 else (shapes[1][0],)
    other = shapes[0] if i else shapes[1]
    if name in PRODUCTS:
        return (other[-1], columns) if i else (columns, other[-2])
    return other[-1:]
