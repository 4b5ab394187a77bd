import torch


def scaled_dot_product(q, k, v, key_padding_mask=None):
    """softmax(q k^T / sqrt(d)) v with d the width of one head; True in the mask is padding."""
    d = q.shape[-1]
    scores = torch.einsum("bhid,bhjd->bhij", q, k) * d**0.5
    if key_padding_mask is not None:
        scores = scores.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
    return torch.einsum("bhij,bhjd->bhid", torch.softmax(scores, dim=-1), v)
