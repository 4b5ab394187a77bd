import torch
from torch import nn


class CausalSelfAttention(nn.Module):
    """Returns the output and the new cache; several new tokens at a time are allowed."""

    def __init__(self, nx, n_head):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(nx, 3 * nx)
        self.c_proj = nn.Linear(nx, nx)

    def forward(self, x, layer_past=None):
        b, n, d = x.shape
        query, key, value = (t.view(b, n, self.n_head, -1).transpose(1, 2) for t in self.c_attn(x).split(d, 2))
        if layer_past is not None:
            key = torch.cat((layer_past[0], key), dim=-2)
            value = torch.cat((layer_past[1], value), dim=-2)
        w = query @ key.transpose(-1, -2) / value.size(-1) ** 0.5
        nd, ns = w.size(-2), w.size(-1)
        causal = torch.ones(ns, ns, dtype=torch.bool).tril()[ns - nd : ns, :ns]
        w = torch.where(causal, w, torch.tensor(-1e4, dtype=w.dtype))
        a = (w.softmax(-1) @ value).transpose(1, 2).reshape(b, n, d)
        return self.c_proj(a), (key, value)
