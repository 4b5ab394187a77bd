import math

import torch
from torch import nn


def bucket(relative_position, num_buckets=8, max_distance=32):
    """Causal buckets: how far back the key lies; the future shares bucket 0.

    relative_position is memory_position - query_position.
    """
    n = torch.max(-relative_position, torch.zeros_like(relative_position))
    max_exact = num_buckets // 2
    is_small = n < max_exact
    large = max_exact + (
        torch.log(n.float().clamp(min=1) / max_exact) / math.log(max_distance / max_exact) * (num_buckets - max_exact)
    ).to(torch.long)
    large = torch.clamp(large, max=num_buckets - 1)
    return torch.where(is_small, n, large)


class T5DecoderBias(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.relative_attention_bias = nn.Embedding(8, heads)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        context = torch.arange(n)[:, None]
        memory = torch.arange(n)[None, :]
        bias = self.relative_attention_bias(bucket(memory - context)).permute(2, 0, 1)
        scores = q @ k.mT + bias
        scores = scores.masked_fill(memory > context, torch.finfo(scores.dtype).min)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, n, c)
