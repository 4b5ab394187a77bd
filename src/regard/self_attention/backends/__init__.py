"""Who can compute attention: each backend says why it cannot serve, or says nothing."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Backend:
    """A way to compute attention and observations; no reasons against it means it can serve."""

    name: str
    about: str
    reasons_against: Callable[[], list[str]]


def _against_numpy() -> list[str]:
    """NumPy 2.0 brought vecdot, which the engine calls."""
    if hasattr(np, "vecdot"):
        return []
    return [f"it needs numpy 2.0 or later, but numpy is {np.__version__}: pip install -U numpy"]


BACKENDS = (Backend("numpy", "tiles on all cores, memory that grows with n", _against_numpy),)


def usable_backends() -> tuple[Backend, ...]:
    """The backends that can serve here.

    >>> [backend.name for backend in usable_backends()]
    ['numpy']
    """
    return tuple(backend for backend in BACKENDS if not backend.reasons_against())
