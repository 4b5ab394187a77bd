import torch
from torch import nn


class EncoderSelfAttention(nn.Module):
    """src, pos: (tokens, batch, d). The positions go into queries and keys, not into values."""

    def __init__(self, d_model, nhead):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, dropout=0.0)

    def with_pos_embed(self, tensor, pos):
        return tensor if pos is None else tensor + pos

    def forward(self, src, pos=None):
        q = k = self.with_pos_embed(src, pos)
        return self.self_attn(q, k, value=src)[0]
