import numpy as np


def split_heads(x, n_heads):
    b, n, d = x.shape
    return x.reshape(b, n, n_heads, d // n_heads).transpose(0, 2, 1, 3)


def attention_layer(x, params, n_heads):
    """Multi-head attention with weights and biases from a dict (wq, bq, wk, bk, wv, bv, wo, bo)."""
    q = split_heads(x @ params["wq"], n_heads)
    k = split_heads(x @ params["wk"] + params["bk"], n_heads)
    v = split_heads(x @ params["wv"] + params["bv"], n_heads)
    scores = np.matmul(q, k.transpose(0, 1, 3, 2)) / np.sqrt(q.shape[-1])
    scores -= scores.max(-1, keepdims=True)
    probs = np.exp(scores)
    probs /= probs.sum(-1, keepdims=True)
    out = np.matmul(probs, v).transpose(0, 2, 1, 3).reshape(x.shape)
    return out @ params["wo"] + params["bo"]
