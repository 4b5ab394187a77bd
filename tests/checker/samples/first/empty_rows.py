import torch


def masked_attention(q, k, v, allowed):
    """allowed: (queries, keys), True where a key may be seen; a query without any key yields zeros."""
    s = torch.einsum("bqd,bkd->bqk", q, k) * q.shape[-1] ** -0.5
    w = torch.softmax(s.masked_fill(~allowed, float("-inf")), dim=-1)
    w = torch.nan_to_num(w, nan=0.0)
    return torch.einsum("bqk,bkd->bqd", w, v)
