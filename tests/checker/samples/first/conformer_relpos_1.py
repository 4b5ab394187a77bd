import math

import torch
from torch import nn


class RelPositionMultiHeadedAttention(nn.Module):
    """Relative positions as in Transformer-XL; pos_emb is (1, 2 * time - 1, size), from +time-1 to -(time-1)."""

    def __init__(self, n_head, n_feat):
        super().__init__()
        self.h, self.d_k = n_head, n_feat // n_head
        self.linear_q = nn.Linear(n_feat, n_feat)
        self.linear_k = nn.Linear(n_feat, n_feat)
        self.linear_v = nn.Linear(n_feat, n_feat)
        self.linear_out = nn.Linear(n_feat, n_feat)
        self.linear_pos = nn.Linear(n_feat, n_feat, bias=False)
        self.pos_bias_u = nn.Parameter(torch.randn(self.h, self.d_k))
        self.pos_bias_v = nn.Parameter(torch.randn(self.h, self.d_k))

    def rel_shift(self, x):
        zero_pad = torch.zeros((*x.size()[:3], 1), dtype=x.dtype)
        x_padded = torch.cat([zero_pad, x], dim=-1).view(*x.size()[:2], x.size(3) + 1, x.size(2))
        return x_padded[:, :, 1:].reshape(x.shape)[:, :, :, : x.size(-1) // 2 + 1]

    def forward(self, x, pos_emb):
        b, t, _ = x.shape
        q = self.linear_q(x).view(b, t, self.h, self.d_k)
        k = self.linear_k(x).view(b, t, self.h, self.d_k).transpose(1, 2)
        v = self.linear_v(x).view(b, t, self.h, self.d_k).transpose(1, 2)
        p = self.linear_pos(pos_emb).view(1, -1, self.h, self.d_k).transpose(1, 2)
        q_with_bias_u = (q + self.pos_bias_u).transpose(1, 2)
        q_with_bias_v = (q + self.pos_bias_v).transpose(1, 2)
        matrix_ac = torch.matmul(q_with_bias_u, k.transpose(-2, -1))
        matrix_bd = self.rel_shift(torch.matmul(q_with_bias_v, p.transpose(-2, -1)))
        attn = torch.softmax((matrix_ac + matrix_bd) / math.sqrt(self.d_k), dim=-1)
        x = torch.matmul(attn, v).transpose(1, 2).reshape(b, t, -1)
        return self.linear_out(x)
