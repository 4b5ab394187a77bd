"""One attention of a program, as its operators show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class AttentionEvent:
    """One attention of a program: query and key of a fused kernel, or the weights themselves.

    query (b, h, q, d), key (b, h_kv, k, d), mask as torch takes it, logsumexp (b, h, q) or None;
    weights (..., q, k), whose rows sum to less than 1 where a softmax has sinks.
    """

    query: torch.Tensor | None = field(default=None, repr=False)
    key: torch.Tensor | None = field(default=None, repr=False)
    mask: torch.Tensor | None = field(default=None, repr=False)
    logsumexp: torch.Tensor | None = field(default=None, repr=False)
    weights: torch.Tensor | None = field(default=None, repr=False)
    causal: bool = False
    scale: float | None = None
    softcap: float | None = None


def usable_logsumexp(logsumexp: Any, query: torch.Tensor) -> torch.Tensor | None:
    """The log-sum-exp as (b, h, q); None where a kernel returned none."""
    shape = tuple(query.shape[:3])
    if logsumexp is None or logsumexp.numel() == 0:
        return None
    logsumexp = logsumexp.detach()
    if logsumexp.ndim == 4:  # cuDNN has one more axis
        logsumexp = logsumexp[..., 0]
    cut: torch.Tensor = logsumexp[..., : shape[2]]  # some kernels round the number of queries up
    return cut if tuple(cut.shape) == shape else None
