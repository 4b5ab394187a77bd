"""Array libraries: conversion between NumPy, torch and JAX, and the backends that can serve here.

No library is imported unless its arrays came in or were asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from regard.errors import ArgumentError
from regard.typing import Array, Float64Array

Tensor = Any  # torch.Tensor; mypy does not follow the import of torch


def is_tensor(array: Any) -> TypeGuard[Tensor]:
    """Whether this is a torch tensor; where one exists, torch is imported already.

    >>> is_tensor(np.zeros(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def on_device(**arrays: Any) -> bool:
    """Whether these are tensors of a device other than the CPU: then all must be on the same."""
    devices: dict[str, Any] = {
        name: a.device if is_tensor(a) else "cpu" for name, a in arrays.items()
    }
    first, *others = devices.values()
    if first != "cpu" and first.type == "cuda" and all(device == first for device in others):
        return True
    kinds = {str(device) for device in devices.values()}
    if all(kind == "cpu" for kind in kinds):
        return False
    if len(kinds) > 1 or "meta" in kinds:
        where = ", ".join(f"{name} on {device}" for name, device in devices.items())
        raise ArgumentError(
            f"{', '.join(arrays)} must be on one device, got {where}: move them with .to(device)."
        )
    return True


def in_host_memory(tensor: Tensor) -> bool:
    """Whether NumPy can share a tensor's memory."""
    return bool(tensor.device.type == "cpu")


def as_array(array: Any) -> Array:
    """Any array or tensor as a NumPy array: a CPU tensor's own memory where NumPy has its dtype.

    NumPy has no bfloat16; float32 represents each of its numbers exactly.
    """
    if not is_tensor(array):
        return np.asarray(array)
    plain = array.detach()
    if str(plain.dtype) == "torch.bfloat16":
        plain = plain.float()
    copied: Array = plain.cpu().resolve_neg().numpy()
    return copied


def as_wide_array(array: Any) -> Array:
    """As ``as_array``, with 16-bit floats as float32, in which the engine computes.

    >>> as_wide_array(np.zeros(3, np.float16)).dtype
    dtype('float32')
    """
    narrow = as_array(array)
    return narrow.astype(np.float32) if narrow.dtype == np.float16 else narrow


def engine_input(tensor: Tensor) -> Any:
    """A model's tensor as the engine takes it: on a GPU the tensor, on the CPU an array of it."""
    return as_wide_array(tensor) if in_host_memory(tensor) else tensor.detach()


def tensor_to_array(argument: Any) -> Any:
    """A tensor as an array; anything else as it is (a mask may be a function, lengths None)."""
    return as_array(argument) if is_tensor(argument) else argument


def cast_like(array: Any, like: Any) -> Any:
    """An array or tensor as a tensor of the device and dtype of ``like``, if that is a tensor."""
    if not is_tensor(like):
        return array
    tensor = array if is_tensor(array) else sys.modules["torch"].from_numpy(array)
    return tensor.to(device=like.device, dtype=like.dtype)


def move_like(array: Array, like: Any) -> Any:
    """An array as a tensor on the device of ``like``, its dtype unchanged, if that is a tensor."""
    return sys.modules["torch"].tensor(array, device=like.device) if is_tensor(like) else array


def send(array: Array, device: Any) -> Tensor:
    """An array copied to a device; the host does not wait for work queued there."""
    tensor = sys.modules["torch"].from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


def index_like(index: Sequence[Any], like: Tensor) -> Tensor:
    """A list of indices, or of booleans, on the device of a tensor that it will index."""
    return send(np.array(index), like.device)


def sum_float64(array: Any, axes: tuple[int, ...]) -> Float64Array:
    """Sums of an array or tensor in float64, computed on its own device.

    >>> sum_float64(np.ones((2, 3), np.float32), (1,))
    array([3., 3.])
    """
    if not is_tensor(array):
        return np.asarray(array.sum(axis=axes, dtype=np.float64))
    return as_array(array.sum(dim=axes, dtype=sys.modules["torch"].float64))


def to_library(array: Array, library: str, dtype: str) -> Any:
    """A fresh copy as an array of numpy, torch or jax.

    Floats get ``dtype``; booleans and integers keep theirs.
    """
    floats = array.dtype.kind == "f"
    if library == "numpy":
        if dtype == "bfloat16":
            raise ArgumentError(
                "dtype must be one that NumPy has, got bfloat16: give PyTorch or JAX arrays."
            )
        return array.astype(dtype) if floats else array.copy()
    if library == "torch":
        torch: Any = importlib.import_module("torch")
        tensor = torch.from_numpy(np.ascontiguousarray(array).copy())
        return tensor.to(getattr(torch, dtype)) if floats else tensor
    return importlib.import_module("jax.numpy").asarray(array, dtype if floats else None)


def to_float64(array: Any) -> Float64Array:
    """A float64 copy of an array of any library."""
    return np.array(as_array(array), np.float64)


def dtype_name(array: Any) -> str:
    """The name of a dtype without its library; numbers without one count as float64.

    >>> dtype_name(np.zeros(3, np.float16)), dtype_name(1.0)
    ('float16', 'float64')
    """
    return str(getattr(array, "dtype", "float64")).removeprefix("torch.")


NVIDIA_DEVICE = Path("/dev/nvidiactl")  # made by the driver: shows a GPU without importing torch
MIN_TRITON_VERSION = (3, 3)  # the first whose kernels take named tuples


@dataclass(frozen=True)
class Backend:
    """An implementation of attention and observe; it can serve if no reason is against it."""

    name: str
    about: str
    reasons_against: Callable[[], list[str]]


def _against_numpy() -> list[str]:
    if hasattr(np, "vecdot"):  # new in NumPy 2.0, and called by the engine
        return []
    return [f"numpy must be 2.0 or later, got {np.__version__}: pip install -U numpy"]


def _against_torch() -> list[str]:
    if importlib.util.find_spec("torch") is not None:
        return []
    return ["torch is not installed: pip install 'regard[models]'"]


def reasons_against_triton() -> list[str]:
    """Reasons against the installed triton, if any."""
    if importlib.util.find_spec("triton") is None:
        return ["triton is not installed: pip install triton"]
    from importlib.metadata import version  # 20 ms: it imports the modules of e-mail

    installed = version("triton")
    if tuple(int(part) for part in installed.split(".")[:2]) < MIN_TRITON_VERSION:
        return [f"triton must be 3.3 or later, got {installed}: pip install -U triton"]
    return []


def _against_triton() -> list[str]:
    reasons = _against_torch() + reasons_against_triton()
    torch = sys.modules.get("torch")
    if not (torch.cuda.is_available() if torch is not None else NVIDIA_DEVICE.exists()):
        reasons.append("there is no NVIDIA GPU here")
    return reasons


BACKENDS = (
    Backend("numpy", "tiles on all cores, memory that grows with n", _against_numpy),
    Backend("torch", "tensors on any device, in chunks of full rows", _against_torch),
    Backend("triton", "tensors on an NVIDIA GPU, by kernels", _against_triton),
)
