"""Encoder-decoder transformer that translates, with every attention weight of a sentence."""

from __future__ import annotations

from typing import Any

_HOMES = {
    "Config": "config",
    "Transformer": "model",
    "load_model": "checkpoint",
    "Search": "search",
    "beam_search": "search",
    "greedy_search": "search",
    "Translation": "translation",
    "translate": "translation",
    "Reading": "reading",
    "read": "reading",
    "read_all": "reading",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import each name when it is first used, so that training never waits for reading."""
    if name not in _HOMES:
        raise AttributeError(f"module 'regard.transformer' has no attribute {name!r}.")
    from importlib import import_module

    return getattr(import_module(f"regard.transformer.{_HOMES[name]}"), name)
