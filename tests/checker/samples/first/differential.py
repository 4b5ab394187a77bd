import torch
from torch import nn


class DifferentialAttention(nn.Module):
    def __init__(self, dim, heads, lambda_init=0.8):
        super().__init__()
        self.heads, self.hd = heads, dim // heads // 2
        self.lam = nn.Parameter(torch.tensor(lambda_init))
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, n, d = x.shape
        q = self.q(x).view(b, n, self.heads, 2, self.hd).permute(3, 0, 2, 1, 4)
        k = self.k(x).view(b, n, self.heads, 2, self.hd).permute(3, 0, 2, 1, 4)
        v = self.v(x).view(b, n, self.heads, 2 * self.hd).transpose(1, 2)
        a1, a2 = (q @ k.transpose(-1, -2) * self.hd ** -0.5).softmax(-1)
        return self.out(((a1 - self.lam * a2) @ v).transpose(1, 2).reshape(b, n, d))
