import torch.nn as nn
import torch.nn.functional as F


class ViTAttention(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, tokens):
        b, n, c = tokens.shape
        q, k, v = (
            layer(tokens).view(b, n, self.heads, c // self.heads).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        context = F.scaled_dot_product_attention(q, k, v)
        return self.out(context.reshape(b, n, c))
