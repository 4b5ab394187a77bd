from itertools import accumulate

import torch
from torch import nn
import torch.nn.functional as F


class VarLenSelfAttention(nn.Module):
    """Takes a list of point clouds (n_i, dim), projects them packed, attends inside each, returns a list."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.inp = nn.Linear(dim, 3 * dim)
        self.outp = nn.Linear(dim, dim)

    def forward(self, clouds):
        lens = [c.shape[0] for c in clouds]
        bounds = [0, *accumulate(lens)]
        packed = torch.cat(clouds)
        q, k, v = self.inp(packed).view(len(packed), 3, self.heads, -1).unbind(1)
        outs = []
        for lo, hi in zip(bounds[:-1], bounds[1:]):
            o = F.scaled_dot_product_attention(
                q[lo:hi].transpose(0, 1), k[lo:hi].transpose(0, 1), v[lo:hi].transpose(0, 1))
            outs.append(o.transpose(0, 1).flatten(1))
        return list(self.outp(torch.cat(outs)).split(lens))
