import torch
import torch.nn as nn
import torch.nn.functional as F


class NonLocalBlock(nn.Module):
    """Embedded Gaussian version."""

    def __init__(self, in_channels):
        super().__init__()
        self.inter = in_channels // 2
        self.g = nn.Conv2d(in_channels, self.inter, 1)
        self.theta = nn.Conv2d(in_channels, self.inter, 1)
        self.phi = nn.Conv2d(in_channels, self.inter, 1)
        self.W_z = nn.Conv2d(self.inter, in_channels, 1)

    def forward(self, x):
        batch = x.size(0)
        g_x = self.g(x).view(batch, self.inter, -1).permute(0, 2, 1)
        theta_x = self.theta(x).view(batch, self.inter, -1).permute(0, 2, 1)
        phi_x = self.phi(x).view(batch, self.inter, -1)
        f = torch.matmul(theta_x, phi_x)
        f_div_C = F.softmax(f, dim=-1)
        y = torch.matmul(f_div_C, g_x).permute(0, 2, 1).contiguous()
        y = y.view(batch, self.inter, *x.size()[2:])
        return self.W_z(y) + x
