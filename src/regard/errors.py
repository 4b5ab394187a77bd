"""Exceptions that regard raises, and the sentence form of their messages.

::

    RegardError                    any error that regard raises on purpose
      ShapeError, ValueError       an array does not have the required axes
      ArgumentError, ValueError    the value of an argument is invalid
        NotFiniteError             an array holds NaN or infinity where it must not
      NotAskedError, AttributeError  a fact that was not requested of an observation
      FileError, ValueError        a file cannot be read as its format, or cannot be written
      BackendError, RuntimeError   no backend can serve a call
      RankError, RuntimeError      another rank failed, is late or is gone

Each is also the built-in exception named beside it. A message says what the argument must be, what
came, and what to do next: "head must be from 0 to 7, got 9.". An unknown keyword is a TypeError, as
everywhere in Python, with a suggestion (``arguments.suggest_keywords``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class RegardError(Exception):
    """Any error that regard raises on purpose."""


class ShapeError(RegardError, ValueError):
    """An array does not have the required axes."""


class ArgumentError(RegardError, ValueError):
    """The value of an argument is invalid."""


class NotFiniteError(ArgumentError):
    """An array holds NaN or infinity where it must not."""


class NotAskedError(RegardError, AttributeError):
    """A fact was not requested when the observation was made."""


class FileError(RegardError, ValueError):
    """A file cannot be read as its format, or cannot be written."""


class BackendError(RegardError, RuntimeError):
    """No backend can serve this call."""


class RankError(RegardError, RuntimeError):
    """A rank that others wait for failed, is late or is gone."""


def expect(name: str, array: Any, axes: str, **sizes: int) -> None:
    """Raise a ShapeError unless the array has these axes, and these sizes where given.

    A leading '...' stands for any number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> expect("key", np.zeros((8, 5, 64)), "h_kv k d", d=64)
    >>> expect("key", np.zeros((8, 5, 32)), "h_kv k d", d=64)
    Traceback (most recent call last):
    regard.errors.ShapeError: key must have axes (h_kv, k, d=64), got shape (8, 5, 32): d is 32.
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
        raise ShapeError(f"{name} must have axes ({expected}), got shape {shape}: {problem}.")


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """The value of an argument, which must be one of a few words.

    >>> check_choice("by", "rows", ("words", "tokens"))
    Traceback (most recent call last):
    regard.errors.ArgumentError: by must be 'words' or 'tokens', got 'rows'.
    """
    if not isinstance(value, str) or value not in choices:
        listed = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
        raise ArgumentError(f"{name} must be {listed}, got {value!r}.")
    return value


def check_callable(name: str, value: Any) -> None:
    """Raise an ArgumentError unless this is a function or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{name} must be a function, got {value!r}.")


def refuse_masked_array(name: str, array: Any) -> None:
    """Raise an ArgumentError for a NumPy masked array, whose mask ``np.asarray`` would drop."""
    if hasattr(array, "filled") and hasattr(array, "mask"):
        raise ArgumentError(
            f"{name} must not be a NumPy masked array, whose mask would be lost: write "
            f"{name}.filled(0), and hide keys with mask or lengths."
        )


def count(number: int, singular: str, plural: str | None = None) -> str:
    """A number with its noun.

    >>> count(1, "key"), count(2, "key"), count(2, "query", "queries")
    ('1 key', '2 keys', '2 queries')
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
