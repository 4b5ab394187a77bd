import torch


def softmax_one(x, dim=-1):
    """Softmax with an extra 1 in the denominator, so that a head may stay silent."""
    m = x.amax(dim, keepdim=True).clamp(min=0)
    e = torch.exp(x - m)
    return e / (torch.exp(-m) + e.sum(dim, keepdim=True))


def quiet_attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) * q.size(-1) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return softmax_one(scores) @ v
