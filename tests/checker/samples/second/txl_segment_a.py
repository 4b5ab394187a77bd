import torch
import torch.nn as nn


def sinusoid(pos, dim):
    inv = 1 / (10000 ** (torch.arange(0.0, dim, 2.0, dtype=pos.dtype) / dim))
    ang = torch.outer(pos, inv)
    return torch.cat([ang.sin(), ang.cos()], dim=-1)


class RelMemoryAttention(nn.Module):
    """Transformer-XL attention of a segment over its memory and itself."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.hd = heads, dim // heads
        self.q_net, self.kv_net = nn.Linear(dim, dim, bias=False), nn.Linear(dim, 2 * dim, bias=False)
        self.r_net, self.o_net = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.r_w_bias = nn.Parameter(torch.randn(heads, self.hd))
        self.r_r_bias = nn.Parameter(torch.randn(heads, self.hd))

    def forward(self, w, mems):
        b, qlen, dim = w.shape
        cat = torch.cat([mems, w], 1)
        klen = cat.size(1)
        q = self.q_net(w).view(b, qlen, self.heads, self.hd)
        k, v = (t.view(b, klen, self.heads, self.hd) for t in self.kv_net(cat).chunk(2, -1))
        pos_seq = torch.arange(klen - 1, -1, -1.0, dtype=w.dtype)
        r = self.r_net(sinusoid(pos_seq, dim)).view(klen, self.heads, self.hd)
        AC = torch.einsum("bihd,bjhd->bhij", q + self.r_w_bias, k)
        BD = torch.einsum("bihd,jhd->bhij", q + self.r_r_bias, r)
        BD = torch.cat([BD.new_zeros(b, self.heads, qlen, 1), BD], -1).view(b, self.heads, klen + 1, qlen)
        BD = BD[:, :, 1:].view(b, self.heads, qlen, klen)
        mask = torch.ones(qlen, klen, dtype=torch.bool).triu(1 + klen - qlen)
        prob = ((AC + BD) * self.hd**-0.5).masked_fill(mask, float("-inf")).softmax(-1)
        return self.o_net(torch.einsum("bhij,bjhd->bihd", prob, v).reshape(b, qlen, dim))
