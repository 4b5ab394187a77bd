"""Wrong keywords and arguments of a wrong type, named where a public call fails because of one.

Nothing is checked while a call succeeds. Where it raises an error that regard did not mean, its
arguments are compared with the annotations of the function.
"""

from __future__ import annotations

import errno
import inspect
import os
import sys
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    is_typeddict,
)

import numpy as np

from regard.errors import ArgumentError, RegardError

Class = TypeVar("Class", bound=type)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Keywords of other libraries (torch, FlashAttention, JAX, Triton) for the same thing.
KEYWORDS_ELSEWHERE = {
    "attention_mask": "mask",
    "attn_bias": "mask",
    "attn_mask": "mask",
    "bias": "mask",
    "cu_seqlens": "lengths",
    "is_causal": "causal",
    "k": "key",
    "key_lengths": "lengths",
    "key_padding_mask": "mask",
    "kv_lengths": "lengths",
    "logit_cap": "softcap",
    "logits_soft_cap": "softcap",
    "q": "query",
    "seq_lens": "lengths",
    "sliding_window": "window",
    "sm_scale": "scale",
    "soft_cap": "softcap",
    "softmax_scale": "scale",
    "top_k": "top",
    "topk": "top",
    "v": "value",
    "window_size": "window",
}
ERRORS = (TypeError, AttributeError, ValueError, LookupError, OverflowError, AssertionError,
          RuntimeError, OSError)  # fmt: skip
NUMBERS = {int: (int, np.integer), float: (int, float, np.integer, np.floating)}
NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "True or False",
         Path: "a path", slice: "a slice", type(None): "None", None: "None"}  # fmt: skip


def named_arguments(cls: Class) -> Class:
    """Class decorator: public methods name the keyword, or the argument, that made them fail."""
    for name in dir(cls):
        method = inspect.getattr_static(cls, name)
        public = not name.startswith("_") or name == "__getitem__"
        function = getattr(method, "__func__", method)  # of a class method
        ours = inspect.isfunction(function) and function.__module__.startswith("regard.")
        if public and ours and not hasattr(function, "__names_arguments__"):
            named = _named(function, {cls.__name__: cls})
            setattr(cls, name, named if function is method else type(method)(named))
    return cls


def suggest_keywords(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorator: an unknown keyword raises a TypeError that names the function and the right word.

    An argument of a wrong type is named too.
    The signature that ``help`` and completion show has names and defaults without annotations, so
    that it fits a few lines; type checkers read the annotations from the source.

    Examples
    --------
    >>> @suggest_keywords
    ... def observe(query, *, causal: bool = False) -> None: ...
    >>> inspect.signature(observe)
    <Signature (query, *, causal=False)>
    >>> observe(0, is_causal=True)
    Traceback (most recent call last):
    TypeError: observe() got an unexpected keyword 'is_causal'; did you mean 'causal'?
    """
    signature = inspect.signature(function)
    plain = [x.replace(annotation=x.empty) for x in signature.parameters.values()]
    call = _named(function)
    call.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    return call


def _named(
    function: Callable[Arguments, Result], names: Mapping[str, Any] | None = None
) -> Callable[Arguments, Result]:
    """``names`` are those that annotations use and the function's module does not import."""

    @wraps(function)
    def call(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Result:
        __tracebackhide__ = True  # pytest and IPython show the user's line and ours, not this one
        try:
            return function(*arguments, **keywords)
        except RegardError:
            raise
        except ERRORS:
            problem = _problem(function, arguments, keywords, names)
            if problem is None:
                raise
        raise problem

    call.__names_arguments__ = True  # type: ignore[attr-defined]
    return call


def unexpected_keyword(function: str, name: str, names: Iterable[str]) -> str:
    """The message about a keyword that a function does not take, with the nearest that it takes.

    >>> unexpected_keyword("observe", "window_size", ["causal", "window"])
    "observe() got an unexpected keyword 'window_size'; did you mean 'window'?"
    >>> unexpected_keyword("observe", "colour", ["causal", "window"])
    "observe() got an unexpected keyword 'colour': it takes causal, window."
    """
    from difflib import get_close_matches  # only where a call has failed

    known = [x for x in names if x not in ("self", "seen")]
    near = [x for x in [KEYWORDS_ELSEWHERE.get(name)] if x in known]
    near = near or get_close_matches(name, known, 1)
    advice = f"; did you mean {near[0]!r}?" if near else f": it takes {', '.join(known)}."
    return f"{function}() got an unexpected keyword {name!r}{advice}"


def _problem(
    method: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    names: Mapping[str, Any] | None,
) -> Exception | None:
    """The error about a keyword that there is not, or an argument unlike its annotation."""
    function = inspect.unwrap(method)
    signature = inspect.signature(function)
    takes_any = any(x.kind is x.VAR_KEYWORD for x in signature.parameters.values())
    unknown = [x for x in keywords if x not in signature.parameters and not takes_any]
    if unknown:
        known = signature.parameters
        return TypeError(unexpected_keyword(function.__name__, unknown[0], known))
    try:
        given = signature.bind(*arguments, **keywords)
    except TypeError:
        return None
    for name, value in given.arguments.items():
        parameter = given.signature.parameters[name]
        kind = _evaluated(parameter.annotation, function, names)
        several = parameter.kind is parameter.VAR_POSITIONAL
        for one in value if several else (value,):
            if not fits(one, kind):
                return ArgumentError(f"{name} must be {_described(kind)}, got {one!r:.200}.")
            takes_path = Path in (kind, *get_args(kind)) and isinstance(one, str | Path)
            if takes_path and not _is_name(one):
                said = f"{name} must be a name that a file can have, got {str(one)!r:.200}."
                return ArgumentError(said)
    return None


def _evaluated(
    annotation: Any, function: Callable[..., Any], names: Mapping[str, Any] | None
) -> Any:
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    try:
        return eval(annotation, vars(sys.modules[function.__module__]), names)  # noqa: S307 (ours)
    except NameError:  # imported for type checkers alone
        return Any


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of the kind that an annotation names."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return any(value is one or (isinstance(value, str) and value == one) for one in inner)
    if origin is tuple and inner[-1:] != (...,):
        pair = isinstance(value, tuple | list) and len(value) == len(inner)
        return pair and all(map(fits, value, inner))
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(fits(x, inner[-1]) for x in value.values())
    if origin is not None and issubclass(origin, Iterable):
        several = isinstance(value, tuple if origin is tuple else Iterable)
        one = isinstance(value, str | bytes | Mapping) or getattr(value, "shape", 1) == ()
        if one or not several:
            return False
        return not isinstance(value, Collection) or all(fits(x, inner[0]) for x in value)
    kind = type(None) if kind is None else origin or kind
    if kind is Any or not isinstance(kind, type) or is_typeddict(kind):
        return True
    if kind in NUMBERS and isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < 2**63
    return isinstance(value, NUMBERS.get(kind, kind))


def _is_name(path: str | Path) -> bool:
    """Whether a file could have this name: not too long, and without a null character."""
    try:
        os.stat(path)
    except ValueError:
        return False
    except OSError as error:
        return error.errno != errno.ENAMETOOLONG
    return True


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
