"""Modules of a model in the order of ``named_modules``, without its nested generators.

torch passes every module through one generator for each level above it, and entering a block walks
over a model several times.
"""

from __future__ import annotations

from typing import Any


def named_modules_of(model: Any) -> list[tuple[str, Any]]:
    """Every module inside a model once, the model first, with its path.

    >>> from types import SimpleNamespace as Module
    >>> leaf = Module(_modules={})
    >>> model = Module(_modules={"a": Module(_modules={"b": leaf}), "c": leaf, "d": None})
    >>> [name for name, module in named_modules_of(model)]
    ['', 'a', 'a.b']
    """
    named: dict[int, tuple[str, Any]] = {}
    stack: list[tuple[str, Any]] = [("", model)]
    while stack:
        name, module = stack.pop()
        if module is None or id(module) in named:
            continue
        named[id(module)] = name, module
        prefix = f"{name}." if name else ""
        children = module._modules
        if children:
            stack += [(prefix + child, x) for child, x in reversed(children.items())]
    return list(named.values())


def modules_of(model: Any) -> list[Any]:
    """Every module inside a model once, the model first."""
    inside: dict[int, Any] = {}
    stack = [model]
    while stack:
        module = stack.pop()
        if module is None or id(module) in inside:
            continue
        inside[id(module)] = module
        children = module._modules
        if children:
            stack += reversed(children.values())
    return list(inside.values())


def config_of(module: Any) -> Any:
    """The config of a module; None where it has none.

    Found without ``getattr``, whose failure torch spends microseconds on.
    """
    config = vars(module).get("config")
    return getattr(module, "config", None) if config is None and _has_config(module) else config


def _has_config(module: Any) -> bool:
    return hasattr(type(module), "config")
