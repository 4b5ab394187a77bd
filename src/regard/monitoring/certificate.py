"""Bounds of every head's scores at every step, from the log-sum-exp that fused kernels return.

max <= logsumexp <= max + log(number of visible keys), row by row: a head whose largest log-sum-exp
is not above a threshold has no score above it. Only the others need their exact maximum.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from regard.engine.tensors import in_host_memory
from regard.monitoring.health import HIDING_BIAS, largest_logsumexp, largest_scores
from regard.watcher.seam.call import AttentionCall

if TYPE_CHECKING:
    import torch


def bound(call: AttentionCall, live: torch.Tensor | None = None) -> torch.Tensor | None:
    """The largest log-sum-exp of each head (h), float32; of scores (b, h, q, k) their maximum.

    ``live`` (b, h or 1, q) are the queries that see a key: kernels return anything for the others,
    flash attention +inf.
    """
    if call.scores is not None:
        highest_h: torch.Tensor = call.scores.amax(dim=(0, 2, 3)).float()
        return highest_h
    total = call.logsumexp
    if total is None:
        return None
    if live is not None:
        total = total.masked_fill(~live, -math.inf)
    bound_h = largest_logsumexp(total).float()
    assert call.query is not None
    # torch's kernel for a CPU returns a log-sum-exp and an output of 0 for a query with a nan.
    for vectors in (call.query if in_host_memory(call.query) else None, call.value):
        if vectors is not None and vectors.ndim == 4:
            bound_h = bound_h + _zero_or_nan(vectors, len(bound_h))
    return bound_h


def _zero_or_nan(vectors: torch.Tensor, heads: int) -> torch.Tensor:
    """0 for each head, nan where a vector (b, h, t, d) of it has nan or an infinity."""
    import torch

    sums_h = vectors.detach().sum(dim=(0, 2, 3), dtype=torch.float32)
    zero_h = sums_h - sums_h
    return zero_h if len(zero_h) == heads else zero_h.repeat_interleave(heads // len(zero_h))


def live_queries(mask: torch.Tensor) -> torch.Tensor:
    """Queries (b or 1, h or 1, q or 1) that a mask lets see a key."""
    import torch

    visible = mask if mask.dtype == torch.bool else mask > HIDING_BIAS
    return visible.any(dim=-1)


def join_exact(
    call: AttentionCall, bound_h: torch.Tensor, largest_h: torch.Tensor, threshold: float
) -> None:
    """Join the largest scores of heads whose bound is above the threshold to ``largest_h``.

    On a GPU the kernel itself looks at the bounds, so that the host does not wait.
    """
    import torch

    query, key = call.query, call.key
    assert query is not None
    assert key is not None
    scale = query.shape[-1] ** -0.5 if call.scale is None else call.scale
    if not in_host_memory(query) and call.softcap is None:
        from regard.engine.gpu.health import join_largest, reasons_against_health

        if not reasons_against_health(query, key):
            join_largest(
                query, key, bound_h, largest_h, threshold=threshold, scale=scale,
                causal=call.causal, mask=call.mask,
            )  # fmt: skip
            return
    heads = [h for h, top in enumerate(bound_h.tolist()) if not top <= threshold]
    if heads:
        at = torch.tensor(heads, device=largest_h.device)
        found = largest_scores(call, scale, heads).to(largest_h)
        largest_h[at] = torch.maximum(largest_h[at], found)


def lower_bound(logsumexp: float, keys: int) -> float:
    """The smallest that a head's largest score can be, given its largest log-sum-exp.

    >>> lower_bound(10.0, 1)
    10.0
    """
    return logsumexp - math.log(max(1, keys))
