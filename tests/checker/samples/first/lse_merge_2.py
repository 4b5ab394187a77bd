import torch


def partial_attention(q, k, v):
    s = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    lse = torch.logsumexp(s, dim=-1, keepdim=True)
    return torch.exp(s - lse) @ v, lse


def split_attention(q, k, v):
    """Attention over the keys in two halves, merged by their log-sum-exps."""
    half = k.shape[-2] // 2
    o1, lse1 = partial_attention(q, k[..., :half, :], v[..., :half, :])
    o2, lse2 = partial_attention(q, k[..., half:, :], v[..., half:, :])
    w1 = torch.sigmoid(lse1 - lse2)
    return w1 * o1 + (1 - w1) * o2
