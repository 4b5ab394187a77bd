"""Exceptions and the one sentence form of their messages.

What was needed, what came, what to do next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


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


def suggest_keywords(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: a wrong keyword raises a TypeError that names the function and the right keyword.

    >>> suggest_keywords(lambda causal=False: None)(is_causal=True)
    Traceback (most recent call last):
    TypeError: <lambda>() got an unexpected keyword 'is_causal'; did you mean 'causal'?
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @wraps(function)
    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        for name in keywords:
            if name not in names:
                raise TypeError(unexpected_keyword(function.__name__, name, names))
        return function(*arguments, **keywords)

    return call


def unexpected_keyword(function: str, name: str, names: Iterable[str]) -> str:
    """Message about a keyword that a function does not take, with the nearest that it takes."""
    from difflib import get_close_matches

    names = [x for x in names if x != "self"]
    near = get_close_matches(name, names, 1)
    advice = f"; did you mean {near[0]!r}?" if near else f": it takes {', '.join(names)}."
    return f"{function}() got an unexpected keyword {name!r}{advice}"
