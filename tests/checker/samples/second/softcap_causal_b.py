import torch
import torch.nn as nn


class SoftcapAttention(nn.Module):
    def __init__(self, dim, heads, attn_logit_softcapping=5.0):
        super().__init__()
        self.heads = heads
        self.cap = attn_logit_softcapping
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = torch.matmul(q, k.transpose(2, 3)) * (c // self.heads) ** -0.5
        mask = torch.full((t, t), torch.finfo(x.dtype).min, dtype=x.dtype).triu(1)
        scores = scores + mask
        scores = self.cap * torch.tanh(scores / self.cap)
        attn = scores.softmax(dim=-1)
        return self.o(torch.matmul(attn, v).transpose(1, 2).reshape(b, t, c))
