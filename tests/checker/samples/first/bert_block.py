import math

import torch
from torch import nn


class BertAttention(nn.Module):
    """Attention with its output layer, residual and post-norm."""

    def __init__(self, hidden_size, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.LayerNorm = nn.LayerNorm(hidden_size, eps=1e-12)

    def forward(self, hidden_states):
        b, n, d = hidden_states.shape

        def cut(t):
            return t.view(b, n, self.heads, d // self.heads).permute(0, 2, 1, 3)

        q, k, v = cut(self.query(hidden_states)), cut(self.key(hidden_states)), cut(self.value(hidden_states))
        probs = torch.softmax(q.matmul(k.transpose(-1, -2)) / math.sqrt(d // self.heads), dim=-1)
        context = probs.matmul(v).permute(0, 2, 1, 3).reshape(b, n, d)
        return self.LayerNorm(self.dense(context) + hidden_states)
