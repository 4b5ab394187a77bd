import torch
from torch import nn, einsum


class NullKVAttention(nn.Module):
    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.heads, self.scale = heads, dim_head ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.null_kv = nn.Parameter(torch.randn(2, dim_head))
        self.to_q = nn.Linear(dim, heads * dim_head, bias=False)
        self.to_kv = nn.Linear(dim, dim_head * 2, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        x = self.norm(x)
        q = self.to_q(x).reshape(b, n, self.heads, -1).transpose(1, 2) * self.scale
        k, v = self.to_kv(x).chunk(2, dim=-1)
        nk, nv = (t.expand(b, 1, -1) for t in self.null_kv.unsqueeze(1))
        k, v = torch.cat((nk, k), dim=-2), torch.cat((nv, v), dim=-2)
        attn = einsum("b h i d, b j d -> b h i j", q, k).softmax(dim=-1)
        out = einsum("b h i j, b j d -> b h i d", attn, v)
        return self.to_out(out.transpose(1, 2).reshape(b, n, -1))
