import numpy as np


def online_attention(q, k, v):
    """One pass over the keys with a running maximum and a running sum."""
    n = len(q)
    m, l, o = np.full(n, -np.inf), np.zeros(n), np.zeros((n, v.shape[1]))
    for key, value in zip(k, v):
        s = q @ key / np.sqrt(q.shape[1])
        m_new = np.maximum(m, s)
        scale, p = np.exp(m - m_new), np.exp(s - m_new)
        l = l * scale + p
        o = o * scale[:, None] + p[:, None] * value
        m = m_new
    return o / l[:, None]
