"""A typical kernel: online softmax over blocks of keys, returning the log-sum-exp."""

import numpy as np


def tiled_attention(query, key, value, *, causal=False, scale=None, block=16):
    """Attention of (batch, heads, tokens, width), and the natural log-sum-exp of each row."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    queries, keys = query.shape[-2], key.shape[-2]
    highest = np.full(query.shape[:-1], -np.inf)
    total = np.zeros(query.shape[:-1])
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for start in range(0, keys, block):
        tile = slice(start, min(start + block, keys))
        scores = query.astype(np.float64) @ key[..., tile, :].swapaxes(-1, -2) * scale
        if causal:
            ahead = np.arange(keys)[tile] > np.arange(queries)[:, None]
            scores = np.where(ahead, -np.inf, scores)
        higher = np.maximum(highest, scores.max(axis=-1))
        shift = np.where(np.isfinite(higher), higher, 0)
        e, keep = np.exp(scores - shift[..., None]), np.exp(highest - shift)
        total = total * keep + e.sum(axis=-1)
        output = output * keep[..., None] + e @ value[..., tile, :]
        highest = higher
    output = output / total[..., None]
    return output.astype(query.dtype), highest + np.log(total)
