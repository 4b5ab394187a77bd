"""A kernel with a bug, and what ``regard.check`` says about it.

Run ``python check_my_kernel.py``, or ``regard check check_my_kernel.py:my_attention``, which
executes this file.
"""

import numpy as np

import regard


def my_attention(query, key, value, causal=False):
    """Attention with a common bug: the mask is applied after the softmax."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    if causal:
        weights = np.tril(weights)  # rows no longer sum to 1
    return weights @ value


def my_attention_mended(query, key, value, causal=False):
    """The same with the mask applied before the softmax."""
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if causal:
        visible = np.tril(np.ones(scores.shape[-2:], bool))
        scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


if __name__ == "__main__":
    print(regard.check(my_attention))
    print()
    print(regard.check(my_attention_mended))
