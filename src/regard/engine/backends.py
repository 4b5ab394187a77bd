"""Who can compute attention: each backend says why it cannot serve, or says nothing."""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

NVIDIA = Path("/dev/nvidiactl")  # its driver, without waking torch


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


def _against_torch() -> list[str]:
    if importlib.util.find_spec("torch") is not None:
        return []
    return ["torch is not installed: pip install 'regard[models]'"]


def _against_triton() -> list[str]:
    reasons = _against_torch()
    if importlib.util.find_spec("triton") is None:
        reasons.append("triton is not installed: pip install triton")
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
    """The backends that can serve here.

    >>> usable_backends()[0].name
    'numpy'
    """
    return tuple(backend for backend in BACKENDS if not backend.reasons_against())
