import torch
import torch.nn as nn


class TriangleAttentionStartingNode(nn.Module):
    """Edges i-j attend over k along edges i-k; the bias for (j, k) is read from edge j-k."""

    def __init__(self, c_z, c_hidden, heads):
        super().__init__()
        self.h, self.c = heads, c_hidden
        self.norm = nn.LayerNorm(c_z)
        self.to_qkv = nn.Linear(c_z, 3 * heads * c_hidden, bias=False)
        self.to_b = nn.Linear(c_z, heads, bias=False)
        self.to_g = nn.Linear(c_z, heads * c_hidden)
        self.to_o = nn.Linear(heads * c_hidden, c_z)

    def forward(self, z):
        z = self.norm(z)
        n = z.shape[0]
        q, k, v = (t.view(n, n, self.h, self.c) for t in self.to_qkv(z).chunk(3, -1))
        b = self.to_b(z)
        logits = torch.einsum("ijhc,ikhc->ihjk", q, k) * self.c**-0.5
        logits = logits + b.permute(2, 0, 1)[None]
        w = logits.softmax(dim=-1)
        o = torch.einsum("ihjk,ikhc->ijhc", w, v)
        g = torch.sigmoid(self.to_g(z)).view(n, n, self.h, self.c)
        return self.to_o((g * o).flatten(2))
