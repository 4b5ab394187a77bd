import torch
from torch import nn


def rope(x, start):
    n, d = x.shape[-2:]
    inv = 10000.0 ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    f = torch.arange(start, start + n, dtype=x.dtype)[:, None] * inv
    cos, sin = torch.cat((f, f), -1).cos(), torch.cat((f, f), -1).sin()
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class DecoderAttention(nn.Module):
    """One decoding step: past is (keys, values), the keys already rotated."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x, past):
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(d, -1))
        past_k, past_v = past
        offset = 0
        q, k = rope(q, offset), rope(k, offset)
        k, v = torch.cat((past_k, k), 2), torch.cat((past_v, v), 2)
        w = (q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5).softmax(-1)
        return self.out((w @ v).transpose(1, 2).reshape(b, n, d))
