import numpy as np


def attend(q, k, v):
    """q: (heads, n, d), k and v: (heads, m, d)."""
    q *= q.shape[-1] ** -0.5
    s = np.matmul(q, k.swapaxes(-1, -2))
    s -= s.max(-1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(-1, keepdims=True)
    return np.matmul(s, v)
