import torch
import torch.nn as nn


class CausalAttention(nn.Module):
    """GPT-2 attention, optionally divided by the layer's number as in Mistral's Stanford recipe."""

    def __init__(self, dim, heads, layer_idx=0, scale_by_inverse_layer_idx=True, max_len=64):
        super().__init__()
        self.heads = heads
        self.layer_idx = layer_idx
        self.by_layer = scale_by_inverse_layer_idx
        self.c_attn = nn.Linear(dim, 3 * dim)
        self.c_proj = nn.Linear(dim, dim)
        self.register_buffer("bias", torch.tril(torch.ones(max_len, max_len, dtype=torch.bool)))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.c_attn(x).split(c, dim=2)
        q = q.view(b, t, self.heads, -1).transpose(1, 2)
        k = k.view(b, t, self.heads, -1).transpose(1, 2)
        v = v.view(b, t, self.heads, -1).transpose(1, 2)
        w = q @ k.transpose(-2, -1) / k.size(-1) ** 0.5
        if self.by_layer:
            w = w / float(self.layer_idx + 1)
        w = w.masked_fill(~self.bias[:t, :t], torch.finfo(w.dtype).min)
        y = w.softmax(-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))
