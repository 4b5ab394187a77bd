import numpy as np


def chunked_attention(q, k, v, chunk_size=64):
    """Keeps memory low: only chunk_size rows of scores exist at a time."""
    out = []
    for start in range(0, q.shape[-2], chunk_size):
        s = q[..., start : start + chunk_size, :] @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
        s = np.exp(s - s.max(axis=-1, keepdims=True))
        out.append(s @ v / s.sum(axis=-1, keepdims=True))
    return np.concatenate(out, axis=-2)
