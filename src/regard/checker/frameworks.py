"""Array libraries of a function under test: which to try, and the dtypes to try them in."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

DTYPES = ("float64", "float32", "float16", "bfloat16")
# The distance from 1 to the next number.
EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def library_order(function: Callable[..., Any]) -> list[str]:
    """The libraries to try: the one that the function's own file uses comes first."""
    target = getattr(function, "func", function)
    names = getattr(target, "__globals__", None)
    if names is None:
        module = sys.modules.get(type(target).__module__ if _is_module(target) else "")
        names = vars(module) if module else {}
    used = {
        getattr(value, "__name__", "").split(".")[0]
        for value in names.values()
        if type(value).__name__ == "module"
    }
    home = str(getattr(target, "__module__", "") or type(target).__module__).split(".")[0]
    first = [x for x in ("torch", "jax") if x in used or x == home or _is_of(target, x)]
    installed = [x for x in ("torch", "jax") if x in first or _is_loaded(x)]
    if _is_module(target):
        return ["torch"]
    order = [*first, "numpy", *installed] if first and "numpy" not in used else ["numpy", *first]
    return list(dict.fromkeys([*order, *installed]))


def _is_of(target: Any, library: str) -> bool:
    return library in str(getattr(target, "__self__", "")) or (
        library == "torch" and _is_module(target)
    )


def _is_module(target: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(target, torch.nn.Module)


def _is_loaded(library: str) -> bool:
    return library in sys.modules and importlib.util.find_spec(library) is not None
