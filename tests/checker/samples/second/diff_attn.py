import torch
import torch.nn as nn


class DiffAttention(nn.Module):
    """Differential attention: the difference of two softmax maps, lambda learned."""

    def __init__(self, dim, heads, lambda_init=0.8):
        super().__init__()
        self.heads = heads
        self.hd = dim // heads // 2
        self.lambda_init = lambda_init
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.out_proj = nn.Linear(dim, dim, bias=False)
        self.lq1, self.lk1, self.lq2, self.lk2 = (nn.Parameter(0.1 * torch.randn(self.hd)) for _ in range(4))

    def forward(self, x):
        b, n, c = x.shape
        q = self.q_proj(x).view(b, n, self.heads, 2, self.hd).permute(3, 0, 2, 1, 4)
        k = self.k_proj(x).view(b, n, self.heads, 2, self.hd).permute(3, 0, 2, 1, 4)
        v = self.v_proj(x).view(b, n, self.heads, 2 * self.hd).transpose(1, 2)
        a1, a2 = torch.softmax(q @ k.transpose(-1, -2) * self.hd**-0.5, dim=-1)
        lam = torch.exp(self.lq1 @ self.lk1) - torch.exp(self.lq2 @ self.lk2) + self.lambda_init
        out = (a1 - lam * a2) @ v
        return self.out_proj((out * (1 - self.lambda_init)).transpose(1, 2).reshape(b, n, c))
