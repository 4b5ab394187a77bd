import numpy as np


class AttentionHead:
    """One attention head, forward pass only (assignment 3, part b).

    Adds x back at the end when the sizes allow it.
    """

    def __init__(self, n_in, n_out, rng=None):
        rng = rng or np.random
        s = 1.0 / np.sqrt(n_in)
        self.Wq = rng.uniform(-s, s, (n_in, n_out))
        self.Wk = rng.uniform(-s, s, (n_in, n_out))
        self.Wv = rng.uniform(-s, s, (n_in, n_out))
        self.bq = np.zeros(n_out)
        self.n_out = n_out
        self.cache = {}

    def forward(self, x):
        q = x @ self.Wq + self.bq
        k = x @ self.Wk
        v = x @ self.Wv
        logits = q.dot(k.T) / self.n_out ** 0.5
        logits -= logits.max(axis=-1, keepdims=True)
        expo = np.exp(logits)
        probs = expo / expo.sum(axis=-1, keepdims=True)
        y = probs @ v
        self.cache = dict(x=x, q=q, k=k, v=v, probs=probs)
        if y.shape == x.shape:
            y = y + x
        return y
