import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim) + 0.1 * torch.randn(dim))
        self.eps = eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class LatentAttention(nn.Module):
    """Keys and values come from one small normed latent per token."""

    def __init__(self, dim, n_heads, kv_rank):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq = nn.Linear(dim, dim, bias=False)
        self.wkv_a = nn.Linear(dim, kv_rank, bias=False)
        self.kv_norm = RMSNorm(kv_rank)
        self.wkv_b = nn.Linear(kv_rank, 2 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, s, d = x.shape
        q = self.wq(x).view(b, s, self.n_heads, self.head_dim)
        latent = self.wkv_a(x)
        normed = self.kv_norm(latent)
        kv = self.wkv_b(normed).view(b, s, self.n_heads, 2 * self.head_dim)
        k, v = kv.split(self.head_dim, dim=-1)
        scores = torch.einsum("bshd,bthd->bsht", q, k) * self.head_dim ** -0.5
        mask = torch.full((s, s), float("-inf"), dtype=x.dtype).triu_(1)
        scores = (scores + mask.unsqueeze(1)).softmax(dim=-1)
        return self.wo(torch.einsum("bsht,bthd->bshd", scores, v).reshape(b, s, d))
