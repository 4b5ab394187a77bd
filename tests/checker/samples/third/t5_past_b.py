import torch
from torch import nn


class T5CachedAttention(nn.Module):
    """Decoder self-attention with T5's bias (one learned scalar per head and clipped distance)
    and a key/value cache. T5 does not scale the scores.

    forward(x, past) -> (y, present): x holds the new tokens only, which stand after those of past.
    """

    def __init__(self, d_model, n_heads, max_distance=8):
        super().__init__()
        self.n_heads = n_heads
        self.max_distance = max_distance
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)
        self.relative_attention_bias = nn.Embedding(max_distance, n_heads)

    def compute_bias(self, length):
        pos = torch.arange(length)
        distance = (pos[:, None] - pos[None, :]).clamp(0, self.max_distance - 1)
        return self.relative_attention_bias(distance).permute(2, 0, 1)[None]

    def shape(self, states):
        return states.view(states.shape[0], -1, self.n_heads, states.shape[-1] // self.n_heads).transpose(1, 2)

    def forward(self, x, past=None):
        q, k, v = self.shape(self.q(x)), self.shape(self.k(x)), self.shape(self.v(x))
        if past is not None:
            k = torch.cat([past[0], k], dim=2)
            v = torch.cat([past[1], v], dim=2)
        new, real = q.shape[2], k.shape[2]
        scores = torch.matmul(q, k.transpose(3, 2))
        bias = self.compute_bias(real)
        bias = bias[:, :, -new:, :]
        future = torch.ones(new, real, dtype=torch.bool).triu(real - new + 1)
        scores = (scores + bias).masked_fill(future, torch.finfo(scores.dtype).min)
        weights = nn.functional.softmax(scores, dim=-1)
        y = torch.matmul(weights, v).transpose(1, 2).flatten(2)
        return self.o(y), (k, v)
