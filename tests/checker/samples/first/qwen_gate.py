import torch
from torch import nn
import torch.nn.functional as F


class GatedHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(dim, dim + heads)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.o_proj = nn.Linear(dim, dim)
        self.q_norm = nn.RMSNorm(dim // heads, eps=1e-6)
        self.k_norm = nn.RMSNorm(dim // heads, eps=1e-6)

    def forward(self, x):
        b, n, d = x.shape
        q, gate = self.q_proj(x).split([d, self.heads], dim=-1)
        q = self.q_norm(q.view(b, n, self.heads, -1)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(b, n, self.heads, -1)).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.heads, -1).transpose(1, 2)
        out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        out = out * torch.sigmoid(gate).unsqueeze(-1)
        return self.o_proj(out.reshape(b, n, d))
