"""Peers of observe on a GPU: SDPA's kernels, eager attention, FlexAttention twice."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = {"SDPA cuDNN": SDPBackend.CUDNN_ATTENTION, "SDPA flash": SDPBackend.FLASH_ATTENTION}


def sdpa_forwards(query: Any, key: Any, value: Any) -> dict[str, Callable[[], Any]]:
    """torch's fused attention with each of its fast kernels: output only."""

    def by(backend: SDPBackend) -> Callable[[], Any]:
        def run() -> Any:
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(
                    query, key, value, is_causal=True
                )

        return run

    return {name: by(backend) for name, backend in BACKENDS.items()}


def eager(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
    """Attention as models compute it when weights are requested: output and all weights."""
    queries, keys = query.shape[-2], key.shape[-2]
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    hidden = torch.ones(queries, keys, dtype=torch.bool, device=query.device).triu(1)
    scores = scores.masked_fill(hidden, -math.inf)
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    return weights @ value, weights


def flex_twice(query: Any, key: Any, value: Any) -> Callable[[], tuple[Any, Any]]:
    """FlexAttention forward with its log-sum-exp L, then with query and key swapped.

    The second call's log-sum-exp, over scores - L, is the log of what each key receives.
    """
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    n = query.shape[-2]
    before = create_block_mask(lambda b, h, q, k: q >= k, None, None, n, n, device=query.device)
    after = create_block_mask(lambda b, h, q, k: q <= k, None, None, n, n, device=query.device)
    forward = torch.compile(flex_attention, dynamic=False)
    backward = torch.compile(flex_attention, dynamic=False)

    def run() -> tuple[Any, Any]:
        output, total = forward(query, key, value, block_mask=before, return_lse=True)
        _, log_received = backward(
            key, query, value, score_mod=lambda s, b, h, q, k: s - total[b, h, k],
            block_mask=after, return_lse=True,
        )  # fmt: skip
        return output, log_received.exp()

    return run
