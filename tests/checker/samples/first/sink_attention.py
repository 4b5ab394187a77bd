import torch
from torch import nn


class SinkAttention(nn.Module):
    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.sinks = nn.Parameter(torch.randn(n_heads))
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.n_heads, -1) for t in self.qkv(x).split(d, dim=-1))
        QK = torch.einsum("bqhd,bkhd->bhqk", q, k) * (d // self.n_heads) ** -0.5
        QK = QK + torch.triu(QK.new_full((n, n), -float("inf")), diagonal=1)
        S = self.sinks.reshape(1, -1, 1, 1).expand(b, -1, n, 1)
        W = torch.softmax(torch.cat([QK, S], dim=-1), dim=-1)[..., :-1]
        attn = torch.einsum("bhqk,bkhd->bqhd", W, v)
        return self.out(attn.reshape(b, n, d))
