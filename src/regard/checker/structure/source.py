"""What the source alone shows: results that are computed and never used."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

# Calls whose result tells a size, a dtype or a place, and is often left unused.
HARMLESS = frozenset(("size", "dim", "len", "type", "get_device", "numel", "isinstance", "getattr",
                      "int", "float", "shape", "print", "warn"))  # fmt: skip


def unused_results(target: Any) -> list[str]:
    """Names that a layer or a function gives the result of a call, and never reads."""
    return [name for code in _functions(target) for name in _unused(code)]


def _functions(target: Any) -> Iterator[Any]:
    """The functions of Python that a target consists of: its own, not those of a library."""
    if hasattr(target, "__func__"):
        target = target.__self__
    if hasattr(target, "__code__"):
        yield target
        return
    kind = target if isinstance(target, type) else type(target)
    if kind.__module__.partition(".")[0] in ("torch", "keras", "flax", "equinox", "tinygrad"):
        return
    for name, value in vars(kind).items():
        if hasattr(value, "__code__") and name not in ("__init__", "setup", "extra_repr"):
            yield value


def _unused(function: Any) -> list[str]:
    try:
        body = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError, IndentationError):
        return []
    nodes = list(ast.walk(body))
    if any(isinstance(x, ast.Call) and _name(x) in ("locals", "eval", "exec") for x in nodes):
        return []
    names = [x for x in nodes if isinstance(x, ast.Name)]
    read = {x.id for x in names if not isinstance(x.ctx, ast.Store)}
    read |= {name for x in nodes if isinstance(x, ast.Global | ast.Nonlocal) for name in x.names}
    read |= {getattr(x.target, "id", "") for x in nodes if isinstance(x, ast.AugAssign)}
    assigned = [x for x in nodes if isinstance(x, ast.Assign) and len(x.targets) == 1]
    return [
        x.targets[0].id
        for x in assigned
        if isinstance(x.targets[0], ast.Name)
        and x.targets[0].id not in read
        and not x.targets[0].id.startswith("_")
        and isinstance(x.value, ast.Call)
        and _name(x.value) not in HARMLESS
    ]


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
