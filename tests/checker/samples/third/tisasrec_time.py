import torch
from torch import nn


class TimeAwareAttention(nn.Module):
    """Time-interval aware causal attention (TiSASRec).

    intervals[b, i, j]: clipped time between items i and j. Embeddings of the interval
    are added to the key and to the value of the pair.
    """

    def __init__(self, hidden, heads, max_interval=256):
        super().__init__()
        self.heads, self.max_interval = heads, max_interval
        self.Q_w, self.K_w, self.V_w = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.time_K = nn.Embedding(max_interval + 1, hidden)
        self.time_V = nn.Embedding(max_interval + 1, hidden)

    def forward(self, items, intervals):
        b, n, c = items.shape
        d = c // self.heads
        intervals = intervals.clamp_max(self.max_interval)
        q = self.Q_w(items).view(b, n, self.heads, d)
        k = self.K_w(items).view(b, n, self.heads, d)
        v = self.V_w(items).view(b, n, self.heads, d)
        tk = self.time_K(intervals).view(b, n, n, self.heads, d)
        tv = self.time_V(intervals).view(b, n, n, self.heads, d)

        scores = torch.einsum('bihd,bjhd->bhij', q, k)
        scores = scores + torch.einsum('bihd,bijhd->bhij', q, tk)
        scores = scores / d ** 0.5
        mask = torch.triu(torch.ones(n, n, dtype=torch.bool, device=items.device), 1)
        attn = scores.masked_fill(mask, -1e30).softmax(-1)

        out = torch.einsum('bhij,bjhd->bihd', attn, v) + torch.einsum('bhij,bijhd->bihd', attn, tv)
        return out.reshape(b, n, c)
