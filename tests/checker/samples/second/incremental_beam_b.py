import torch
import torch.nn as nn


class IncrementalAttention(nn.Module):
    """Decoder self-attention that keeps its keys and values; reorder follows the beams."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.saved = {}

    def reorder(self, new_order):
        for name in ("key",):
            self.saved[name] = self.saved[name].index_select(0, new_order)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (f.view(b, t, self.heads, -1).transpose(1, 2) for f in self.qkv(x).chunk(3, -1))
        if self.saved:
            k = torch.cat([self.saved["key"], k], dim=2)
            v = torch.cat([self.saved["value"], v], dim=2)
        self.saved = {"key": k, "value": v}
        w = torch.softmax(q @ k.transpose(-1, -2) / (c // self.heads) ** 0.5, dim=-1)
        return (w @ v).transpose(1, 2).reshape(b, t, c)
