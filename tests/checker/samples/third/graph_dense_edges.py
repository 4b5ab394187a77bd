import torch
import torch.nn as nn


class GraphAttentionWithEdges(nn.Module):
    """Graph Transformer layer of Dwivedi & Bresson on dense adjacency.

    The per-channel products q * k / sqrt(d) are multiplied by the edge features, summed over the
    head's channels, clamped to [-5, 5] and exponentiated; the weights are normalised over the
    neighbours (with 1e-6 in the denominator, so that a node without neighbours gets zero).
    """

    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.out_dim = dim // num_heads
        self.Q = nn.Linear(dim, dim, bias=False)
        self.K = nn.Linear(dim, dim, bias=False)
        self.V = nn.Linear(dim, dim, bias=False)
        self.E = nn.Linear(dim, dim, bias=False)

    def forward(self, h, e, adj):
        B, n, _ = h.shape
        H, D = self.num_heads, self.out_dim
        Q_h = self.Q(h).view(B, n, H, D)
        K_h = self.K(h).view(B, n, H, D)
        V_h = self.V(h).view(B, n, H, D)
        E_h = self.E(e).view(B, n, n, H, D)

        score = Q_h[:, :, None] * K_h[:, None] / D ** 0.5
        score = score * E_h
        score = torch.exp(score.sum(-1).clamp(-5, 5))
        score = score * adj.unsqueeze(-1)

        wV = torch.einsum("bijh,bjhd->bihd", score, V_h)
        z = score.sum(2).unsqueeze(-1)
        return (wV / (z + 1e-6)).reshape(B, n, H * D)
