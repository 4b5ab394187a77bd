import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        dim_head = dim // heads
        self.scale = dim_head ** -0.5
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, dim_head * 2, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        q = self.to_q(x).view(b, n, self.heads, -1)
        k, v = self.to_kv(x).chunk(2, dim=-1)
        sim = torch.einsum("bihd,bjd->bhij", q * self.scale, k)
        attn = sim.softmax(dim=-1)
        out = torch.einsum("bhij,bjd->bihd", attn, v)
        return self.to_out(out.reshape(b, n, d))
