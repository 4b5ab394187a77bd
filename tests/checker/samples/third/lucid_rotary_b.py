from functools import partial

import torch
import torch.nn.functional as F
from torch import nn, einsum

# helpers

def exists(v):
    return v is not None

def rotate_half(x):
    x = x.reshape(*x.shape[:-1], -1, 2)
    x1, x2 = x.unbind(dim = -1)
    return torch.stack((-x2, x1), dim = -1).flatten(-2)

def apply_rotary(freqs, t):
    return t * freqs.cos() + rotate_half(t) * freqs.sin()

class Rotary(nn.Module):
    def __init__(self, dim, theta = 10000):
        super().__init__()
        self.register_buffer('inv_freq', 1. / (theta ** (torch.arange(0, dim, 2) / dim)), persistent = False)

    def forward(self, n):
        t = torch.arange(n, device = self.inv_freq.device)
        freqs = einsum('i, j -> i j', t.to(self.inv_freq), self.inv_freq)
        return freqs.repeat_interleave(2, dim = -1)

# main class

class Attention(nn.Module):
    def __init__(self, dim, heads = 8, dim_head = 64):
        super().__init__()
        self.heads = heads
        self.scale = dim_head ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.rotary = Rotary(dim_head)
        self.to_qkv = nn.Linear(dim, dim_head * heads * 3, bias = False)
        self.to_out = nn.Linear(dim_head * heads, dim, bias = False)

    def forward(self, x, mask = None):
        n = x.shape[1]
        x = self.norm(x)
        qkv = self.to_qkv(x).chunk(3, dim = -1)
        q, k, v = (t.reshape(*t.shape[:2], self.heads, -1).transpose(1, 2) for t in qkv)

        pos = self.rotary(n)
        rotate = partial(apply_rotary, pos)
        q = rotate(q)

        sim = einsum('b h i d, b h j d -> b h i j', q * self.scale, k)
        neg = -torch.finfo(sim.dtype).max

        if exists(mask):
            sim = sim.masked_fill(~mask[:, None, None, :], neg)

        causal = torch.ones((n, n), dtype = torch.bool, device = x.device).triu(1)
        sim = sim.masked_fill(causal, neg)
        attn = sim.softmax(dim = -1)

        out = einsum('b h i j, b h j d -> b h i d', attn, v)
        return self.to_out(out.transpose(1, 2).flatten(2))
