import torch
from torch import nn


class RelativeAttention(nn.Module):
    def __init__(self, dim, heads, max_rel):
        super().__init__()
        self.heads, self.max_rel = heads, max_rel
        self.rel_k = nn.Embedding(2 * max_rel + 1, dim // heads)
        self.rel_v = nn.Embedding(2 * max_rel + 1, dim // heads)
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        pos = torch.arange(n)
        rel = (pos[None] - pos[:, None]).clamp(-self.max_rel, self.max_rel) + self.max_rel
        rk, rv = self.rel_k(rel), self.rel_v(rel)
        s = q @ k.transpose(-1, -2) + torch.einsum("bhid,ijd->bhij", q, rk)
        a = (s / q.shape[-1] ** 0.5).softmax(-1)
        o = a @ v + torch.einsum("bhij,ijd->bhid", a, rv)
        return o.transpose(1, 2).reshape(b, n, d)
