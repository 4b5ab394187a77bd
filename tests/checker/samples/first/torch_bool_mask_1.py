import torch


def dot_attention(q, k, v, mask=None):
    """Dot-product attention.

    mask: boolean, (queries, keys); True where the query may look at the key.
    """
    logits = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
    if mask is not None:
        logits = logits.masked_fill(~mask, float("-inf"))
    return torch.bmm(torch.softmax(logits, dim=-1), v)
