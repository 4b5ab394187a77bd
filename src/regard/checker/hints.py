"""Hints in names, docstrings, comments and buffers about the conventions of a function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

CAUSAL = r"(?<!non-)(?<!not )(?<!non)(?<!non_)(causal|autoregressive)"
HIDES = (
    r"(true|ones?|1)s?\b[^.,;\n0]{0,30}?\b(hid|mask(ed)?\b(?! *=)|padd?ing|padded|ignor|block|"
    r"exclud|not allowed|disallow|may not|cannot|forbid|not attend)|"
    r"fill[^.\n]{0,60}where mask is (true|one)"
)
SHOWS = (
    r"(true|1)\b[^.\n]{0,30}?\b(may|can|visible|keep|kept|attend|allowed|real|valid|seen|look|"
    r"token)"
)
ROTARY = r"rope|rotary|rotate|freqs|\.cos\("
HEADS = r"head|, ?h, ?|\bbhqk|\bbhtd|b ?h ?[a-z] ?d"


def text_of(function: Callable[..., Any]) -> str:
    """The source of a function or of the class of an object, '' where there is none."""
    target = inspect.unwrap(getattr(function, "func", function))
    if not (inspect.isfunction(target) or inspect.isclass(target) or inspect.ismethod(target)):
        target = type(target)
    if inspect.isclass(target) and target.__module__.startswith(("torch.", "builtins")):
        return ""
    try:
        return inspect.getsource(target)
    except (OSError, TypeError):
        return inspect.getdoc(target) or ""


def prose_of(function: Callable[..., Any]) -> str:
    """The docstring and the comments of a function, in lower case."""
    source = text_of(function)
    quoted = re.findall(r'"""(.*?)"""', source, re.DOTALL)
    comments = re.findall(r"#(.*)", source)
    return " . ".join([*quoted, *comments]).lower()


def is_called_causal(function: Callable[..., Any]) -> bool:
    """Whether its name, its class, its docstring or a triangular buffer says that it is causal."""
    target = getattr(function, "func", function)
    names = [getattr(target, "__qualname__", ""), type(target).__name__]
    doc = (inspect.getdoc(target) or "").split("\n\n")[0]
    named = re.search(CAUSAL, " ".join([*names, doc]).lower())
    return bool(named) or any(_is_triangular(buffer) for buffer in _buffers(target))


def mask_hides(function: Callable[..., Any]) -> bool:
    """Whether the docstring or a comment says that True, or 1, in a mask hides."""
    prose = prose_of(function)
    return bool(re.search(HIDES, prose)) and not re.search(SHOWS, prose)


def mentions_rotary(function: Callable[..., Any]) -> bool:
    """Whether its source speaks of rotary positions."""
    return bool(re.search(ROTARY, text_of(function).lower()))


def mentions_heads(function: Callable[..., Any]) -> bool:
    """Whether its source speaks of heads."""
    return bool(re.search(HEADS, text_of(function).lower()))


def _buffers(target: Any) -> list[Any]:
    buffers = getattr(target, "named_buffers", None)
    return [buffer for _, buffer in buffers()] if callable(buffers) else []


def _is_triangular(buffer: Any) -> bool:
    """Whether a buffer (..., t, t) has one number above its diagonal and another below."""
    if buffer.ndim < 2 or buffer.shape[-1] != buffer.shape[-2] or buffer.shape[-1] < 2:
        return False
    matrix = buffer.reshape(-1, *buffer.shape[-2:])[0]
    above, below = matrix.triu(1), matrix.tril(-1)
    return bool((above == 0).all()) != bool((below == 0).all())
