import torch
import torch.nn as nn


def grid_partition(x, g):
    """(B, C, H, W) -> (B, cells, g * g, C): a group is one pixel out of each of the g x g areas."""
    B, C, H, W = x.shape
    x = x.view(B, C, g, H // g, g, W // g)
    return x.permute(0, 3, 5, 2, 4, 1).reshape(B, (H // g) * (W // g), g * g, C)


def grid_reverse(x, g, H, W):
    B, C = x.shape[0], x.shape[-1]
    x = x.view(B, H // g, W // g, g, g, C)
    return x.permute(0, 5, 3, 1, 4, 2).reshape(B, C, H, W)


class GridAttention(nn.Module):
    """MaxViT's sparse global attention on NCHW maps, pre-normed, with residual."""

    def __init__(self, channels, heads=4, grid=7):
        super().__init__()
        self.heads, self.grid = heads, grid
        self.scale = (channels // heads) ** -0.5
        self.norm = nn.LayerNorm(channels)
        self.to_qkv = nn.Linear(channels, 3 * channels, bias=False)
        self.merge = nn.Linear(channels, channels)
        self.bias = nn.Parameter(torch.zeros(heads, grid * grid, grid * grid).normal_(std=0.5))

    def forward(self, x):
        H, W = x.shape[-2:]
        t = self.norm(grid_partition(x, self.grid))
        q, k, v = self.to_qkv(t).chunk(3, -1)
        q, k, v = (z.unflatten(-1, (self.heads, -1)).transpose(-3, -2) for z in (q, k, v))
        a = torch.matmul(q * self.scale, k.transpose(-1, -2)) + self.bias
        y = torch.matmul(a.softmax(dim=-1), v).transpose(-3, -2).flatten(-2)
        return x + grid_reverse(self.merge(y), self.grid, H, W)
