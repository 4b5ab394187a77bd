import math

import torch
import torch.nn as nn


class AlibiAttention(nn.Module):
    """Causal attention with linear biases: the further back a key lies the lower its score."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)
        slopes = torch.tensor([2 ** (-8 * (i + 1) / n_heads) for i in range(n_heads)])
        self.register_buffer("slopes", slopes.view(-1, 1, 1))

    def forward(self, x):
        bsz, n, d = x.shape
        q, k, v = self.qkv(x).view(bsz, n, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        pos = torch.arange(n)
        distance = pos[:, None] - pos[None, :]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) + self.slopes * distance
        scores = scores.masked_fill(torch.triu(torch.ones(n, n), 1).bool(), -math.inf)
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(bsz, n, d))
