import torch
import torch.nn as nn


class SinusoidAttention(nn.Module):
    """Single head with sinusoidal positions; runs in the type of its input."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def positions(self, n, dtype):
        pos = torch.arange(n, dtype=dtype)
        inv = 1e4 ** (-torch.arange(0, self.dim, 2, dtype=dtype) / self.dim)
        ang = torch.outer(pos, inv)
        return torch.cat((ang.sin(), ang.cos()), dim=-1).to(dtype)

    def forward(self, x):
        h = x + self.positions(x.shape[1], x.dtype)
        w = torch.softmax(self.q(h) @ self.k(h).mT * self.dim**-0.5, dim=-1)
        return w @ self.v(h)
