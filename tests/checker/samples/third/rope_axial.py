import torch
from torch import nn


class RoPE2D(nn.Module):
    """Rotary positions on a grid: the first half of each head follows y, the second half x."""

    def __init__(self, base=100.0):
        super().__init__()
        self.base = base

    def apply_rope1d(self, tokens, pos1d):
        D = tokens.shape[-1]
        inv_freq = 1.0 / (self.base ** (torch.arange(0, D, 2, device=tokens.device).to(tokens.dtype) / D))
        freqs = pos1d[..., None].to(tokens.dtype) * inv_freq
        freqs = torch.cat((freqs, freqs), dim=-1)[:, None]
        x1, x2 = tokens.chunk(2, dim=-1)
        turned = torch.cat((-x2, x1), dim=-1)
        return tokens * freqs.cos() + turned * freqs.sin()

    def forward(self, tokens, positions):
        """tokens (B, heads, N, dim), positions (B, N, 2) as (y, x)"""
        assert tokens.size(3) % 4 == 0, "head dimension should be a multiple of four"
        y, x = tokens.chunk(2, dim=-1)
        y = self.apply_rope1d(y, positions[:, :, 0])
        x = self.apply_rope1d(x, positions[:, :, 1])
        return torch.cat((y, x), dim=-1)


class RoPE2DAttention(nn.Module):
    def __init__(self, dim, num_heads=8):
        super().__init__()
        self.num_heads = num_heads
        self.rope = RoPE2D()
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, xpos):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).transpose(1, 3)
        q, k, v = [qkv[:, :, i] for i in range(3)]
        q = self.rope(q, xpos)
        k = self.rope(k, xpos)
        attn = (q @ k.transpose(-2, -1)) * (C // self.num_heads) ** -0.5
        x = (attn.softmax(dim=-1) @ v).transpose(1, 2).reshape(B, N, C)
        return self.proj(x)
