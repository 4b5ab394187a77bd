"""Functions that the checker is tuned on, in the manners of public code."""
# ruff: noqa: E741, N803, N806, PT018

import math

import numpy as np
import torch
import torch.nn.functional as F
from tests.checker.samples.collection.registry import TUNED

right, wrong = TUNED.right, TUNED.wrong


def np_softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@right
def fill_where_true(query, key, value, mask=None, dropout=None):
    logits = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(key.size(-1))
    if mask is not None:
        logits = logits.masked_fill(mask, -1e9)
    attn = F.softmax(logits, dim=-1)
    return torch.matmul(attn, value), attn


@right
def added_with_a_comment(query, key, value, attention_mask):
    # attention_mask: used to mask out the padding; 0 for real words, a large negative number else
    scores = query @ key.transpose(-1, -2)
    scores = scores / math.sqrt(query.shape[-1])
    scores = scores + attention_mask
    probs = torch.softmax(scores, dim=-1)
    return probs @ value


@right
def scale_divides(query, key, value, scale=None, mask=None):
    """scale: the scores are divided by it; by default the root of the width."""
    scale = query.shape[-1] ** 0.5 if scale is None else scale
    s = torch.einsum("bhnd,bhsd->bhns", query / scale, key)
    if mask is not None:
        s.masked_fill_(~mask, torch.finfo(s.dtype).min)
    return torch.einsum("bhns,bhsd->bhnd", s.softmax(-1), value)


@right
def blocks_of_numpy(Q, K, V, block=2):
    """One matrix; as many queries as keys."""
    n, d = Q.shape
    out, m, l = np.zeros_like(V), np.full(n, -np.inf), np.zeros(n)
    for j in range(0, n, block):
        s = Q @ K[j : j + block].T / np.sqrt(d)
        new = np.maximum(m, s.max(axis=1))
        p = np.exp(s - new[:, None])
        back = np.exp(m - new)
        l = l * back + p.sum(axis=1)
        out = out * back[:, None] + p @ V[j : j + block]
        m = new
    return out / l[:, None]


@right
def channels_first(q, k, v):
    """q, k, v: (b, h, d, t), as convolutions give them."""
    w = torch.einsum("bhdi,bhdj->bhij", q, k) * q.shape[2] ** -0.5
    w = w.softmax(dim=-1)
    return torch.einsum("bhij,bhdj->bhdi", w, v)


@right
def packed_five_axes(qkv):
    """qkv: (batch, seqlen, 3, nheads, headdim)."""
    q, k, v = qkv.unbind(dim=2)
    scores = torch.einsum("bthd,bshd->bhts", q, k / math.sqrt(q.shape[-1]))
    return torch.einsum("bhts,bshd->bthd", torch.softmax(scores, dim=-1), v)


@right
def query_and_packed_pair(q, kv, causal=False):
    k, v = kv[:, :, 0], kv[:, :, 1]
    scores = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
    if causal:
        t, s = scores.shape[-2:]
        later = torch.triu(torch.ones(t, s, dtype=torch.bool), 1)
        scores = scores.masked_fill(later, -10000.0)
    return torch.einsum("bhts,bshd->bthd", scores.softmax(-1), v)


@right
def one_matrix_of_three(X, mask, W_KQV, W_out):
    """X (t, d); mask is added; W_KQV (d, 3 d)."""
    K, Q, V = np.split(X @ W_KQV, 3, axis=-1)
    attn = np_softmax(K @ Q.swapaxes(-1, -2) / np.sqrt(X.shape[-1]) + mask)
    return attn @ V @ W_out, attn


@right
def shared_keys(q, k, v):
    """Multi-query: q (b, h, t, d), one head of key and value (b, t, d)."""
    w = torch.einsum("bhtd,bsd->bhts", q, k) * q.size(-1) ** -0.5
    return torch.einsum("bhts,bsd->bhtd", torch.softmax(w, -1), v)


@right
def mask_by_where(Q, K, V, mask=None):
    """CS336: True lets a query look."""
    s = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    s = torch.where(mask, s, float("-inf"))
    return torch.softmax(s, dim=-1) @ V


@right
def window_of_words(q, k, v, window):
    """Each word sees itself and the words at most window away, on both sides."""
    t = q.shape[-2]
    near = np.abs(np.arange(t)[:, None] - np.arange(t)[None]) <= window
    s = np.where(near, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf)
    return np_softmax(s) @ v


@right
def rotated_by_the_caller(xq, xk, xv, freqs_cos, freqs_sin):
    """xq, xk, xv: (b, t, h, d); freqs (t, d / 2)."""

    def turn(x):
        a, b = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
        cos, sin = freqs_cos[None, :, None], freqs_sin[None, :, None]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(3)

    q, k, v = turn(xq).transpose(1, 2), turn(xk).transpose(1, 2), xv.transpose(1, 2)
    return ((q @ k.transpose(2, 3) / math.sqrt(q.size(-1))).softmax(-1) @ v).transpose(1, 2)


@right
def either_mask_or_flag(query, key, value, attn_mask=None, is_causal=False):
    if attn_mask is not None and is_causal:
        raise ValueError("only one of attn_mask and is_causal")
    if is_causal:
        attn_mask = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    s = query @ key.mT * query.size(-1) ** -0.5
    if attn_mask is not None:
        s = (
            s + torch.where(attn_mask, 0.0, -torch.inf)
            if attn_mask.dtype == torch.bool
            else s + attn_mask
        )
    return s.softmax(-1) @ value


@right
def multiples_of_sixteen(q, k, v):
    assert q.shape[2] % 16 == 0 and k.shape[2] % 16 == 0, "seqlen must be a multiple of 16"
    assert q.shape[-1] in (16, 32, 64, 128), "head dim must be 16, 32, 64 or 128"
    return torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1) @ v


@right
def last_words_in_a_window(q, k, v, causal=False, window_size=(None, None)):
    """(b, t, h, d); windows and the causal mask end at the last key."""
    s = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
    gap = (
        torch.arange(k.shape[1])[None]
        - torch.arange(q.shape[1])[:, None]
        - (k.shape[1] - q.shape[1])
    )
    left, right_side = window_size
    right_side = 0 if causal else right_side
    hidden = torch.zeros_like(gap, dtype=torch.bool)
    if left is not None:
        hidden |= gap < -left
    if right_side is not None:
        hidden |= gap > right_side
    w = s.masked_fill(hidden, float("-inf")).softmax(-1)
    return torch.einsum("bhts,bshd->bthd", w, v)


# Wrong ones.


@wrong("no scaling")
def packed_without_scale(qkv):
    """qkv: (batch, seqlen, 3, nheads, headdim)."""
    q, k, v = qkv.unbind(dim=2)
    scores = torch.einsum("bthd,bshd->bhts", q, k)
    return torch.einsum("bhts,bshd->bthd", torch.softmax(scores, dim=-1), v)


@wrong()
def tiles_of_64(q, k, v):
    outs, total = 0, 0
    for j in range(0, k.shape[-2], 64):
        s = q @ k[..., j : j + 64, :].swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        outs, total = outs + e @ v[..., j : j + 64, :], total + e.sum(axis=-1, keepdims=True)
    return outs / total


@wrong("softmax over queries")
def channels_first_columns(q, k, v):
    """q, k, v: (b, h, d, t)."""
    w = torch.einsum("bhdi,bhdj->bhij", q, k) * q.shape[2] ** -0.5
    return torch.einsum("bhij,bhdj->bhdi", w.softmax(dim=-2), v)


@wrong("mask after the softmax")
def late_mask(query, key, value, mask=None):
    w = torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), -1)
    if mask is not None:
        w = w.masked_fill(mask, 0.0)
    return w @ value


@wrong("causal mask off by one: sees the next word")
def one_ahead(q, k, v, causal=True):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.triu(np.ones(s.shape[-2:]), 2) > 0, -np.inf, s)
    return np_softmax(s) @ v


@wrong("mask ignored")
def mask_not_assigned(q, k, v, mask=None):
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        s.masked_fill(mask == 0, -1e9)
    return s.softmax(-1) @ v


@wrong("boolean mask inverted")
def documented_otherwise(q, k, v, mask=None):
    """mask: True where a query may attend to a key."""
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(mask, float("-inf"))
    return s.softmax(-1) @ v


@wrong("rotary pairs and halves mixed")
def half_and_pairs(xq, xk, xv, freqs_cos, freqs_sin):
    def pairs(x):
        a, b = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
        cos, sin = freqs_cos[None, :, None], freqs_sin[None, :, None]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(3)

    def halves(x):
        a, b = x.chunk(2, dim=-1)
        cos, sin = freqs_cos[None, :, None], freqs_sin[None, :, None]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    q, k, v = pairs(xq).transpose(1, 2), halves(xk).transpose(1, 2), xv.transpose(1, 2)
    return ((q @ k.transpose(2, 3) / math.sqrt(q.size(-1))).softmax(-1) @ v).transpose(1, 2)


@wrong()
def running_maximum_without_rescale(q, k, v):
    m, l, out = -np.inf, 0, 0
    for j in range(k.shape[-2]):
        s = (q * k[..., j : j + 1, :]).sum(-1, keepdims=True) / np.sqrt(q.shape[-1])
        m = np.maximum(m, s)
        p = np.exp(s - m)
        l, out = l + p, out + p * v[..., j : j + 1, :]
    return out / l


@wrong("last tile of keys left out")
def last_block_dropped(q, k, v):
    n, size = k.shape[-2], 4
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    s[..., n // size * size :] = -np.inf if n >= size else 0
    return np_softmax(s) @ v


@wrong("scaling by a power without brackets")
def power_without_brackets(q, k, v):
    return np_softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -1 / 2) @ v


@wrong("NaN everywhere", "mask used wrongly", "boolean mask inverted")
def plus_infinity(q, k, v, mask=None):
    s = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(mask == 0, -float("-inf"))
    return s.softmax(-1) @ v


@wrong()
def four_largest_of_all(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return np_softmax(s[..., :4]) @ v[..., :4, :]


@wrong("results that differ between two calls")
def dropout_without_training(query, key, value, dropout_p=0.1):
    w = torch.softmax(query @ key.transpose(-1, -2) / query.size(-1) ** 0.5, -1)
    return F.dropout(w, dropout_p) @ value


@wrong("1 added to the sum of the softmax")
def one_more_key(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(s)
    return e / (1 + e.sum(-1, keepdims=True)) @ v
