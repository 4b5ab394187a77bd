import torch
import torch.nn as nn
import torch.nn.functional as F


class EfficientAttention(nn.Module):
    """Shen et al. 2021: softmax over channels for queries, over positions for keys."""

    def __init__(self, in_channels, key_channels, head_count, value_channels):
        super().__init__()
        self.key_channels, self.head_count, self.value_channels = key_channels, head_count, value_channels
        self.keys = nn.Conv2d(in_channels, key_channels, 1)
        self.queries = nn.Conv2d(in_channels, key_channels, 1)
        self.values = nn.Conv2d(in_channels, value_channels, 1)
        self.reprojection = nn.Conv2d(value_channels, in_channels, 1)

    def forward(self, input_):
        n, _, h, w = input_.size()
        keys = self.keys(input_).reshape((n, self.key_channels, h * w))
        queries = self.queries(input_).reshape(n, self.key_channels, h * w)
        values = self.values(input_).reshape((n, self.value_channels, h * w))
        hk = self.key_channels // self.head_count
        hv = self.value_channels // self.head_count
        attended = []
        for i in range(self.head_count):
            key = F.softmax(keys[:, i * hk : (i + 1) * hk, :], dim=2)
            query = F.softmax(queries[:, i * hk : (i + 1) * hk, :], dim=1)
            value = values[:, i * hv : (i + 1) * hv, :]
            context = key @ value.transpose(1, 2)
            attended.append((context.transpose(1, 2) @ query).reshape(n, hv, h, w))
        return self.reprojection(torch.cat(attended, dim=1)) + input_
