import math

import torch
import torch.nn as nn


class GraphormerAttention(nn.Module):
    """Self-attention over nodes with the spatial encoding of Graphormer.

    ``spd[b, i, j]`` is the shortest-path distance between nodes i and j; a learned
    scalar per head and distance is added to the attention score of the pair.
    """

    def __init__(self, hidden, num_heads, max_dist=20):
        super().__init__()
        assert hidden % num_heads == 0
        self.num_heads = num_heads
        self.att_size = hidden // num_heads
        self.linear_q = nn.Linear(hidden, hidden)
        self.linear_k = nn.Linear(hidden, hidden)
        self.linear_v = nn.Linear(hidden, hidden)
        self.spatial_pos_encoder = nn.Embedding(max_dist + 1, num_heads)
        self.output_layer = nn.Linear(hidden, hidden)
        self.max_dist = max_dist

    def forward(self, x, spd):
        b, n, _ = x.size()
        q = self.linear_q(x).view(b, n, self.num_heads, self.att_size).transpose(1, 2)
        k = self.linear_k(x).view(b, n, self.num_heads, self.att_size).transpose(1, 2)
        v = self.linear_v(x).view(b, n, self.num_heads, self.att_size).transpose(1, 2)
        attn_bias = self.spatial_pos_encoder(spd.clamp(max=self.max_dist)).permute(0, 3, 1, 2)
        a = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.att_size)
        a = a + attn_bias
        a = torch.softmax(a, dim=3)
        x = a.matmul(v).transpose(1, 2).contiguous().view(b, n, -1)
        return self.output_layer(x)
