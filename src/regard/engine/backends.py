"""Backends of attention, and the reasons why one cannot serve on this machine."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

NVIDIA = Path("/dev/nvidiactl")  # made by the driver: tells of a GPU without importing torch
OLDEST_TRITON = (3, 3)  # the first whose kernels take named tuples


@dataclass(frozen=True)
class Backend:
    """An implementation of attention and observe; it can serve if no reason is against it."""

    name: str
    about: str
    reasons_against: Callable[[], list[str]]


def _against_numpy() -> list[str]:
    if hasattr(np, "vecdot"):  # new in NumPy 2.0, and called by the engine
        return []
    return [f"it needs numpy 2.0 or later, but numpy is {np.__version__}: pip install -U numpy"]


def _against_torch() -> list[str]:
    if importlib.util.find_spec("torch") is not None:
        return []
    return ["torch is not installed: pip install '.[models]'"]


def reasons_against_triton() -> list[str]:
    """Reasons against the installed triton, if any."""
    if importlib.util.find_spec("triton") is None:
        return ["triton is not installed: pip install triton"]
    installed = version("triton")
    if tuple(int(part) for part in installed.split(".")[:2]) < OLDEST_TRITON:
        return [f"it needs triton 3.3 or later, but triton is {installed}: pip install -U triton"]
    return []


def _against_triton() -> list[str]:
    reasons = _against_torch() + reasons_against_triton()
    torch = sys.modules.get("torch")
    if not (torch.cuda.is_available() if torch is not None else NVIDIA.exists()):
        reasons.append("there is no NVIDIA GPU here")
    return reasons


BACKENDS = (
    Backend("numpy", "tiles on all cores, memory that grows with n", _against_numpy),
    Backend("torch", "tensors on any device, in chunks of full rows", _against_torch),
    Backend("triton", "tensors on an NVIDIA GPU, by kernels", _against_triton),
)


def usable_backends() -> tuple[Backend, ...]:
    """The backends that can serve on this machine.

    >>> usable_backends()[0].name
    'numpy'
    """
    return tuple(backend for backend in BACKENDS if not backend.reasons_against())
