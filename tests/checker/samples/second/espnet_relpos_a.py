import math

import torch
from torch import nn


class RelPositionAttention(nn.Module):
    """Relative positions as in Transformer-XL, both directions.

    pos_emb has 2 * time - 1 rows, from the offset time - 1 down to -(time - 1);
    the score of query i and key j reads the row of the offset i - j.
    """

    def __init__(self, n_head, n_feat):
        super().__init__()
        self.h, self.d_k = n_head, n_feat // n_head
        self.linear_q, self.linear_k = nn.Linear(n_feat, n_feat), nn.Linear(n_feat, n_feat)
        self.linear_v, self.linear_out = nn.Linear(n_feat, n_feat), nn.Linear(n_feat, n_feat)
        self.linear_pos = nn.Linear(n_feat, n_feat, bias=False)
        self.pos_bias_u = nn.Parameter(torch.randn(n_head, self.d_k))
        self.pos_bias_v = nn.Parameter(torch.randn(n_head, self.d_k))

    def rel_shift(self, x):
        b, h, t, m = x.shape
        padded = torch.cat([x.new_zeros(b, h, t, 1), x], dim=-1).view(b, h, m + 1, t)
        return padded[:, :, 1:].view_as(x)[:, :, :, : m // 2 + 1]

    def forward(self, x, pos_emb):
        b, t, c = x.shape
        q = self.linear_q(x).view(b, t, self.h, self.d_k)
        k = self.linear_k(x).view(b, t, self.h, self.d_k).transpose(1, 2)
        v = self.linear_v(x).view(b, t, self.h, self.d_k).transpose(1, 2)
        p = self.linear_pos(pos_emb).view(1, -1, self.h, self.d_k).transpose(1, 2)
        ac = (q + self.pos_bias_u).transpose(1, 2) @ k.transpose(-2, -1)
        bd = self.rel_shift((q + self.pos_bias_v).transpose(1, 2) @ p.transpose(-2, -1))
        attn = torch.softmax((ac + bd) / math.sqrt(self.d_k), dim=-1)
        return self.linear_out((attn @ v).transpose(1, 2).reshape(b, t, c))
