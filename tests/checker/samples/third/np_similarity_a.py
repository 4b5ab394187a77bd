import numpy as np


def softmax(x, axis=-1):
    x = x - np.max(x, axis=axis, keepdims=True)
    ex = np.exp(x)
    return ex / np.sum(ex, axis=axis, keepdims=True)


def attention_weights(queries, keys):
    """Weights of every key for every query: non-negative, each row sums to 1."""
    d = queries.shape[-1]
    similarity = np.matmul(queries, keys.swapaxes(-1, -2)) / np.sqrt(d)
    return softmax(similarity)


def attend(queries, keys, values):
    """softmax(QK^T / sqrt(d)) V"""
    weights = attention_weights(queries, keys)
    return np.matmul(weights, values)
