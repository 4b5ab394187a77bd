import numpy as np


def blockwise_attention(Q, K, V, Br=4, Bc=4):
    """Two loops as in FlashAttention, any number of rows. Q: (n, d), K and V: (m, d)."""
    n, d = Q.shape
    m = K.shape[0]
    O = np.zeros((n, V.shape[1]))
    Tc = -(-m // Bc)
    for i in range(0, n, Br):
        Qi = Q[i : i + Br]
        mi = np.full(len(Qi), -np.inf)
        li = np.zeros(len(Qi))
        Oi = np.zeros((len(Qi), V.shape[1]))
        for j in range(Tc):
            Kj, Vj = K[j * Bc : (j + 1) * Bc], V[j * Bc : (j + 1) * Bc]
            S = Qi @ Kj.T / np.sqrt(d)
            m_new = np.maximum(mi, S.max(axis=1))
            P = np.exp(S - m_new[:, None])
            corr = np.exp(mi - m_new)
            li = corr * li + P.sum(axis=1)
            Oi = corr[:, None] * Oi + P @ Vj
            mi = m_new
        O[i : i + Br] = Oi / li[:, None]
    return O
