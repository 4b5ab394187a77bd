import torch
from torch import nn


class RowAttentionWithPairBias(nn.Module):
    """MSA row attention. m: (s, i, c_m), z: (i, j, c_z); z[i, j] biases how i looks at j."""

    def __init__(self, c_m, c_z, c_hidden, no_heads):
        super().__init__()
        self.h, self.c = no_heads, c_hidden
        self.layer_norm_m = nn.LayerNorm(c_m)
        self.layer_norm_z = nn.LayerNorm(c_z)
        self.linear_z = nn.Linear(c_z, no_heads, bias=False)
        self.linear_q = nn.Linear(c_m, c_hidden * no_heads, bias=False)
        self.linear_k = nn.Linear(c_m, c_hidden * no_heads, bias=False)
        self.linear_v = nn.Linear(c_m, c_hidden * no_heads, bias=False)
        self.linear_g = nn.Linear(c_m, c_hidden * no_heads)
        self.linear_o = nn.Linear(c_hidden * no_heads, c_m)

    def forward(self, m, z):
        m = self.layer_norm_m(m)
        shape = m.shape[:-1] + (self.h, self.c)
        q = self.linear_q(m).view(shape) * self.c ** -0.5
        k = self.linear_k(m).view(shape)
        v = self.linear_v(m).view(shape)
        g = torch.sigmoid(self.linear_g(m)).view(shape)
        b = self.linear_z(self.layer_norm_z(z)).permute(2, 0, 1)
        a = torch.einsum("sihc,sjhc->shij", q, k) + b[None]
        a = torch.softmax(a, dim=-1)
        o = g * torch.einsum("shij,sjhc->sihc", a, v)
        return self.linear_o(o.reshape(m.shape[:-1] + (-1,)))
