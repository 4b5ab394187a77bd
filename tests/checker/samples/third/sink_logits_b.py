import torch
from torch import nn


class SinkAttention(nn.Module):
    """Causal attention with a learned sink per head.

    The sink is one more logit in each row's softmax. It has no value: it only takes weight away.
    """

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.d_head = d_model // n_heads
        self.sinks = nn.Parameter(torch.randn(n_heads))
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=True)
        self.out = nn.Linear(d_model, d_model, bias=True)
        self.sm_scale = 1 / self.d_head ** 0.5

    def forward(self, x):
        B, T, C = x.shape
        qkv = self.qkv(x)
        q = qkv[:, :, :C].contiguous().view(B, T, self.n_heads, self.d_head)
        k = qkv[:, :, C:2 * C].contiguous().view(B, T, self.n_heads, self.d_head)
        v = qkv[:, :, 2 * C:].contiguous().view(B, T, self.n_heads, self.d_head)

        QK = torch.einsum("bqhd,bkhd->bhqk", q, k) * self.sm_scale
        QK = QK + torch.triu(QK.new_full((T, T), -float("inf")), diagonal=1)
        S = self.sinks.reshape(1, -1, 1, 1).expand(B, -1, T, -1)
        QK = torch.cat([QK, S], dim=-1)
        W = torch.softmax(QK, dim=-1)
        W = W[..., :-1]
        attn = torch.einsum("bhqk,bkhd->bqhd", W, v)
        return self.out(attn.reshape(B, T, C))
