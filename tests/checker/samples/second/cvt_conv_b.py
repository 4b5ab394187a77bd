import torch
import torch.nn as nn


class ConvProjAttention(nn.Module):
    """CvT: queries, keys and values by depthwise convolutions over the map of tokens."""

    def __init__(self, dim, heads, stride_kv=2):
        super().__init__()
        self.heads = heads
        self.conv_q = nn.Conv2d(dim, dim, 3, padding=1, groups=dim, bias=False)
        self.conv_k = nn.Conv2d(dim, dim, 3, stride=stride_kv, padding=1, groups=dim, bias=False)
        self.conv_v = nn.Conv2d(dim, dim, 3, stride=stride_kv, padding=1, groups=dim, bias=False)
        self.proj_q, self.proj_k, self.proj_v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.proj = nn.Linear(dim, dim)

    def tokens(self, conv, x):
        y = conv(x)
        b, c, h, w = y.shape
        return y.reshape(b, h * w, c)

    def forward(self, x, h, w):
        b, n, c = x.shape
        x = x.transpose(1, 2).reshape(b, c, h, w)
        q = self.proj_q(self.tokens(self.conv_q, x))
        k = self.proj_k(self.tokens(self.conv_k, x))
        v = self.proj_v(self.tokens(self.conv_v, x))
        q, k, v = (t.view(b, -1, self.heads, c // self.heads).transpose(1, 2) for t in (q, k, v))
        attn = (torch.einsum("bhlk,bhtk->bhlt", q, k) * c**-0.5).softmax(-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(b, n, c))
