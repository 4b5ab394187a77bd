import torch
import torch.nn as nn


class DetrEncoderAttention(nn.Module):
    """Spatial positions are added to queries and keys only."""

    def __init__(self, d_model, nhead):
        super().__init__()
        self.nhead = nhead
        self.q_proj, self.k_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.v_proj, self.out_proj = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def with_pos_embed(self, tensor, pos):
        return tensor if pos is None else tensor + pos

    def forward(self, src, pos=None):
        n, b, c = src.shape
        x = self.with_pos_embed(src, pos)
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        q, k, v = (t.view(n, b * self.nhead, -1).transpose(0, 1) for t in (q, k, v))
        attn = torch.bmm(q * (c // self.nhead) ** -0.5, k.transpose(1, 2)).softmax(-1)
        return src + self.out_proj(torch.bmm(attn, v).transpose(0, 1).reshape(n, b, c))
