import torch
import torch.nn as nn


def window_partition(x, ws):
    """(B, H, W, C) -> (B * windows, ws * ws, C), a window being ws x ws neighbouring places"""
    B, H, W, C = x.shape
    x = x.view(B, H // ws, ws, W // ws, ws, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, ws * ws, C)


def window_reverse(windows, ws, H, W):
    B = windows.shape[0] // ((H // ws) * (W // ws))
    x = windows.view(B, H // ws, W // ws, ws, ws, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


class WindowMSA(nn.Module):
    def __init__(self, dim, heads, ws=7):
        super().__init__()
        self.dim, self.heads, self.ws = dim, heads, ws
        self.rel_table = nn.Parameter(0.5 * torch.randn((2 * ws - 1) ** 2, heads))
        yy, xx = torch.meshgrid(torch.arange(ws), torch.arange(ws), indexing="ij")
        p = torch.stack([yy.flatten(), xx.flatten()], -1)
        rel = p[:, None] - p[None] + ws - 1
        self.register_buffer("rel_index", rel[..., 0] * (2 * ws - 1) + rel[..., 1])
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B, H, W, C = x.shape
        win = window_partition(x, self.ws)
        Bw, N, _ = win.shape
        qkv = self.qkv(win).reshape(Bw, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = (q * (C // self.heads) ** -0.5) @ k.transpose(-2, -1)
        attn = attn + self.rel_table[self.rel_index].permute(2, 0, 1)
        win = (attn.softmax(-1) @ v).transpose(1, 2).reshape(Bw, N, C)
        return window_reverse(self.proj(win), self.ws, H, W)
