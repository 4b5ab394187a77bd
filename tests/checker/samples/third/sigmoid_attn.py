import math

import torch
import torch.nn as nn


class SigmoidAttention(nn.Module):
    """Sigmoid attention (Ramapuram et al., 2024): sigma(q k / sqrt(d) + b) with b = -log(n) in
    place of the softmax; the rows are not normalised on purpose. Causal; masked scores get weight 0."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.to_qkv(x).reshape(b, n, 3, self.num_heads, -1)
        q, k, v = (t.transpose(1, 2) for t in qkv.unbind(2))
        logits = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = torch.sigmoid(logits - math.log(n)).tril()
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, c))
