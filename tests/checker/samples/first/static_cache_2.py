import torch
from torch import nn


class CachedAttention(nn.Module):
    """Decoding with a cache of fixed size; `pos` tokens are in it already."""

    def __init__(self, dim, n_heads, max_len):
        super().__init__()
        self.n_heads, self.max_len = n_heads, max_len
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x, k_cache, v_cache, pos):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.n_heads, -1).transpose(1, 2) for y in self.wqkv(x).split(d, -1))
        k_cache, v_cache = k_cache.clone(), v_cache.clone()
        k_cache[:, :, pos : pos + t] = k
        v_cache[:, :, pos : pos + t] = v
        k, v = k_cache[:, :, :pos], v_cache[:, :, :pos]
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))
