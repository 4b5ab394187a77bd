import numpy as np


class MultiHead:
    def __init__(self, d_model, n_heads, seed=0):
        rng = np.random.default_rng(seed)
        self.n_heads = n_heads
        self.W = {name: rng.normal(0, d_model**-0.5, (d_model, d_model)) for name in "qkvo"}

    def __call__(self, x, context=None, pad=None):
        context = x if context is None else context
        q, k, v = x @ self.W["q"], context @ self.W["k"], context @ self.W["v"]
        heads = []
        for qh, kh, vh in zip(*(np.split(a, self.n_heads, axis=-1) for a in (q, k, v))):
            s = np.einsum("bqd,bkd->bqk", qh, kh) / np.sqrt(qh.shape[-1])
            if pad is not None:
                s = np.where(pad[:, None, :], -1e30, s)
            p = np.exp(s - s.max(-1, keepdims=True))
            p /= p.sum(-1, keepdims=True)
            heads.append(p @ vh)
        return np.concatenate(heads, -1) @ self.W["o"]
