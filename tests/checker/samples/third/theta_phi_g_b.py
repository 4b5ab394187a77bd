import torch
import torch.nn as nn


class ConvSelfAttention(nn.Module):
    def __init__(self, in_ch, n_heads, groups=4):
        super().__init__()
        self.n_heads = n_heads
        self.norm = nn.GroupNorm(groups, in_ch)
        self.theta = nn.Conv2d(in_ch, in_ch, 1)
        self.phi = nn.Conv2d(in_ch, in_ch, 1)
        self.g = nn.Conv2d(in_ch, in_ch, 1)
        self.out = nn.Conv2d(in_ch, in_ch, kernel_size=1)

    def forward(self, x):
        n, c, hh, ww = x.size()
        d = c // self.n_heads
        z = self.norm(x)
        theta = self.theta(z).reshape(n, self.n_heads, d, hh * ww).transpose(2, 3)
        phi = self.phi(z).reshape(n, self.n_heads, d, hh * ww)
        g = self.g(z).reshape(n, self.n_heads, d, hh * ww).transpose(2, 3)
        f = torch.matmul(theta, phi) / d ** 0.5
        f = f.softmax(-1)
        y = torch.matmul(f, g)
        y = y.transpose(2, 3).reshape(n, c, hh, ww)
        return x + self.out(y)
