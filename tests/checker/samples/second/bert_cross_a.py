import math

from torch import nn


class CrossAttention(nn.Module):
    """Text queries over image keys and values."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.query = nn.Linear(hidden, hidden)
        self.key = nn.Linear(hidden, hidden)
        self.value = nn.Linear(hidden, hidden)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.size).transpose(1, 2)

    def forward(self, text, image):
        q = self.split(self.query(text))
        k = self.split(self.key(image))
        v = self.split(self.value(image))
        scores = q @ k.transpose(-1, -2) / math.sqrt(self.size)
        out = scores.softmax(dim=-1) @ v
        return out.transpose(1, 2).reshape(text.size(0), text.size(1), -1)
