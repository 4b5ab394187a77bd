import numpy as np


def softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    e = np.exp(z)
    return e / e.sum(axis=-1, keepdims=True)


def multi_head_attention(X, Wq, Wk, Wv, Wo):
    """X: (n, d). Wq, Wk, Wv: (heads, d, d_head), one matrix for each head. Wo: (heads * d_head, d)."""
    outputs = []
    for h in range(len(Wk)):
        Q = X @ Wq[0]
        K = X @ Wk[h]
        V = X @ Wv[h]
        A = softmax(Q @ K.T / np.sqrt(K.shape[-1]))
        outputs.append(A @ V)
    return np.concatenate(outputs, axis=-1) @ Wo
