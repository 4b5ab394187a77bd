import torch
from torch import nn


def windows(x, w):
    B, H, W, C = x.shape
    return x.view(B, H // w, w, W // w, w, C).transpose(2, 3).reshape(-1, w * w, C)


class ShiftedWindowAttention(nn.Module):
    """x: (batch, height, width, dim); windows of w x w after a cyclic shift."""

    def __init__(self, dim, heads, w, shift):
        super().__init__()
        self.heads, self.w, self.shift = heads, w, shift
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def attn_mask(self, H, W):
        region = torch.zeros(1, H, W, 1)
        cuts = (slice(0, -self.w), slice(-self.w, -self.shift), slice(-self.shift, None))
        for i, hs in enumerate(cuts):
            for j, ws in enumerate(cuts):
                region[:, hs, ws] = 3 * i + j
        r = windows(region, self.w).squeeze(-1)
        return r[:, :, None] != r[:, None, :]

    def forward(self, x):
        B, H, W, C = x.shape
        x = windows(torch.roll(x, (-self.shift, -self.shift), (1, 2)), self.w)
        n = x.shape[1]
        q, k, v = self.qkv(x).view(-1, n, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-1, -2) * (C // self.heads) ** -0.5
        mask = self.attn_mask(H, W).repeat(B, 1, 1)[:, None]
        o = s.masked_fill(mask, -1e9).softmax(-1) @ v
        o = self.proj(o.transpose(1, 2).reshape(-1, n, C))
        o = o.view(B, H // self.w, W // self.w, self.w, self.w, C).transpose(2, 3).reshape(B, H, W, C)
        return torch.roll(o, (self.shift, self.shift), (1, 2))
