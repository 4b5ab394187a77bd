import numpy as np


def scaled_dot_product_attention(Q, K, V):
    """softmax(Q K^T / sqrt(d_k)) V"""
    d_k = Q.shape[-1]
    scores = np.dot(Q, K.T) / d_k
    exp = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    attention = exp / np.sum(exp, axis=-1, keepdims=True)
    return np.dot(attention, V)
