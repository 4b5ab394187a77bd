import torch
import torch.nn as nn


def repeat_kv(x, n_rep):
    """(b, kv_heads, t, d) to (b, kv_heads * n_rep, t, d); query head h reads key head h // n_rep."""
    b, kv, t, d = x.shape
    if n_rep == 1:
        return x
    return x[:, None].expand(b, n_rep, kv, t, d).reshape(b, kv * n_rep, t, d)


class LlamaAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv, self.hd = n_heads, n_kv_heads, dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.hd, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.hd, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.hd, bias=False)
        self.wo = nn.Linear(n_heads * self.hd, dim, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, self.n_heads, self.hd).transpose(1, 2)
        k = repeat_kv(self.wk(x).view(b, t, self.n_kv, self.hd).transpose(1, 2), self.n_heads // self.n_kv)
        v = repeat_kv(self.wv(x).view(b, t, self.n_kv, self.hd).transpose(1, 2), self.n_heads // self.n_kv)
        scores = q @ k.transpose(2, 3) / self.hd**0.5
        scores = scores + torch.full((t, t), float("-inf")).triu(1)
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1))
