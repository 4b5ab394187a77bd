"""Heads taken away by hooks on the output projections of small models."""

import contextlib
from collections.abc import Iterator
from typing import Any

from tests.helpers.model_families import HEADS, Family

PROJECTIONS = {"llama": ".o_proj", "gpt2": ".attn.c_proj", "bert": ".attention.output.dense"}
WIDTH = 16 // HEADS


@contextlib.contextmanager
def without_head(family: Family, layer: int, head: int) -> Iterator[None]:
    """The head's slice of the input of its projection set to zero, by a hook."""
    modules = [
        module
        for name, module in family.made().named_modules()
        if name.endswith(PROJECTIONS[family.name])
    ]

    def zero(module: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        changed = arguments[0].clone()
        changed[..., head * WIDTH : (head + 1) * WIDTH] = 0
        return (changed, *arguments[1:])

    hook = modules[layer].register_forward_pre_hook(zero)
    try:
        yield
    finally:
        hook.remove()
