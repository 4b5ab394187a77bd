import torch
from torch import nn


class GatedAttention(nn.Module):
    """Attention whose output is gated per channel before the last layer."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.to_gate = nn.Linear(dim, dim)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, -1))
        attn = torch.softmax(q @ k.mT * (d // self.heads) ** -0.5, dim=-1)
        out = (attn @ v).transpose(1, 2).reshape(b, n, d)
        gate = self.to_gate(x).sigmoid()
        return self.to_out(out)
