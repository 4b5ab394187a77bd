import math

import torch
from torch import nn


class RobertaAttention(nn.Module):
    """attention_mask: (batch, tokens), 1 for real tokens and 0 for padding."""

    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)

    def shape(self, t):
        return t.view(t.size(0), t.size(1), self.num_heads, -1).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask):
        q = self.shape(self.query(hidden_states))
        k = self.shape(self.key(hidden_states))
        v = self.shape(self.value(hidden_states))
        extended = (1.0 - attention_mask[:, None, None, :].to(q.dtype)) * torch.finfo(q.dtype).min
        attention_scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
        attention_probs = nn.functional.softmax(attention_scores, dim=-1)
        context = torch.matmul(attention_probs, v).permute(0, 2, 1, 3)
        return self.dense(context.reshape(hidden_states.shape))
