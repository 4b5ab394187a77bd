import torch
import torch.nn as nn


class MSARowAttentionWithPairBias(nn.Module):
    def __init__(self, c_m, c_z, c_hidden, n_head):
        super().__init__()
        self.h, self.c = n_head, c_hidden
        self.norm_m = nn.LayerNorm(c_m)
        self.norm_z = nn.LayerNorm(c_z)
        self.linear_b = nn.Linear(c_z, n_head, bias=False)
        self.linear_q = nn.Linear(c_m, n_head * c_hidden, bias=False)
        self.linear_k = nn.Linear(c_m, n_head * c_hidden, bias=False)
        self.linear_v = nn.Linear(c_m, n_head * c_hidden, bias=False)
        self.linear_g = nn.Linear(c_m, n_head * c_hidden)
        self.linear_o = nn.Linear(n_head * c_hidden, c_m)

    def forward(self, m, z):
        """m: (rows, residues, c_m), z: (residues, residues, c_z)."""
        m = self.norm_m(m)
        bias = self.linear_b(self.norm_z(z)).permute(2, 0, 1)
        s, r, _ = m.shape
        q = self.linear_q(m).view(s, r, self.h, self.c) * self.c**-0.5
        k = self.linear_k(m).view(s, r, self.h, self.c)
        v = self.linear_v(m).view(s, r, self.h, self.c)
        a = torch.softmax(torch.einsum("sihc,sjhc->shij", q, k) + bias, dim=-1)
        o = torch.einsum("shij,sjhc->sihc", a, v)
        g = self.linear_g(m).sigmoid().view(s, r, self.h, self.c)
        return self.linear_o((g * o).reshape(s, r, -1))
