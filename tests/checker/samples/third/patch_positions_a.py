import torch
from torch import nn


class PatchEncoderLayer(nn.Module):
    """Adds learned positions to the patches, then one self-attention with residual.

    x: (batch, patches, dim), left as it is.
    """

    def __init__(self, dim, heads, max_len=64):
        super().__init__()
        self.pos = nn.Parameter(torch.randn(max_len, dim))
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x):
        x = x + self.pos[: x.size(1)]
        y = self.norm(x)
        y, _ = self.attn(y, y, y, need_weights=False)
        return x + y
