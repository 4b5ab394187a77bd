"""Week 5 notebook: self attention from scratch."""
import numpy as np


def softmax(z):
    """Row-wise softmax of a 2-D array."""
    z = z - np.max(z)
    e = np.exp(z)
    return e / e.sum()


def self_attention(X, Wq, Wk, Wv):
    """
    X : (n_words, d_model) word embeddings
    Wq, Wk, Wv : (d_model, d_k)
    Returns the context vectors and the attention map, whose rows are distributions.
    """
    Q = np.dot(X, Wq)
    K = np.dot(X, Wk)
    V = np.dot(X, Wv)
    d_k = K.shape[1]
    S = np.dot(Q, K.T) / np.sqrt(d_k)
    A = softmax(S)
    return np.dot(A, V), A
