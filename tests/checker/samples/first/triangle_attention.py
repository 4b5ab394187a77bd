import torch
from torch import nn


class TriangleAttention(nn.Module):
    """Attention around the starting node: z[i, j] looks at z[i, k], biased by z[j, k]."""

    def __init__(self, c_z, c_hidden, heads):
        super().__init__()
        self.h, self.c = heads, c_hidden
        self.norm = nn.LayerNorm(c_z)
        self.to_qkv = nn.Linear(c_z, 3 * heads * c_hidden, bias=False)
        self.to_b = nn.Linear(c_z, heads, bias=False)
        self.to_g = nn.Linear(c_z, heads * c_hidden)
        self.to_out = nn.Linear(heads * c_hidden, c_z)

    def forward(self, z):
        n = z.shape[0]
        z = self.norm(z)
        q, k, v = (t.view(n, n, self.h, self.c) for t in self.to_qkv(z).chunk(3, -1))
        b = self.to_b(z).permute(2, 0, 1)
        a = torch.einsum("ijhc,ikhc->ihjk", q, k) / self.c ** 0.5 + b
        o = torch.einsum("ihjk,ikhc->ijhc", a.softmax(-1), v).reshape(n, n, -1)
        return self.to_out(torch.sigmoid(self.to_g(z)) * o)
