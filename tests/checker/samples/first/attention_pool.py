import torch
from torch import nn


class AttentionPool(nn.Module):
    """Pools tokens into one vector. mask: 1 for tokens to keep."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.seed = nn.Parameter(torch.randn(1, 1, dim))
        self.q, self.kv, self.out = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, n, d = x.shape
        q = self.q(self.seed).expand(b, 1, d).reshape(b, 1, self.heads, -1).transpose(1, 2)
        k, v = self.kv(x).view(b, n, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        s = (q * k).sum(-1) / (d // self.heads) ** 0.5
        s = s.masked_fill(mask[:, None, :] == 0, float("-inf"))
        return self.out((s.softmax(-1).unsqueeze(-1) * v).sum(2).reshape(b, d))
