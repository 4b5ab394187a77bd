import torch
from torch import nn


class TemporalAttention(nn.Module):
    def __init__(self, channels, heads, qkv_bias=True):
        super().__init__()
        self.heads = heads
        self.scale = (channels // heads) ** -0.5
        self.qkv = nn.Linear(channels, channels * 3, bias=qkv_bias)
        self.fc = nn.Linear(channels, channels)

    def forward(self, x):
        B, T, S, C = x.shape
        z = x.transpose(1, 2).reshape(B * S, T, C)
        q, k, v = self.qkv(z).chunk(3, dim=-1)
        q, k, v = [t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v)]
        w = (q * self.scale) @ k.mT
        w = w.softmax(dim=-1)
        z = (w @ v).transpose(1, 2).flatten(2)
        z = self.fc(z)
        return z.view(B, S, T, C).transpose(1, 2)
