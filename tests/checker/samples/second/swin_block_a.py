import torch.nn as nn


def window_partition(x, ws):
    """(B, H, W, C) to (windows * B, ws * ws, C)."""
    B, H, W, C = x.shape
    x = x.view(B, H // ws, ws, W // ws, ws, C)
    return x.reshape(-1, ws * ws, C)


def window_reverse(windows, ws, H, W):
    B = windows.shape[0] // ((H // ws) * (W // ws))
    x = windows.reshape(B, H // ws, ws, W // ws, ws, -1)
    return x.reshape(B, H, W, -1)


class WindowBlock(nn.Module):
    """Attention inside square windows of ws by ws pixels."""

    def __init__(self, dim, ws, heads):
        super().__init__()
        self.ws = ws
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)

    def forward(self, x):
        _, H, W, _ = x.shape
        windows = window_partition(x, self.ws)
        out = self.attn(windows, windows, windows, need_weights=False)[0]
        return window_reverse(out, self.ws, H, W)
