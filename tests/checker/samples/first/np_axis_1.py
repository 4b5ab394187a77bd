import numpy as np


def softmax(x, axis=0):
    x = np.exp(x - x.max(axis=axis, keepdims=True))
    return x / x.sum(axis=axis, keepdims=True)


def attention(query, key, value):
    scores = query @ key.T / np.sqrt(query.shape[1])
    weights = softmax(scores)
    return weights @ value
