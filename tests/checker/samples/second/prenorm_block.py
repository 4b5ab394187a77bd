import torch
import torch.nn as nn


class Attention(nn.Module):
    """Pre-norm attention with the residual inside and a layer scale."""

    def __init__(self, dim, heads=4, dim_head=8, init_values=0.1):
        super().__init__()
        inner = heads * dim_head
        self.heads = heads
        self.scale = dim_head**-0.5
        self.norm = nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, inner, bias=False)
        self.to_kv = nn.Linear(dim, inner * 2, bias=False)
        self.to_out = nn.Linear(inner, dim)
        self.gamma = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x):
        h = self.norm(x)
        q, k, v = self.to_q(h), *self.to_kv(h).chunk(2, dim=-1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        dots = torch.matmul(q, k.transpose(-1, -2)) * self.scale
        out = torch.matmul(dots.softmax(dim=-1), v)
        return x + self.gamma * self.to_out(out.transpose(1, 2).flatten(2))
