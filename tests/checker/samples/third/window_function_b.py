from typing import Optional

import torch


def sliding_window_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    window_size: int,
    softmax_scale: Optional[float] = None,
    softcap: Optional[float] = None,
) -> torch.Tensor:
    """Causal attention over a sliding window, all tensors ``[batch, heads, tokens, head_dim]``.

    A token sees exactly ``window_size`` tokens, itself and the ``window_size - 1`` before it
    (fewer at the start). ``window_size=1`` returns the values. ``softcap`` bounds the scaled
    scores smoothly, ``softcap * tanh(score / softcap)``, before the mask.
    """
    assert window_size >= 1
    tokens = query.shape[-2]
    if softmax_scale is None:
        softmax_scale = query.shape[-1] ** -0.5
    idx = torch.arange(tokens, device=query.device)
    age = idx[:, None] - idx[None, :]
    visible = (age >= 0) & (age < window_size)
    bias = torch.zeros(tokens, tokens, dtype=query.dtype, device=query.device)
    bias.masked_fill_(visible.logical_not(), float("-inf"))
    logits = torch.einsum("bhqd,bhkd->bhqk", query, key).mul(softmax_scale)
    if softcap is not None:
        logits = softcap * torch.tanh(logits / softcap)
    probs = torch.softmax(logits + bias, dim=-1)
    return torch.einsum("bhqk,bhkd->bhqd", probs, value)
