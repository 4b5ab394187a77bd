import numpy as np


def positional_encoding(length, depth):
    """sin in the even columns, cos in the odd ones; columns 2i and 2i + 1 share one frequency."""
    pos = np.arange(length)[:, None]
    i = np.arange(depth)[None, :]
    rates = 1 / np.power(10000, 2 * i / depth)
    angles = pos * rates
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return angles


def encode(X, Wq, Wk, Wv):
    H = X + positional_encoding(*X.shape)
    Q, K, V = H @ Wq, H @ Wk, H @ Wv
    S = Q @ K.T / np.sqrt(Q.shape[-1])
    A = np.exp(S - S.max(axis=-1, keepdims=True))
    A /= A.sum(axis=-1, keepdims=True)
    return A @ V
