import math

import torch


def attention(query, key, value, mask=None):
    """Compute 'Scaled Dot Product Attention'. mask: 0 where a key must not be seen."""
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn
