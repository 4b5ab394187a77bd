import torch
import torch.nn as nn


class MultiQueryAttention(nn.Module):
    """Shazeer 2019: many query heads, one key and one value head. No scale, as in the paper."""

    def __init__(self, d, h, k):
        super().__init__()
        self.P_q = nn.Parameter(torch.randn(h, d, k) * d**-0.5 * k**-0.5)
        self.P_k = nn.Parameter(torch.randn(d, k) * d**-0.5)
        self.P_v = nn.Parameter(torch.randn(d, k) * d**-0.5)
        self.P_o = nn.Parameter(torch.randn(h, d, k) * (h * k) ** -0.5)

    def forward(self, X, M=None, mask=0.0):
        M = X if M is None else M
        Q = torch.einsum("bnd,hdk->bhnk", X, self.P_q)
        K = torch.einsum("bmd,dk->bmk", M, self.P_k)
        V = torch.einsum("bmd,dv->bmv", M, self.P_v)
        logits = torch.einsum("bhnk,bmk->bhnm", Q, K)
        weights = torch.softmax(logits + mask, dim=-1)
        O = torch.einsum("bhnm,bmv->bhnv", weights, V)
        return torch.einsum("bhnv,hdv->bnd", O, self.P_o)
