import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def get_slopes(n):
    def pow2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return pow2(n)
    m = 2 ** math.floor(math.log2(n))
    return pow2(m) + get_slopes(2 * m)[0::2][: n - m]


class ALiBiAttention(nn.Module):
    """Attention with linear biases: a key further back counts less."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.register_buffer("slopes", torch.tensor(get_slopes(heads)))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        pos = torch.arange(t)
        distance = pos[:, None] - pos[None, :]
        bias = self.slopes[:, None, None] * distance
        bias = bias.masked_fill(pos[None, :] > pos[:, None], float("-inf"))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype))
        return y.transpose(1, 2).reshape(b, t, c)
