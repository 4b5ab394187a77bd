import math

import torch
from torch import nn


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


class LlamaAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, base=10000.0):
        super().__init__()
        self.num_heads, self.head_dim, self.base = num_heads, hidden_size // num_heads, base
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.k_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.v_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.o_proj = nn.Linear(hidden_size, hidden_size, bias=False)

    def rope(self, x):
        inv = 1.0 / self.base ** (torch.arange(0, self.head_dim, 2, dtype=x.dtype) / self.head_dim)
        freqs = torch.outer(torch.arange(x.shape[-2], dtype=x.dtype), inv)
        emb = torch.cat((freqs, freqs), dim=-1)
        return x * emb.cos() + rotate_half(x) * emb.sin()

    def forward(self, hidden_states):
        b, n, _ = hidden_states.size()
        q = self.q_proj(hidden_states).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(hidden_states).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(hidden_states).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        q = self.rope(q)
        w = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.head_dim)
        mask = torch.full((n, n), float("-inf"), dtype=w.dtype).triu(1)
        w = torch.softmax(w + mask, dim=-1)
        out = torch.matmul(w, v).transpose(1, 2).reshape(b, n, -1)
        return self.o_proj(out)
