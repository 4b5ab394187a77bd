import numpy as np


def self_attention(x, W_q, W_k, W_v):
    q = x @ W_q
    k = x @ W_k
    v = x @ W_k
    scores = q @ k.T / np.sqrt(k.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ v
