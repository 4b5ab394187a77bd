import torch
from torch import nn


class GatedRelPosAttention(nn.Module):
    """WavLM self-attention: a relative position bias whose strength every frame gates itself.

    For each head the frame's slice of the *input* gives two gates; the bias is multiplied
    by ``u * (r * c - 1) + 2`` with the head's constant c.
    """

    def __init__(self, embed_dim, num_heads, num_buckets=320):
        super().__init__()
        self.num_heads, self.num_buckets = num_heads, num_buckets
        self.head_dim = embed_dim // num_heads
        self.q_proj = nn.Linear(embed_dim, embed_dim)
        self.k_proj = nn.Linear(embed_dim, embed_dim)
        self.v_proj = nn.Linear(embed_dim, embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        self.gru_rel_pos_const = nn.Parameter(torch.ones(1, num_heads, 1, 1))
        self.gru_rel_pos_linear = nn.Linear(self.head_dim, 8)
        self.rel_attn_embed = nn.Embedding(num_buckets, num_heads)

    def position_bias(self, n):
        pos = torch.arange(n)
        rel = pos[None, :] - pos[:, None]
        half = self.num_buckets // 2
        # half of the buckets for keys to the right, half for the rest; clipped
        bucket = (rel > 0).long() * half + rel.abs().clamp(max=half - 1)
        return self.rel_attn_embed(bucket).permute(2, 0, 1)

    def forward(self, x):
        bsz, n, _ = x.shape
        gated = x.view(bsz, n, self.num_heads, self.head_dim).permute(0, 2, 1, 3)
        proj = self.gru_rel_pos_linear(gated).view(bsz, self.num_heads, n, 2, 4).sum(-1)
        gate_a, gate_b = torch.sigmoid(proj).chunk(2, dim=-1)
        gate = gate_a * (gate_b * self.gru_rel_pos_const - 1.0) + 2.0
        bias = gate * self.position_bias(n)

        def heads(t):
            return t.view(bsz, n, self.num_heads, self.head_dim).transpose(1, 2)

        q, k, v = heads(self.q_proj(x)), heads(self.k_proj(x)), heads(self.v_proj(x))
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return self.out_proj(y.transpose(1, 2).reshape(bsz, n, -1))
