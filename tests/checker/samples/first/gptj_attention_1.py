import torch
from torch import nn


def apply_rotary(x):
    n, d = x.shape[-2:]
    inv_freq = 10000 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    ang = torch.arange(n, dtype=x.dtype)[:, None] * inv_freq
    sin, cos = ang.sin().repeat_interleave(2, -1), ang.cos().repeat_interleave(2, -1)
    rot = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)
    return x * cos + rot * sin


class GPTJAttention(nn.Module):
    """Causal attention with rotary positions on queries and keys."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.num_heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        q, k = apply_rotary(q), apply_rotary(k)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        causal = torch.ones(n, n, dtype=torch.bool).tril()
        scores = scores.masked_fill(~causal, torch.finfo(scores.dtype).min)
        out = scores.softmax(-1) @ v
        return self.out_proj(out.transpose(1, 2).reshape(b, n, c))
