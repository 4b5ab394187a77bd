import math

import torch
from torch import nn


def masked_softmax(X, valid_lens):
    """Softmax over the last axis; only the first valid_lens[i] elements of example i count."""
    if valid_lens is None:
        return nn.functional.softmax(X, dim=-1)
    keep = torch.arange(X.shape[-1], device=X.device)[None, None, :] < valid_lens[:, None, None]
    return nn.functional.softmax(X.masked_fill(~keep, -1e6), dim=-1)


class DotProductAttention(nn.Module):
    """queries (b, n, d), keys (b, m, d), values (b, m, v), valid_lens (b,): number of real keys."""

    def forward(self, queries, keys, values, valid_lens=None):
        d = queries.shape[-1]
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d)
        self.attention_weights = masked_softmax(scores, valid_lens)
        return torch.bmm(self.attention_weights, values)
