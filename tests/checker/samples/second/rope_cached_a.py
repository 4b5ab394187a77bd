import torch


def rope(x, start, theta=10000.0):
    """Rotate (b, h, t, d); the first of the t tokens sits at position start."""
    t, d = x.shape[-2:]
    inv = theta ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    pos = torch.arange(start, start + t, dtype=x.dtype)
    ang = torch.outer(pos, inv)
    cos, sin = ang.cos().repeat(1, 2), ang.sin().repeat(1, 2)
    x1, x2 = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-x2, x1), dim=-1) * sin


def decode_step(q, k, v, cache_k, cache_v):
    """One or more new tokens after those in the cache, whose keys are rotated already."""
    past = cache_k.shape[2]
    q = rope(q, past)
    k = rope(k, past)
    k = torch.cat([cache_k, k], dim=2)
    v = torch.cat([cache_v, v], dim=2)
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    t, s = scores.shape[-2:]
    scores = scores.masked_fill(torch.ones(t, s, dtype=torch.bool).triu(s - t + 1), float("-inf"))
    return scores.softmax(-1) @ v, (k, v)
