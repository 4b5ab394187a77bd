"""What is known of every head at every step, from the log-sum-exp that fused kernels return.

max <= logsumexp <= max + log(number of visible keys), row by row: a head whose largest log-sum-exp
is not above a threshold has no score above it. Only the others need their exact maximum.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from regard.engine.tensors import in_host_memory
from regard.typing import Array

if TYPE_CHECKING:
    import torch

    from regard.watcher.seam.call import AttentionCall

HIDING_BIAS = -1e4  # an added mask below it hides its key
LONGEST_SAMPLE = 64  # queries of a sentence of which scores by hand are summed up
# Number, sum and sum of squares over queries; then of their deviations from the mean of the queries
# at the same place in all sentences: degrees of freedom and sum of squares.
SPREAD_SUMS = ("number", "sum", "square", "freedom", "within")


class Spread(NamedTuple):
    """Of the log-sum-exp of a head: mean and standard deviation over queries, and over sentences.

    The last is 0 where all sentences are the same to the head.
    """

    mean: Array
    std: Array
    within: Array


def shown_by(mask: torch.Tensor) -> torch.Tensor:
    """True where a mask lets a key be seen."""
    import torch

    return mask if mask.dtype == torch.bool else mask > HIDING_BIAS


def wide_dtype(tensor: torch.Tensor) -> Any:
    """The dtype to compute in: float64 of float64, else float32."""
    import torch

    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


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
    bound_h = total.amax(dim=(0, 2)).float()
    assert call.query is not None
    # torch's kernel for a CPU returns a log-sum-exp and an output of 0 for a query with a nan.
    for vectors in (call.query if in_host_memory(call.query) else None, call.value):
        if vectors is not None and vectors.ndim == 4:
            bound_h = bound_h + _zero_or_nan(vectors, len(bound_h))
    return bound_h


def _zero_or_nan(vectors: torch.Tensor, heads: int) -> torch.Tensor:
    """0 for each head, nan where a vector (b, h, t, d) of it has nan or an infinity."""
    import torch

    sums_h = vectors.sum(dim=(0, 2, 3), dtype=torch.float32)
    return (sums_h - sums_h).repeat_interleave(heads // len(sums_h))


def spread_sums(call: AttentionCall, live: torch.Tensor | None = None) -> torch.Tensor | None:
    """SPREAD_SUMS (5, h) of the log-sum-exp of a call in float64; None where it is not known.

    ``live`` (b, h or 1, q) are the queries that see a key. Of scores by hand a sample of queries is
    summed up, evenly spread.
    """
    import torch

    total = call.logsumexp
    if call.scores is not None:
        rows = call.scores[..., :: max(1, call.scores.shape[-2] // LONGEST_SAMPLE), :]
        total = rows.to(wide_dtype(rows)).logsumexp(dim=-1)
        live = total > HIDING_BIAS
    if total is None or not total.numel():
        return None
    if live is None:
        number_hq = torch.full_like(total[0], len(total), dtype=torch.float64)
        mean_hq = total.mean(dim=0)
        off = total - mean_hq
    else:
        live = live.expand(total.shape)
        number_hq = live.sum(dim=0).double()
        mean_hq = (total.masked_fill(~live, 0).sum(dim=0) / number_hq.clamp(min=1)).to(total)
        off = (total - mean_hq).masked_fill(~live, 0)
    within_h = off.square().sum(dim=(0, 2)).double()
    sum_hq = number_hq * mean_hq
    freedom_h = (number_hq - 1).clamp(min=0).sum(dim=1)
    square_h = (sum_hq * mean_hq).sum(dim=1) + within_h
    return torch.stack([number_hq.sum(dim=1), sum_hq.sum(dim=1), square_h, freedom_h, within_h])


def spreads(sums: Array) -> Spread:
    """Spread of every head from its SPREAD_SUMS (5, h); nan where nothing was counted.

    >>> [x.tolist() for x in spreads(np.array([[2.0], [6.0], [20.0], [1.0], [4.0]]))]
    [[3.0], [1.0], [2.0]]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        number_h, sum_h, square_h, freedom_h, within_h = sums
        mean_h = sum_h / number_h
        std_h = np.sqrt(np.maximum(square_h / number_h - mean_h**2, 0))
        return Spread(mean_h, std_h, np.sqrt(within_h / freedom_h))
