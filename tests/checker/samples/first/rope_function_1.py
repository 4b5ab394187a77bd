import torch


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def rope(x, theta=10000.0):
    n, d = x.shape[-2], x.shape[-1]
    freqs = theta ** (-torch.arange(0, d, 2, dtype=x.dtype, device=x.device) / d)
    t = torch.arange(n, dtype=x.dtype, device=x.device)
    angles = torch.cat([torch.outer(t, freqs)] * 2, dim=-1)
    return x * angles.cos() + rotate_half(x) * angles.sin()


def rope_attention(q, k, v):
    """q, k, v: (batch, heads, tokens, d). Rotates queries and keys, then attends."""
    q, k = rope(q), rope(k)
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    return torch.matmul(scores.softmax(dim=-1), v)
