"""Exceptions and the one sentence form of their messages.

What was needed, what came, what to do next.
"""

from __future__ import annotations

from typing import Any


class RegardError(Exception):
    """Any error that regard raises on purpose."""


class ShapeError(RegardError, ValueError):
    """An array does not have the axes it needs."""


class ArgumentError(RegardError, ValueError):
    """An argument's value cannot be used."""


class NotAskedError(RegardError, AttributeError):
    """A fact was not asked for when the observation was made."""


class FileError(RegardError, ValueError):
    """A file cannot be read as what it should be, or cannot be written."""


class BackendError(RegardError, RuntimeError):
    """No backend can serve this call."""


class RankError(RegardError, RuntimeError):
    """A rank that others wait for is gone, late or has failed."""


def expect(name: str, array: Any, axes: str, **sizes: int) -> None:
    """Raise a ShapeError unless the array has these axes, with these sizes where given.

    A leading '...' stands for any number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> expect("key", np.zeros((8, 5, 64)), "h_kv k d", d=64)
    >>> expect("key", np.zeros((8, 5, 32)), "h_kv k d", d=64)
    Traceback (most recent call last):
    regard.errors.ShapeError: key needs axes (h_kv, k, d=64), but its shape is (8, 5, 32): d is 32.
    """
    names = axes.split()
    free = names[0] == "..."
    required = names[1:] if free else names
    shape = tuple(array.shape)
    tail = shape[len(shape) - len(required) :]
    if len(shape) < len(required) or (not free and len(shape) != len(required)):
        problem = f"it has {count(len(shape), 'axis', 'axes')}"
    else:
        pairs = zip(required, tail, strict=True)
        problem = ", ".join([f"{x} is {n}" for x, n in pairs if sizes.get(x, n) != n])
    if problem:
        expected = ", ".join(f"{x}={sizes[x]}" if x in sizes else x for x in names)
        raise ShapeError(f"{name} needs axes ({expected}), but its shape is {shape}: {problem}.")


def refuse_masked_array(name: str, array: Any) -> None:
    """Raise an ArgumentError for a NumPy masked array, whose mask ``np.asarray`` would drop."""
    if hasattr(array, "filled") and hasattr(array, "mask"):
        raise ArgumentError(
            f"{name} is a NumPy masked array, and its mask would be lost: write {name}.filled(0), "
            "and hide keys with mask or lengths."
        )


def count(number: int, singular: str, plural: str | None = None) -> str:
    """Say a number with its noun.

    >>> count(1, "key"), count(2, "key"), count(2, "query", "queries")
    ('1 key', '2 keys', '2 queries')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
