"""Arguments of a wrong type, named where a public method fails because of one.

Nothing is checked while a call succeeds. Where it raises an error that regard did not mean, its
arguments are compared with the annotations of the method.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from regard.errors import ArgumentError, RegardError

Class = TypeVar("Class", bound=type)
ERRORS = (TypeError, AttributeError, ValueError, LookupError, OverflowError, AssertionError)
NUMBERS = {int: (int, np.integer), float: (int, float, np.integer, np.floating)}
NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "True or False",
         Path: "a path", slice: "a slice", type(None): "None", None: "None"}  # fmt: skip


def named_arguments(cls: Class) -> Class:
    """Class decorator: public methods name an argument whose type made them fail."""
    for name in dir(cls):
        method = getattr(cls, name)
        public = not name.startswith("_") or name == "__getitem__"
        if public and inspect.isfunction(method) and method.__module__.startswith("regard."):
            setattr(cls, name, _named(method))
    return cls


def _named(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return method(*arguments, **keywords)
        except RegardError:
            raise
        except ERRORS:
            problem = _problem(method, arguments, keywords)
            if problem is None:
                raise
        raise ArgumentError(problem)

    return call


def _problem(
    method: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> str | None:
    """The sentence about the first argument that is not what its annotation says."""
    function = inspect.unwrap(method)
    try:
        given = inspect.signature(function).bind(*arguments, **keywords)
    except TypeError:
        return None
    for name, value in given.arguments.items():
        parameter = given.signature.parameters[name]
        kind = _evaluated(parameter.annotation, function)
        several = parameter.kind is parameter.VAR_POSITIONAL
        for one in value if several else (value,):
            if not _fits(one, kind):
                return f"{name} must be {_described(kind)}, got {one!r:.200}."
    return None


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    try:
        return eval(annotation, vars(sys.modules[function.__module__]))  # noqa: S307 (our source)
    except NameError:  # imported for type checkers alone
        return Any


def _fits(value: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return any(value is one or (isinstance(value, str) and value == one) for one in inner)
    if origin is tuple and inner[-1:] != (...,):
        pair = isinstance(value, tuple | list) and len(value) == len(inner)
        return pair and all(map(_fits, value, inner))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if origin is not None and issubclass(origin, Iterable):
        several = isinstance(value, tuple if origin is tuple else Iterable)
        if not several or isinstance(value, str | bytes | Mapping):
            return False
        return not isinstance(value, list | tuple) or all(_fits(x, inner[0]) for x in value)
    kind = type(None) if kind is None else origin or kind
    if kind is Any or not isinstance(kind, type):
        return True
    return isinstance(value, NUMBERS.get(kind, kind))


def _described(kind: Any) -> str:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType, Literal):
        names = [repr(x) if origin is Literal else _described(x) for x in inner]
        names = list(dict.fromkeys(names))
        return ", ".join(names[:-1]) + " or " * (len(names) > 1) + names[-1]
    if origin is tuple and inner[-1:] != (...,):
        return f"({', '.join(map(_described, inner))})"
    if origin is not None and issubclass(origin, Mapping):
        return "a mapping"
    if origin is not None and issubclass(origin, Iterable):
        return f"several of {_described(inner[0])}"
    return NAMES.get(kind, getattr(kind, "__name__", str(kind)))
