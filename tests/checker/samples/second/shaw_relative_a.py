import torch
import torch.nn as nn


class ShawAttention(nn.Module):
    """Relative key embeddings, distances clipped to max_rel either way; row 0 is the furthest past."""

    def __init__(self, dim, heads, max_rel=3):
        super().__init__()
        self.heads, self.max_rel = heads, max_rel
        self.to_qkv = nn.Linear(dim, 3 * dim)
        self.rel_k = nn.Parameter(torch.randn(2 * max_rel + 1, dim // heads))

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.to_qkv(x).chunk(3, -1))
        r = torch.arange(n)
        dist = (r[None, :] - r[:, None]).clamp(-self.max_rel, self.max_rel) + self.max_rel
        rel = self.rel_k[dist]
        logits = torch.einsum("bhid,bhjd->bhij", q, k) + torch.einsum("bhid,ijd->bhij", q, rel)
        attn = (logits / (c // self.heads) ** 0.5).softmax(-1)
        return (attn @ v).transpose(1, 2).reshape(b, n, c)
