import numpy as np


def tiled_attention(q, k, v, block=4):
    n, m = q.shape[0], k.shape[0]
    scale = 1.0 / np.sqrt(q.shape[1])
    out = np.zeros((n, v.shape[1]))
    running_max = np.full((n, 1), -np.inf)
    running_sum = np.zeros((n, 1))
    for start in range(0, m - block + 1, block):
        s = q @ k[start : start + block].T * scale
        new_max = np.maximum(running_max, s.max(axis=1, keepdims=True))
        correction = np.exp(running_max - new_max)
        p = np.exp(s - new_max)
        running_sum = running_sum * correction + p.sum(axis=1, keepdims=True)
        out = out * correction + p @ v[start : start + block]
        running_max = new_max
    return out / running_sum
