import numpy as np


def softmax(z):
    e = np.exp(z - np.max(z, axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def attention_head(X, Wq, Wk, Wv, causal=False):
    """One head over one sentence. X is (words, d_model)."""
    Q = X.dot(Wq)
    K = X.dot(Wk)
    V = X.dot(Wv)
    scores = Q.dot(K.T) / np.sqrt(K.shape[1])
    if causal:
        n = len(X)
        scores[np.triu_indices(n, k=1)] = -np.inf
    return softmax(scores).dot(V)
