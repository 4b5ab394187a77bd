import torch


def fast_attention(q, k, v):
    scale = q.shape[-1] ** -0.5
    scores = (q @ k.transpose(-2, -1)) * scale
    weights = torch.softmax(scores, dim=-1).to(v.dtype)
    return weights @ v
