import numpy as np


class MultiHeadSelfAttention:
    """From the blog post "Transformers without a framework".

    Keeps one (dim, head_dim) matrix per head for queries, keys and values.
    """

    def __init__(self, dim, heads, seed=0):
        gen = np.random.default_rng(seed)
        self.heads = heads
        self.head_dim = dim // heads
        shape = (heads, dim, self.head_dim)
        self.W_q = gen.normal(0, dim ** -0.5, shape)
        self.W_k = gen.normal(0, dim ** -0.5, shape)
        self.W_v = gen.normal(0, dim ** -0.5, shape)
        self.W_o = gen.normal(0, dim ** -0.5, (dim, dim))

    def head(self, x, i):
        q = x @ self.W_q[i]
        k = x @ self.W_k[i]
        v = x @ self.W_v[i]
        w = q @ k.T / np.sqrt(self.head_dim)
        w = np.exp(w - w.max(axis=1)[:, None])
        w = w / w.sum(axis=1)[:, None]
        return w @ v

    def __call__(self, x):
        outs = []
        for i in range(self.heads):
            outs.append(self.head(x, i))
        return np.concatenate(outs, axis=-1) @ self.W_o
