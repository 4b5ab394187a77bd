import math

import torch
from torch import nn


class PointerDecoder(nn.Module):
    """Decoder step of "Attention, Learn to Solve Routing Problems!".

    A multi-head glimpse over the cities gives the final query; its single-head
    compatibilities, clipped to [-C, C] by C * tanh, are the logits of the next city.
    ``visited`` is True for cities that may not be chosen. Returns log-probabilities.
    """

    def __init__(self, embed_dim, n_heads=8, tanh_clipping=10.0):
        super().__init__()
        self.n_heads, self.tanh_clipping = n_heads, tanh_clipping
        self.project_node_embeddings = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.project_out = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, embeddings, visited):
        glimpse_K, glimpse_V, logit_K = self.project_node_embeddings(embeddings).chunk(3, dim=-1)
        batch, n, dim = embeddings.shape
        d = dim // self.n_heads

        glimpse_Q = query.view(batch, self.n_heads, 1, d)
        glimpse_K = glimpse_K.reshape(batch, n, self.n_heads, d).transpose(1, 2)
        glimpse_V = glimpse_V.reshape(batch, n, self.n_heads, d).transpose(1, 2)
        compatibility = torch.matmul(glimpse_Q, glimpse_K.transpose(-2, -1)) / math.sqrt(d)
        compatibility[visited[:, None, None, :].expand_as(compatibility)] = -math.inf
        heads = torch.matmul(torch.softmax(compatibility, dim=-1), glimpse_V)
        final_Q = self.project_out(heads.reshape(batch, 1, dim))

        logits = torch.matmul(final_Q, logit_K.transpose(-2, -1)).squeeze(1) / math.sqrt(dim)
        logits = torch.tanh(logits) * self.tanh_clipping
        logits = logits.masked_fill(visited, -1e9)
        return torch.log_softmax(logits, dim=-1).masked_fill(visited, -1e9)
