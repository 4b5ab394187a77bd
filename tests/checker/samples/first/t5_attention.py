import torch
from torch import nn


class T5Attention(nn.Module):
    """T5 folds the scale into the initialisation, so the scores are not divided."""

    def __init__(self, d_model, d_kv, num_heads, max_distance=8):
        super().__init__()
        self.n_heads, self.max_distance = num_heads, max_distance
        inner = d_kv * num_heads
        self.q = nn.Linear(d_model, inner, bias=False)
        self.k = nn.Linear(d_model, inner, bias=False)
        self.v = nn.Linear(d_model, inner, bias=False)
        self.o = nn.Linear(inner, d_model, bias=False)
        self.relative_attention_bias = nn.Embedding(2 * max_distance + 1, num_heads)

    def compute_bias(self, n):
        pos = torch.arange(n)
        rel = (pos[None, :] - pos[:, None]).clamp(-self.max_distance, self.max_distance) + self.max_distance
        return self.relative_attention_bias(rel).permute(2, 0, 1).unsqueeze(0)

    def forward(self, hidden_states):
        b, n, _ = hidden_states.shape
        q, k, v = (f(hidden_states).view(b, n, self.n_heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = torch.matmul(q, k.transpose(3, 2)) + self.compute_bias(n)
        attn = nn.functional.softmax(scores, dim=-1)
        return self.o(torch.matmul(attn, v).transpose(1, 2).reshape(b, n, -1))
