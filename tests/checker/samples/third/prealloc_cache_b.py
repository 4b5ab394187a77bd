import torch
import torch.nn.functional as F
from torch import nn


class CachedSelfAttention(nn.Module):
    """Causal self-attention for generation with a preallocated key/value cache.

    Call it with the next tokens again and again; each call sees all tokens since ``reset``.
    """

    def __init__(self, dim: int, n_heads: int, max_batch: int = 1, max_len: int = 128):
        super().__init__()
        self.n_heads = n_heads
        self.head_dim = dim // n_heads
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        shape = (max_batch, n_heads, max_len, self.head_dim)
        self.register_buffer("cache_k", torch.zeros(shape), persistent=False)
        self.register_buffer("cache_v", torch.zeros(shape), persistent=False)
        self.filled = 0

    def reset(self):
        self.filled = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bsz, new, dim = x.shape
        q, k, v = self.wqkv(x).view(bsz, new, 3, self.n_heads, self.head_dim).permute(2, 0, 3, 1, 4)
        start, end = self.filled, self.filled + new
        with torch.no_grad():
            self.cache_k[:bsz, :, start:end] = k
            self.cache_v[:bsz, :, start:end] = v
        filled = end
        keys, values = self.cache_k[:bsz, :, :end], self.cache_v[:bsz, :, :end]

        mask = torch.ones(new, end, dtype=torch.bool, device=x.device).tril(diagonal=start)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return self.wo(y.transpose(1, 2).reshape(bsz, new, dim))
