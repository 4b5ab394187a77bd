import torch
import torch.nn as nn


class RelativeSelfAttention(nn.Module):
    """Shaw et al. 2018, keys only.

    Row k + r of ``rel_k`` holds the vector of the relative position r = j - i,
    clipped to [-k, k]; e_ij = q_i . (k_j + a_ij) / sqrt(d).
    """

    def __init__(self, d_model, num_heads, k=4):
        super().__init__()
        self.h, self.k = num_heads, k
        self.dh = d_model // num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.rel_k = nn.Parameter(torch.empty(2 * k + 1, self.dh))
        nn.init.xavier_uniform_(self.rel_k)

    def relative_vectors(self, n):
        r = torch.arange(n)
        dist = r.unsqueeze(0) - r.unsqueeze(1)
        dist = torch.clamp(dist, -self.k, self.k)
        return self.rel_k[dist]

    def forward(self, x):
        bs, n, _ = x.shape
        q = self.w_q(x).view(bs, n, self.h, self.dh).permute(0, 2, 1, 3)
        k = self.w_k(x).view(bs, n, self.h, self.dh).permute(0, 2, 1, 3)
        v = self.w_v(x).view(bs, n, self.h, self.dh).permute(0, 2, 1, 3)
        e = torch.einsum('bhid,bhjd->bhij', q, k)
        e = e + torch.einsum('bhid,ijd->bhij', q, self.relative_vectors(n))
        alpha = torch.softmax(e / self.dh ** 0.5, dim=-1)
        z = torch.einsum('bhij,bhjd->bihd', alpha, v).reshape(bs, n, -1)
        return self.w_o(z)
