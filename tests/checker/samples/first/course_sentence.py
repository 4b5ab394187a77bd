import numpy as np


def sentence_attention(E, W):
    """E: one row per word. Returns the new vectors and the attention table."""
    Q, K, V = E @ W["Q"], E @ W["K"], E @ W["V"]
    n = len(E)
    table = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            table[i, j] = np.dot(Q[i], K[j]) / np.sqrt(K.shape[1])
        table[i] = np.exp(table[i] - table[i].max())
        table[i] /= table[i].sum()
    return table @ V, table
