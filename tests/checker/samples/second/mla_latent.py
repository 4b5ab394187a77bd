import torch
import torch.nn as nn


def rotate(x, base=10000.0):
    t, d = x.shape[-2], x.shape[-1]
    freq = base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    ang = torch.arange(t, dtype=x.dtype)[:, None] * freq
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * ang.cos() - b * ang.sin(), a * ang.sin() + b * ang.cos()), -1).flatten(-2)


class MLA(nn.Module):
    """Multi-head latent attention: keys and values come from one narrow latent, one shared rotary key."""

    def __init__(self, dim, heads, latent=8, nope=6, rope=4, v_dim=6):
        super().__init__()
        self.heads, self.nope, self.rope, self.v_dim = heads, nope, rope, v_dim
        self.wq = nn.Linear(dim, heads * (nope + rope), bias=False)
        self.wkv_a = nn.Linear(dim, latent + rope, bias=False)
        self.kv_norm = nn.LayerNorm(latent)
        self.wkv_b = nn.Linear(latent, heads * (nope + v_dim), bias=False)
        self.wo = nn.Linear(heads * v_dim, dim, bias=False)
        self.scale = (nope + rope) ** -0.5

    def forward(self, x):
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, self.heads, -1).transpose(1, 2)
        q_nope, q_pe = q.split([self.nope, self.rope], dim=-1)
        latent, k_pe = self.wkv_a(x).split([self.kv_norm.normalized_shape[0], self.rope], dim=-1)
        kv = self.wkv_b(self.kv_norm(latent)).view(b, t, self.heads, -1).transpose(1, 2)
        k_nope, v = kv.split([self.nope, self.v_dim], dim=-1)
        scores = q_nope @ k_nope.mT + rotate(q_pe) @ rotate(k_pe[:, None]).mT
        scores = scores * self.scale
        scores = scores.masked_fill(torch.ones(t, t, dtype=torch.bool).triu(1), float("-inf"))
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
