import torch
import torch.nn as nn


class ShiftedWindowBlock(nn.Module):
    """1-D Swin-like layer for time series.

    The series is rolled by half a window, attended inside windows, rolled back and
    added to the input. No attention across the seam where the roll wraps around.
    """

    def __init__(self, d, heads, window=8):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, window // 2
        self.ln = nn.LayerNorm(d)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d) for _ in range(4))

    def seam_mask(self, n, device):
        region = torch.zeros(n, dtype=torch.long, device=device)
        region[n - self.window:] = 1
        region[n - self.shift:] = 2
        region = region.view(-1, self.window)
        return region[:, :, None] == region[:, None, :]

    def forward(self, x):
        b, n, d = x.shape
        w = self.window
        y = torch.roll(self.ln(x), -self.shift, dims=1)

        def windows(t):
            return t.view(b, n // w, w, self.heads, d // self.heads).transpose(2, 3)

        q, k, v = windows(self.wq(y)), windows(self.wk(y)), windows(self.wv(y))
        dots = q @ k.transpose(-1, -2) * (d // self.heads) ** -0.5
        keep = self.seam_mask(n, x.device)[None, :, None]
        dots = dots.masked_fill(~keep, -torch.inf)
        y = (dots.softmax(-1) @ v).transpose(2, 3).reshape(b, n, d)
        y = torch.roll(self.wo(y), self.shift, dims=1)
        return x + y
