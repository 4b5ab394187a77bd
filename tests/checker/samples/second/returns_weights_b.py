import torch.nn as nn


class ReturnsWeights(nn.Module):
    """Returns the output and the weights; average_attn_weights gives their mean over the heads."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)

    def forward(self, x, average_attn_weights=True):
        b, n, c = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.in_proj(x).chunk(3, dim=-1))
        attn = (q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5).softmax(dim=-1)
        out = self.out_proj((attn @ v).transpose(1, 2).reshape(b, n, c))
        if average_attn_weights:
            attn = attn.sum(dim=1)
        return out, attn
