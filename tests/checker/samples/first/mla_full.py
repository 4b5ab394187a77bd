import torch
from torch import nn


def rope(x):
    n, d = x.shape[1], x.shape[-1]
    ang = torch.arange(n, dtype=x.dtype)[:, None] / 10000 ** (torch.arange(0, d, 2, dtype=x.dtype) / d)
    cos, sin = ang.cos()[:, None], ang.sin()[:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, dim, heads, kv_rank, d_nope, d_rope, d_v):
        super().__init__()
        self.h, self.r, self.dn, self.dr, self.dv = heads, kv_rank, d_nope, d_rope, d_v
        self.wq = nn.Linear(dim, heads * (d_nope + d_rope), bias=False)
        self.wkv_a = nn.Linear(dim, kv_rank + d_rope, bias=False)
        self.kv_norm = nn.RMSNorm(kv_rank, eps=1e-6)
        self.wkv_b = nn.Linear(kv_rank, heads * (d_nope + d_v), bias=False)
        self.wo = nn.Linear(heads * d_v, dim, bias=False)

    def forward(self, x):
        b, s, _ = x.shape
        q = self.wq(x).view(b, s, self.h, self.dn + self.dr)
        q_nope, q_pe = q.split([self.dn, self.dr], -1)
        c, k_pe = self.wkv_a(x).split([self.r, self.dr], -1)
        q_pe, k_pe = rope(q_pe), rope(k_pe.unsqueeze(2))
        k_nope, v = self.wkv_b(self.kv_norm(c)).view(b, s, self.h, -1).split([self.dn, self.dv], -1)
        scores = torch.einsum("bshd,bthd->bhst", q_nope, k_nope) + torch.einsum("bshd,btxd->bhst", q_pe, k_pe)
        scores = scores * (self.dn + self.dr) ** -0.5
        scores = scores.masked_fill(torch.ones(s, s).triu(1).bool(), float("-inf")).softmax(-1)
        return self.wo(torch.einsum("bhst,bthd->bshd", scores, v).flatten(2))
