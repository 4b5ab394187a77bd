import math
import torch
from torch import nn


def get_slopes(n):
    """m_h = 2 ** (-8 h / n), h = 1..n (n a power of two)."""
    start = 2 ** (-(2 ** -(math.log2(n) - 3)))
    return [start * start ** i for i in range(n)]


class AlibiSelfAttention(nn.Module):
    """Causal attention with linear biases: the score of a key d steps back is lowered by m_h * d.
    There are no position embeddings."""

    def __init__(self, *, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.attn = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)
        self.register_buffer("slopes", torch.tensor(get_slopes(n_heads)).view(-1, 1, 1), persistent=False)

    def bias(self, t):
        steps = torch.arange(t, device=self.slopes.device)
        back = steps.view(-1, 1) - steps.view(1, -1)
        return (self.slopes * back).masked_fill(back < 0, float("-inf"))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.attn(x).split(c, dim=-1)
        q, k, v = (z.view(b, t, self.n_heads, -1).transpose(1, 2) for z in (q, k, v))
        att = torch.baddbmm(
            self.bias(t).to(q).repeat(b, 1, 1),
            q.reshape(b * self.n_heads, t, -1),
            k.reshape(b * self.n_heads, t, -1).transpose(1, 2),
            alpha=1 / math.sqrt(c // self.n_heads),
        )
        y = att.softmax(-1).view(b, self.n_heads, t, t) @ v
        return self.out(y.transpose(1, 2).reshape(b, t, c))
