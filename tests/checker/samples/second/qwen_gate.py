import torch
import torch.nn as nn


class GatedAttention(nn.Module):
    """Qwen3-Next style: the query projection also yields a gate for each head's output."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.hd = heads, hidden // heads
        self.q_proj = nn.Linear(hidden, 2 * hidden, bias=False)
        self.kv_proj = nn.Linear(hidden, 2 * hidden, bias=False)
        self.o_proj = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, gate = self.q_proj(x).view(b, t, self.heads, 2 * self.hd).chunk(2, dim=-1)
        k, v = self.kv_proj(x).chunk(2, dim=-1)
        q = q.transpose(1, 2)
        k = k.view(b, t, self.heads, self.hd).transpose(1, 2)
        v = v.view(b, t, self.heads, self.hd).transpose(1, 2)
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        out = out.transpose(1, 2) * torch.sigmoid(gate)
        return self.o_proj(out.reshape(b, t, c))
