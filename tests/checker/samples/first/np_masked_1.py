import numpy as np


def softmax(x):
    x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return x / np.sum(x, axis=-1, keepdims=True)


def masked_attention(q, k, v, mask):
    """mask: 1 where a query may look at a key, 0 elsewhere."""
    scores = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    weights = softmax(np.where(mask == 1, scores, -1e9))
    return np.einsum("bqk,bkd->bqd", weights, v)
