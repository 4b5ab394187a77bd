import torch
import torch.nn as nn


def xpos(x, scale_base=512, downscale=False):
    """Length-extrapolatable rotary embedding of (..., t, d)."""
    t, d = x.shape[-2:]
    steps = torch.arange(t, dtype=x.dtype)
    freq = 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    zeta = (torch.arange(0, d, 2, dtype=x.dtype) + 0.4 * d) / (1.4 * d)
    scale = zeta ** ((steps / scale_base)[:, None])
    if downscale:
        scale = 1 / scale
    ang = torch.outer(steps, freq)
    cos, sin = ang.cos() * scale, ang.sin() * scale
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)


class XPosAttention(nn.Module):
    def __init__(self, dim, heads, scale_base=16):
        super().__init__()
        self.heads, self.base = heads, scale_base
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        q = xpos(q, self.base)
        k = xpos(k, self.base, downscale=True)
        scores = (q @ k.transpose(-1, -2)) * q.size(-1) ** -0.5
        scores += torch.full((t, t), float("-inf")).triu(1)
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
