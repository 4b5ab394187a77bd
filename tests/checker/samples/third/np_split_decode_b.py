"""Reference for the split-K decode kernel (one query token per head)."""
import math

import numpy as np


def partial(q, k, v):
    # q (d,), k (s, d), v (s, d): output of this split and its log-sum-exp
    s = k @ q / math.sqrt(q.shape[0])
    top = s.max()
    e = np.exp(s - top)
    den = e.sum()
    return (e @ v) / den, top + np.log(den)


def flash_decode(q, k, v, n_splits=4):
    """q (h, d); k, v (h, s, d). The keys are cut in n_splits runs, each is
    attended alone, and the partial results are merged exactly."""
    h, d = q.shape
    s = k.shape[1]
    size = -(-s // n_splits)
    out = np.empty((h, d))
    for i in range(h):
        parts, lses = [], []
        for lo in range(0, s, size):
            o, l = partial(q[i], k[i, lo:lo + size], v[i, lo:lo + size])
            parts.append(o)
            lses.append(l)
        lses = np.asarray(lses)
        w = np.exp(lses - lses.max())
        w /= w.sum()
        out[i] = (w[:, None] * np.stack(parts)).sum(0)
    return out
