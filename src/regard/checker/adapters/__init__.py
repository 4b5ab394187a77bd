"""Adapters: what the checker needs of each array library, and of the layers written in it.

A library has arrays to be made and calls to be traced; its layers become plain functions of arrays
by ``as_layer``. Everything else in the checker sees NumPy arrays alone. No library is imported
unless the code under test has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from regard.checker.graph import Trace
from regard.checker.signatures import operator_schema
from regard.engine.tensors import to_float64, to_library
from regard.errors import ArgumentError
from regard.typing import Array

LIBRARY_NAMES = {"numpy": "NumPy", "torch": "PyTorch", "jax": "JAX", "tinygrad": "tinygrad"}
# Where the layers of a framework are, by the package that must have been imported for them.
FRAMEWORKS = {"keras": "keras", "torch": "torch", "flax": "jax", "equinox": "jax",
              "tinygrad": "tinygrad"}  # fmt: skip
DEVICE: ContextVar[str] = ContextVar("device", default="cpu")  # of PyTorch's tensors
METHOD_NAMES = ("forward", "__call__", "call", "attend", "attention", "self_attention", "compute")
MAX_WIDTHS = 4


@dataclass(frozen=True, eq=False)
class Layer:
    """An object that attends, as a plain function of the arrays of one library.

    ``function``: with parameters that tell something. ``exact``: the same for traces, in float64
    where that can be had. ``called``: what has the signature of a call. ``parameters``: its own
    arrays, () where it has none.
    """

    function: Callable[..., Any]
    exact: Callable[..., Any]
    called: Callable[..., Any]
    library: str
    dtype: str
    parameters: tuple[Any, ...] = ()
    traced_in: str = "float64"

    @property
    def widths(self) -> list[int]:
        """Widths that its input may have: sizes of its parameters, the most frequent first."""
        shapes = [tuple(map(int, p.shape)) for p in self.parameters]
        return most_frequent([n for shape in shapes if len(shape) > 1 for n in shape[::-1]])


def most_frequent(sizes: list[int]) -> list[int]:
    """The sizes above 1 that come up most."""
    sizes = [n for n in sizes if n > 1]
    return sorted(set(sizes), key=lambda n: -sizes.count(n))[:MAX_WIDTHS]


def _adapter(library: str) -> Any:
    return import_module(f"regard.checker.adapters.{library}")


def as_layer(instance: Any) -> Layer | None:
    """The layer that an object is; None for a function."""
    for package, library in FRAMEWORKS.items():
        if package in sys.modules:
            layer: Layer | None = _adapter(f"{library}").as_layer(instance)
            if layer is not None:
                return layer
    return plain_layer(instance)


def is_module(instance: Any) -> bool:
    """Whether this is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn.modules") for kind in type(instance).__mro__)


def plain_layer(instance: Any) -> Layer | None:
    """An object of no framework with a method that attends; None for functions and the like."""
    if not hasattr(instance, "__dict__") or hasattr(instance, "__code__"):
        return None
    if hasattr(instance, "__wrapped__") or (callable(instance) and not vars(instance)):
        return None
    if isinstance(instance, type | partial) or operator_schema(instance) is not None:
        return None
    method = attention_method(instance)
    arrays = tuple(x for x in arrays_of(instance, 2) if isinstance(x, np.ndarray))
    return Layer(method, method, method, "numpy", "float64", arrays)


def attention_method(instance: Any) -> Callable[..., Any]:
    """The method of an object that attends: forward, a call, or its first public one."""
    kind = type(instance)
    own = {name: x for base in kind.__mro__[-2::-1] for name, x in vars(base).items()}
    public = [name for name, x in vars(kind).items() if callable(x) and name[0] != "_"]
    names = [name for name in METHOD_NAMES if callable(own.get(name))] or public
    if not names:
        raise ArgumentError(
            f"{kind.__name__} has no method to call: name it forward or __call__, or check "
            "file.py:a_function."
        )
    method: Callable[..., Any] = getattr(instance, names[0])
    return method


def arrays_of(value: Any, depth: int) -> Iterator[Any]:
    """The arrays of two axes or more that an object holds, in its attributes and lists."""
    if isinstance(getattr(value, "shape", None), tuple) and hasattr(value, "dtype"):
        if len(value.shape) > 1:
            yield value
    elif depth >= 0 and not isinstance(value, ModuleType | FunctionType | type):
        parts = value.values() if isinstance(value, dict) else value
        if not isinstance(value, dict | list | tuple):
            parts = list(getattr(value, "__dict__", {}).values())
        for part in parts:
            yield from arrays_of(part, depth - 1)


def made_values(name: str) -> tuple[Any, ...]:
    """What a constructor's parameter of this name is given by its framework: keys of chance."""
    values = []
    for package in ("flax", "equinox"):
        if package in sys.modules:
            values += _adapter("jax").made_values(package, name)
    return tuple(values)


def trace(library: str, function: Callable[..., Any], arrays: Any) -> Trace:
    """The trace of a call with arrays of a library."""
    made: Trace = _adapter(library).trace(function, arrays)
    return made


def native(array: Array, library: str, dtype: str) -> Any:
    """A fresh copy as an array of a library, on the device of the check; floats get ``dtype``."""
    if library == "tinygrad":
        return _adapter("tinygrad").native(array, dtype)
    made = to_library(array, library, dtype)
    return made.to(DEVICE.get()) if library == "torch" else made


@contextmanager
def on_device(device: str) -> Iterator[None]:
    """A context in which PyTorch's tensors and modules are put on a device."""
    if device != "cpu":
        import torch

        try:
            torch.zeros(1, device=device)
        except (RuntimeError, AssertionError) as error:
            why = str(error).strip().splitlines()[0]
            raise ArgumentError(
                f"device must be one that PyTorch has here, got {device!r}: {why}"
            ) from None
    token = DEVICE.set(device)
    try:
        yield
    finally:
        DEVICE.reset(token)


def as_float64(array: Any) -> Array:
    """A float64 copy of an array of any library."""
    if type(array).__module__.startswith(("tinygrad", "tensorflow")):
        array = array.numpy()
    return to_float64(array)
