import torch
import torch.nn as nn


class NonLocalDot(nn.Module):
    """Non-local block, dot-product version: no softmax, divided by the number of positions."""

    def __init__(self, channels, inter):
        super().__init__()
        self.inter = inter
        self.theta = nn.Conv1d(channels, inter, 1)
        self.phi = nn.Conv1d(channels, inter, 1)
        self.g = nn.Conv1d(channels, inter, 1)
        self.W = nn.Conv1d(inter, channels, 1)

    def forward(self, x):
        g_x = self.g(x).permute(0, 2, 1)
        theta_x = self.theta(x).permute(0, 2, 1)
        phi_x = self.phi(x)
        f = torch.matmul(theta_x, phi_x)
        f_div_C = f / f.size(-1)
        y = torch.matmul(f_div_C, g_x).permute(0, 2, 1).contiguous()
        return self.W(y) + x
