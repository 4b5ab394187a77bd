import torch
import torch.nn as nn


def sparsemax(z, dim=-1):
    """Martins & Astudillo (2016): Euclidean projection of z onto the simplex."""
    z = z.transpose(dim, -1)
    z_sorted, _ = torch.sort(z, dim=-1, descending=True)
    ks = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    cumsum = z_sorted.cumsum(-1)
    support = 1 + ks * z_sorted > cumsum
    k = support.sum(-1, keepdim=True)
    tau = (cumsum.gather(-1, k - 1) - 1) / k.to(z.dtype)
    return torch.clamp(z - tau, min=0).transpose(dim, -1)


class SparseCrossAttention(nn.Module):
    """Cross-attention that gives most of the memory exactly zero weight."""

    def __init__(self, d_query, d_memory, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.fc_q = nn.Linear(d_query, d_query)
        self.fc_k = nn.Linear(d_memory, d_query)
        self.fc_v = nn.Linear(d_memory, d_query)
        self.fc_o = nn.Linear(d_query, d_query)

    def forward(self, query, memory):
        bs, lq, d = query.shape
        lm = memory.shape[1]
        dk = d // self.n_heads
        Q = self.fc_q(query).reshape(bs, lq, self.n_heads, dk).permute(0, 2, 1, 3)
        K = self.fc_k(memory).reshape(bs, lm, self.n_heads, dk).permute(0, 2, 3, 1)
        V = self.fc_v(memory).reshape(bs, lm, self.n_heads, dk).permute(0, 2, 1, 3)
        P = sparsemax(Q @ K / dk ** 0.5, dim=-1)
        ctx = (P @ V).permute(0, 2, 1, 3).reshape(bs, lq, d)
        return self.fc_o(ctx)
