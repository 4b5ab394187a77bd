import torch
import torch.nn as nn
import torch.nn.functional as F


class CosineAttention(nn.Module):
    """Queries and keys are unit vectors; one learned temperature per head."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.temperature = nn.Parameter(torch.full((heads, 1, 1), 8.0))
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.to_out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.to_q, self.to_k, self.to_v))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        attn = (q @ k.transpose(-1, -2) * self.temperature).softmax(dim=-1)
        return self.to_out((attn @ v).transpose(1, 2).reshape(b, n, c))
