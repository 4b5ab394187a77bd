import torch.nn as nn


class SelfAttentionBlock(nn.Module):
    """key_padding_mask: True at padding, as in nn.MultiheadAttention."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, num_heads, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        y = self.norm(x)
        y, _ = self.attn(y, y, y, key_padding_mask=key_padding_mask, need_weights=False)
        return x + y
