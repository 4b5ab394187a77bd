import numpy as np

NEG = -1e30


def causal_head(x, w_query, w_key, w_value):
    """x: B x T x C.  Token t looks at tokens 0..t, itself included."""
    T = x.shape[1]
    q, k, v = x @ w_query, x @ w_key, x @ w_value
    wei = q @ np.transpose(k, (0, 2, 1)) * k.shape[-1] ** -0.5
    keep = np.tril(np.ones((T, T), dtype=bool), -1)
    wei = np.where(keep, wei, NEG)
    wei = wei - wei.max(-1, keepdims=True)
    wei = np.exp(wei)
    wei = wei / wei.sum(-1, keepdims=True)
    return wei @ v
