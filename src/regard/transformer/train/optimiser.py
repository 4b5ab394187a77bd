"""Optimisers of a training: AdamW, or Muon for the matrices with AdamW for the rest.

Muon (Jordan et al. 2024) replaces a matrix's momentum by the nearest orthogonal matrix, found by a
Newton-Schulz iteration, and scaled so that it takes AdamW's learning rates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeAlias

import torch
from torch import Tensor

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # of the fastest quintic from small values to about 1
_ITERATIONS = 5
# Root mean square of an update, in learning rates. With 0.2, the usual size of AdamW's updates, a
# toy language was learnt more slowly than by AdamW, with 0.6 and 1 faster.
_SIZE = 1.0
_DECAY = 0.01


def adamw(parameters: Iterable[Tensor], device: torch.device) -> torch.optim.AdamW:
    """AdamW, fused on a GPU."""
    on_gpu = device.type == "cuda"
    # A CUDA graph reads the learning rate from the device.
    rate = torch.tensor(1e-3, device=device) if on_gpu else 1e-3
    return torch.optim.AdamW(
        list(parameters), lr=rate, betas=(0.9, 0.98), eps=1e-9, weight_decay=_DECAY,
        fused=on_gpu, capturable=on_gpu,
    )  # fmt: skip


def orthogonal(matrices_nab: Tensor) -> Tensor:
    """Matrices with the same singular vectors and singular values near 1 (0.7 to 1.2)."""
    a, b, c = _COEFFICIENTS
    x = matrices_nab.bfloat16() if matrices_nab.is_cuda else matrices_nab
    wide = x.shape[-2] <= x.shape[-1]
    x = x if wide else x.transpose(-1, -2)
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(_ITERATIONS):
        square = x @ x.transpose(-1, -2)
        x = a * x + (b * square + c * square @ square) @ x
    return (x if wide else x.transpose(-1, -2)).to(matrices_nab.dtype)


class Muon(torch.optim.Optimizer):  # type: ignore[misc]
    """Steps along orthogonalised momentum, all matrices of one shape at once."""

    def __init__(self, matrices: Iterable[Tensor], momentum: float = 0.95) -> None:
        given = list(matrices)
        device = given[0].device
        rate = torch.tensor(1e-3, device=device) if device.type == "cuda" else 1e-3
        super().__init__(given, {"lr": rate, "momentum": momentum})

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: Any = None) -> None:
        """Update every matrix that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape[matrix.shape].append(matrix)
            for matrices in by_shape.values():
                self._update(matrices, group["lr"], group["momentum"])

    def _update(self, matrices: list[Tensor], rate: Any, momentum: float) -> None:
        gradients = [matrix.grad for matrix in matrices if matrix.grad is not None]
        for matrix in matrices:
            if "momentum" not in self.state[matrix]:
                self.state[matrix]["momentum"] = torch.zeros_like(matrix)
        averages = [self.state[matrix]["momentum"] for matrix in matrices]
        torch._foreach_lerp_(averages, gradients, 1 - momentum)
        directions = torch._foreach_lerp(gradients, averages, momentum)
        update_nab = orthogonal(torch.stack(list(directions)))
        size = _SIZE * max(update_nab.shape[-2:]) ** 0.5
        torch._foreach_mul_(matrices, 1 - rate * _DECAY)
        torch._foreach_add_(matrices, list((update_nab * (-size * rate)).unbind()))


class MuonAdamW:
    """Muon for the matrices of the layers, AdamW for the embedding and the vectors."""

    def __init__(self, parameters: dict[str, Tensor]) -> None:
        matrices = [p for name, p in parameters.items() if p.ndim == 2 and name != "embedding"]
        chosen = {id(matrix) for matrix in matrices}
        rest = [p for p in parameters.values() if id(p) not in chosen]
        self.parts = Muon(matrices), adamw(rest, rest[0].device)
        self.param_groups = [group for part in self.parts for group in part.param_groups]
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        for part in self.parts:
            part.state = self.state

    def step(self) -> None:
        """One step of both."""
        for part in self.parts:
            part.step()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        for part in self.parts:
            part.zero_grad(set_to_none)


Optimiser: TypeAlias = torch.optim.AdamW | MuonAdamW


def optimiser_for(parameters: dict[str, Tensor], name: str) -> Optimiser:
    """The optimiser of this name, one of `recipe.OPTIMISERS`."""
    if name == "muon":
        return MuonAdamW(parameters)
    return adamw(parameters.values(), next(iter(parameters.values())).device)
