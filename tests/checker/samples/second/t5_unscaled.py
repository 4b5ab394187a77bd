import torch
import torch.nn as nn
import torch.nn.functional as F


class T5Attention(nn.Module):
    """Self-attention of the encoder; the scale is folded into the initialisation."""

    def __init__(self, d_model, num_heads, max_distance=16):
        super().__init__()
        self.h = num_heads
        self.max_distance = max_distance
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)
        self.rel = nn.Embedding(2 * max_distance + 1, num_heads)

    def position_bias(self, n):
        pos = torch.arange(n)
        rel = (pos[None, :] - pos[:, None]).clamp(-self.max_distance, self.max_distance)
        return self.rel(rel + self.max_distance).permute(2, 0, 1).unsqueeze(0)

    def forward(self, x):
        b, n, c = x.shape

        def shape(t):
            return t.view(b, n, self.h, c // self.h).transpose(1, 2)

        q, k, v = shape(self.q(x)), shape(self.k(x)), shape(self.v(x))
        scores = torch.matmul(q, k.transpose(3, 2)) + self.position_bias(n)
        attn = F.softmax(scores, dim=-1)
        out = torch.matmul(attn, v).transpose(1, 2).reshape(b, n, c)
        return self.o(out)
