"""Between torch and the engine: the one place where tensors become arrays and arrays tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

if TYPE_CHECKING:
    import torch


def as_array(tensor: torch.Tensor) -> Any:
    """What ``observe`` takes: on the CPU a view of the same memory where NumPy has the dtype.

    A tensor on a GPU goes to the engine as it is.
    """
    import torch

    tensor = tensor.detach()
    if not on_host(tensor):
        return tensor
    if tensor.dtype in (torch.bfloat16, torch.float16):
        tensor = tensor.float()
    return tensor.numpy()


def as_tensor(array: Any, like: torch.Tensor) -> torch.Tensor:
    """A tensor on the device and in the dtype of another, without a copy where nothing changes."""
    import torch

    tensor = torch.from_numpy(array) if isinstance(array, np.ndarray) else array
    return tensor.to(device=like.device, dtype=like.dtype)


def to_host(array: Any) -> Any:
    """A NumPy array, wherever the numbers are."""
    return array if isinstance(array, np.ndarray) else array.detach().float().cpu().numpy()


def on_host(tensor: torch.Tensor) -> bool:
    """Whether NumPy can reach a tensor's numbers; the others stay on their device."""
    return bool(tensor.device.type == "cpu")


def places(listed: Sequence[Any], like: torch.Tensor) -> torch.Tensor:
    """A list beside a tensor, to index with, for which nothing has to be waited."""
    from regard.engine.gpu.call import sent

    return cast("torch.Tensor", sent(np.array(listed), like.device))
