import torch
from torch import nn


def l2norm(t):
    return nn.functional.normalize(t, dim = -1)


class MemoryAttention(nn.Module):
    """ causal cosine-similarity attention with persistent memory key / values, seen by every token """

    def __init__(self, dim, heads = 8, dim_head = 64, num_memory = 4, scale = 8.):
        super().__init__()
        self.heads, self.scale, self.num_memory = heads, scale, num_memory
        self.mem_k = nn.Parameter(torch.randn(heads, num_memory, dim_head))
        self.mem_v = nn.Parameter(torch.randn(heads, num_memory, dim_head))
        self.to_q = nn.Linear(dim, heads * dim_head, bias = False)
        self.to_k = nn.Linear(dim, heads * dim_head, bias = False)
        self.to_v = nn.Linear(dim, heads * dim_head, bias = False)
        self.to_out = nn.Linear(heads * dim_head, dim, bias = False)

    def forward(self, x, mask = None):
        b, n, _ = x.shape
        split = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.to_q(x)), split(self.to_k(x)), split(self.to_v(x))

        k = torch.cat((self.mem_k.expand(b, -1, -1, -1), k), dim = -2)
        v = torch.cat((self.mem_v.expand(b, -1, -1, -1), v), dim = -2)
        q, k = l2norm(q), l2norm(k)

        sim = (q @ k.mT) * self.scale
        mask_value = -torch.finfo(sim.dtype).max

        # memories are never masked
        if mask is not None:
            mask = nn.functional.pad(mask, (self.num_memory, 0), value = True)
            sim = sim.masked_fill(~mask[:, None, None, :], mask_value)

        i, j = sim.shape[-2:]
        causal = torch.ones((i, j), dtype = torch.bool, device = x.device).triu(j - i + 1)
        sim = sim.masked_fill(causal, mask_value)
        attn = sim.softmax(dim = -1)

        out = (attn @ v).transpose(1, 2).flatten(2)
        return self.to_out(out)
