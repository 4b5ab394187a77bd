import numpy as np


def flash(q, k, v, tile=4):
    """Running softmax over tiles of keys, never a full row of scores. All (heads, n, d)."""
    h, n, d = q.shape
    top = np.full((h, n, 1), -np.inf)
    total = np.zeros((h, n, 1))
    acc = np.zeros((h, n, v.shape[-1]))
    for start in range(0, k.shape[1], tile):
        s = q @ k[:, start : start + tile].swapaxes(-1, -2) / np.sqrt(d)
        new_top = np.maximum(top, s.max(-1, keepdims=True))
        fade = np.exp(top - new_top)
        p = np.exp(s - new_top)
        total = total * fade + p.sum(-1, keepdims=True)
        acc = acc * fade + p @ v[:, start : start + tile]
        top = new_top
    return acc / total
