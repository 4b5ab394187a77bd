import torch
import torch.nn as nn


class LinformerSelfAttention(nn.Module):
    """Keys and values are projected from seq_len to k rows; share_kv makes them use one matrix."""

    def __init__(self, dim, seq_len, k, heads, share_kv=False):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.proj_k = nn.Parameter(torch.randn(seq_len, k) * k**-0.5)
        self.proj_v = None if share_kv else nn.Parameter(torch.randn(seq_len, k) * k**-0.5)
        self.share_kv = share_kv
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        kv_projs = (self.proj_k, self.proj_v if not self.share_kv else self.proj_k)
        keys, values = (
            torch.einsum("bnd,nk->bkd", t, proj) for t, proj in zip((self.to_k(x), self.to_v(x)), kv_projs)
        )
        q, keys, values = (
            t.reshape(b, -1, self.heads, c // self.heads).transpose(1, 2) for t in (self.to_q(x), keys, values)
        )
        attn = (torch.einsum("bhnd,bhkd->bhnk", q, keys) * (c // self.heads) ** -0.5).softmax(dim=-1)
        return self.to_out(torch.einsum("bhnk,bhkd->bhnd", attn, values).transpose(1, 2).reshape(b, n, c))
