"""torch tensors beside NumPy arrays, in one file; torch is never imported unless it already is."""

import sys
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError


def is_tensor(thing: Any) -> "TypeGuard[Any]":
    """Whether this is a torch tensor; who holds one has imported torch already.

    >>> is_tensor(np.zeros(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.Tensor)


def on_device(**things: Any) -> bool:
    """Whether these lie on a device other than the CPU; then all of them must lie on the same."""
    devices = {x: thing.device if is_tensor(thing) else "cpu" for x, thing in things.items()}
    kinds = {str(device) for device in devices.values()}
    if all(kind == "cpu" for kind in kinds):
        return False
    if len(kinds) > 1 or "meta" in kinds:
        where = ", ".join(f"{name} on {device}" for name, device in devices.items())
        raise ArgumentError(
            f"{', '.join(things)} need to lie on one device, but here are {where}: move them with "
            ".to(device)."
        )
    return True


def as_array(thing: Any) -> NDArray[Any]:
    """An array of any kind as NumPy's: a CPU tensor's own memory where NumPy has its dtype.

    NumPy has no bfloat16; float32 holds each of its numbers exactly.
    """
    if not is_tensor(thing):
        return np.asarray(thing)
    plain = thing.detach()
    if str(plain.dtype) == "torch.bfloat16":
        plain = plain.float()
    array: NDArray[Any] = plain.cpu().resolve_neg().numpy()
    return array


def unless_tensor(thing: Any) -> Any:
    """What is no tensor as it is (a mask may be a function, lengths None); a tensor as an array."""
    return as_array(thing) if is_tensor(thing) else thing


def in_kind(array: NDArray[Any], like: Any) -> Any:
    """The array as a tensor with the dtype of ``like`` where that is a tensor, else as it is."""
    if not is_tensor(like):
        return array
    torch = sys.modules["torch"]
    return torch.from_numpy(array).to(like.dtype)


def summed(numbers: Any, axes: tuple[int, ...]) -> NDArray[np.float64]:
    """Sums in float64, of an array or of a tensor where it lies.

    >>> summed(np.ones((2, 3), np.float32), (1,))
    array([3., 3.])
    """
    if not is_tensor(numbers):
        return np.asarray(numbers.sum(axis=axes, dtype=np.float64))
    return as_array(numbers.sum(dim=axes, dtype=sys.modules["torch"].float64))


def beside(array: NDArray[Any], like: Any) -> Any:
    """The array as a tensor where ``like`` lies if that is a tensor, else as it is."""
    return sys.modules["torch"].tensor(array, device=like.device) if is_tensor(like) else array
