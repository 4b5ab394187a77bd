import numpy as np


def masked_attention(q, k, v, mask):
    """mask is 1 where a key may be seen and 0 elsewhere. (heads, n, d)."""
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1])
    bias = mask.astype(scores.dtype, copy=False)
    bias -= 1.0
    bias *= 1e9
    scores = scores + bias
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.matmul(weights, v)
