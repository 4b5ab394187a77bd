import torch
from torch import nn


class PositionalAttention(nn.Module):
    def __init__(self, dim, heads, max_len):
        super().__init__()
        self.heads = heads
        self.pos_embed = nn.Parameter(torch.randn(1, max_len, dim) * 0.5)
        self.qkv = nn.Linear(dim, dim * 3, bias=False)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        x = x + self.pos_embed[:, :n]
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).unbind(2)
        scores = torch.einsum("bnhd,bmhd->bhnm", q, k) / (d // self.heads) ** 0.5
        y = torch.einsum("bhnm,bmhd->bnhd", scores.softmax(-1), v)
        return self.proj(y.flatten(2))
