import numpy as np


def _split(t, h):
    b, n, d = t.shape
    return t.reshape(b, n, h, d // h).transpose(0, 2, 1, 3)


def _softmax(a):
    a = np.exp(a - a.max(-1, keepdims=True))
    return a / a.sum(-1, keepdims=True)


def mha_forward(x, params, n_heads, pad_mask=None):
    """Multi-head attention in plain numpy.

    Args:
        x: (batch, seq, dim)
        params: dict with 'wq', 'wk', 'wv', 'wo', each (dim, dim)
        pad_mask: (batch, seq), 1 for a word and 0 for <pad>; no word looks at <pad>
    """
    q, k, v = (_split(x @ params[n], n_heads) for n in ("wq", "wk", "wv"))
    scores = np.einsum("bhid,bhjd->bhij", q, k)
    scores = scores / np.sqrt(q.shape[-1])
    if pad_mask is not None:
        scores = np.where(pad_mask[:, None, None, :] == 0, -1e9, scores)
    out = np.einsum("bhij,bhjd->bhid", _softmax(scores), v)
    b, h, n, d = out.shape
    out = out.transpose(0, 2, 1, 3).reshape(b, n, h * d)
    return out @ params["wo"]
