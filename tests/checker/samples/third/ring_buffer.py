import torch
from torch import nn


class RollingKVAttention(nn.Module):
    """One token at a time; a ring buffer keeps the keys and values of the last `window` tokens.

    There are no positions, so the order of the rows in the buffer does not matter.
    """

    def __init__(self, dim, heads, window):
        super().__init__()
        self.heads, self.window = heads, window
        self.q_proj = nn.Linear(dim, dim, bias=False)
        self.k_proj = nn.Linear(dim, dim, bias=False)
        self.v_proj = nn.Linear(dim, dim, bias=False)
        self.o_proj = nn.Linear(dim, dim, bias=False)
        self.clear()

    def clear(self):
        self.seen = 0
        self.ring_k = self.ring_v = None

    @torch.no_grad()
    def step(self, x):
        """x: (batch, dim), the next token."""
        b, dim = x.shape
        d = dim // self.heads
        if self.ring_k is None:
            self.ring_k = x.new_zeros(b, self.heads, self.window, d)
            self.ring_v = x.new_zeros(b, self.heads, self.window, d)
        slot = self.seen % self.window
        self.ring_k[:, :, slot] = self.k_proj(x).view(b, self.heads, d)
        self.ring_v[:, :, slot] = self.v_proj(x).view(b, self.heads, d)
        self.seen += 1
        live = min(self.seen, self.window)

        q = self.q_proj(x).view(b, self.heads, 1, d)
        w = q @ self.ring_k[:, :, :live].transpose(-1, -2) / d ** 0.5
        y = w.softmax(-1) @ self.ring_v[:, :, :live]
        return self.o_proj(y.reshape(b, dim))

    forward = step
