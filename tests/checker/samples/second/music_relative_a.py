import torch
import torch.nn as nn
import torch.nn.functional as F


class RelativeGlobalAttention(nn.Module):
    """Music Transformer: Er[max_len - 1 - distance] is the embedding of a key `distance` steps back."""

    def __init__(self, d_model, num_heads, max_len=32):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.Er = nn.Parameter(torch.randn(max_len, d_model // num_heads))
        self.register_buffer("mask", torch.tril(torch.ones(max_len, max_len)).bool())

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        Srel = self.skew(q @ self.Er[self.max_len - n :].t())
        attn = (q @ k.transpose(-1, -2) + Srel) / q.size(-1) ** 0.5
        attn = F.softmax(attn.masked_fill(~self.mask[:n, :n], float("-inf")), dim=-1)
        return (attn @ v).transpose(1, 2).reshape(b, n, c)

    def skew(self, QEr):
        padded = F.pad(QEr, (1, 0))
        b, h, rows, cols = padded.shape
        return padded.reshape(b, h, cols, rows)[:, :, 1:, :]
