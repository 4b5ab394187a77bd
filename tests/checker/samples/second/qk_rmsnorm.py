import torch
import torch.nn as nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class QKNormAttention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.hd = dim // n_heads
        self.wq, self.wk = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.wv, self.wo = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.q_norm, self.k_norm = RMSNorm(self.hd), RMSNorm(self.hd)

    def forward(self, x):
        b, t, c = x.shape
        q = self.q_norm(self.wq(x).view(b, t, self.n_heads, self.hd)).transpose(1, 2)
        k = self.k_norm(self.wk(x).view(b, t, self.n_heads, self.hd)).transpose(1, 2)
        v = self.wv(x).view(b, t, self.n_heads, self.hd).transpose(1, 2)
        a = torch.softmax(q @ k.mT * self.hd**-0.5, dim=-1)
        return self.wo((a @ v).transpose(1, 2).flatten(2))
