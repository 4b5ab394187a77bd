import torch
from torch import nn
import torch.nn.functional as F


class AxialAttention(nn.Module):
    """x: (batch, height, width, dim). The sum of attention along rows and along columns."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.row = nn.Linear(dim, 3 * dim, bias=False)
        self.col = nn.Linear(dim, 3 * dim, bias=False)

    def along(self, x, layer):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(-2, -3) for t in layer(x).chunk(3, -1))
        return F.scaled_dot_product_attention(q, k, v).transpose(-2, -3).flatten(-2)

    def forward(self, x):
        columns = self.along(x.transpose(1, 2), self.col).transpose(1, 2)
        return self.along(x, self.row) + columns
