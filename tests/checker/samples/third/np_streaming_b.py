import numpy as np


def streaming_attention(Q, K, V, block=16):
    """Exact attention that never holds more than `block` columns of the score matrix.

    Milakov & Gimelshein (2018): keep for every query the running maximum m,
    the running denominator z, and the unnormalised output acc.
    """
    n, d = Q.shape
    m = np.full((n, 1), -np.inf)
    z = np.zeros((n, 1))
    acc = np.zeros((n, V.shape[1]))
    inv = 1.0 / np.sqrt(d)

    for lo in range(0, K.shape[0], block):
        kb = K[lo:lo + block]
        vb = V[lo:lo + block]
        s = (Q @ kb.T) * inv
        m_new = np.maximum(m, s.max(axis=1, keepdims=True))
        alpha = np.exp(m - m_new)
        p = np.exp(s - m_new)
        z = alpha * z + p.sum(axis=1, keepdims=True)
        acc = acc + p @ vb
        m = m_new

    return acc / z
