import numpy as np


def multihead(x, wq, wk, wv, wo, lengths):
    """x: (batch, n, d); wq, wk, wv: (d, heads, k); wo: (heads, k, d); lengths: real tokens per sentence."""
    q = np.einsum("bnd,dhk->bhnk", x, wq)
    k = np.einsum("bnd,dhk->bhnk", x, wk)
    v = np.einsum("bnd,dhk->bhnk", x, wv)
    s = np.einsum("bhik,bhjk->bhij", q, k) / wq.shape[-1] ** 0.5
    padded = np.arange(x.shape[1])[None, :] >= lengths[:, None]
    s = np.where(padded[:, None, None, :], -np.inf, s)
    a = np.exp(s - s.max(-1, keepdims=True))
    a /= a.sum(-1, keepdims=True)
    return np.einsum("bhij,bhjk,hkd->bid", a, v, wo)
