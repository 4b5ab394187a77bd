import torch
from torch import nn
import torch.nn.functional as F


class ParallelAttention(nn.Module):
    """ViT-22B style block: attention and MLP read the same normed input in parallel.
    Queries and keys are layer-normed per head (no bias) before the dot product.
    """

    def __init__(self, dim, num_heads, mlp_ratio=2):
        super().__init__()
        self.num_heads = num_heads
        self.head_dim = dim // num_heads
        self.in_norm = nn.LayerNorm(dim)
        self.in_split = [dim * mlp_ratio] + [dim] * 3
        self.in_proj = nn.Linear(dim, sum(self.in_split), bias=False)
        self.q_norm = nn.LayerNorm(self.head_dim, bias=False)
        self.k_norm = nn.LayerNorm(self.head_dim, bias=False)
        self.attn_out = nn.Linear(dim, dim)
        self.mlp_out = nn.Linear(dim * mlp_ratio, dim)

    def forward(self, x):
        B, N, C = x.shape
        y = self.in_norm(x)
        hid, q, k, v = torch.split(self.in_proj(y), self.in_split, dim=-1)
        q = q.view(B, N, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(B, N, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(B, N, self.num_heads, self.head_dim).transpose(1, 2)
        q = self.q_norm(q)
        k = self.k_norm(k)
        attn = F.scaled_dot_product_attention(q, k, v)
        attn = self.attn_out(attn.transpose(1, 2).reshape(B, N, C))
        return x + attn + self.mlp_out(F.gelu(hid))
