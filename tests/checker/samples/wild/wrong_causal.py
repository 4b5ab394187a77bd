"""Wrong attentions: causal masks, caches, and the order of heads."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from tests.checker.samples.wild.registry import wrong


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def scores_of(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))


@wrong("causal mask ignored")
def flag_unused(q, k, v, is_causal=False):
    return scores_of(q, k).softmax(-1) @ v


@wrong("causal mask ignored")
def causal_attention(q, k, v):
    """The name says what it should be."""
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@wrong("causal mask transposed")
def upper(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(np.triu(np.ones(s.shape[-2:])), s, -1e9)) @ v


@wrong("causal mask transposed")
def upper_by_flag(q, k, v, causal=False):
    s = scores_of(q, k)
    if causal:
        s = s.masked_fill(torch.tril(torch.ones_like(s), -1).bool(), float("-inf"))
    return s.softmax(-1) @ v


@wrong("causal mask off by one: sees the next word")
def one_ahead(q, k, v):
    s = scores_of(q, k)
    return s.masked_fill(torch.triu(torch.ones_like(s), 2).bool(), -torch.inf).softmax(-1) @ v


@wrong("causal mask off by one: sees the next word")
def one_ahead_by_flag(q, k, v, causal=True):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tri(*s.shape[-2:], 1, dtype=bool), s, -np.inf)
    return softmax(s) @ v


@wrong("causal mask off by one: does not see itself")
def not_itself(q, k, v):
    s = scores_of(q, k)
    return s.masked_fill(torch.triu(torch.ones_like(s)).bool(), -1e9).softmax(-1) @ v


@wrong("causal mask off by one: does not see itself")
def not_itself_by_flag(query, key, value, is_causal=False):
    s = scores_of(query, key)
    if is_causal:
        s = s.masked_fill(torch.ones_like(s).triu(0) == 1, float("-inf"))
    return F.softmax(s, dim=-1) @ value


@wrong("causal mask after the softmax")
def late(q, k, v):
    return torch.tril(scores_of(q, k).softmax(-1)) @ v


@wrong("causal mask after the softmax")
def late_by_flag(q, k, v, causal=False):
    w = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (np.tril(w) if causal else w) @ v


@wrong("causal mask after the softmax")
def late_and_stable(q, k, v, is_causal=False):
    w = scores_of(q, k).softmax(-1)
    if is_causal:
        w = w * torch.ones_like(w).tril()
    return w @ v


@wrong("mask multiplied into the scores")
def tril_of_scores(q, k, v):
    """Causal by zeros."""
    return torch.tril(scores_of(q, k)).softmax(-1) @ v


@wrong("mask added as a small finite number")
def weak_causal(q, k, v, is_causal=False):
    s = scores_of(q, k)
    if is_causal:
        s = s + torch.triu(torch.full_like(s, -10.0), 1)
    return s.softmax(-1) @ v


@wrong("causal mask at the wrong corner")
def offset_ignored(q, k, v, causal=False, offset=0):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
    return softmax(s) @ v


@wrong("causal mask used wrongly")
def two_ahead(q, k, v, is_causal=False):
    s = scores_of(q, k)
    if is_causal:
        s = s.masked_fill(torch.triu(torch.ones_like(s), 3).bool(), float("-inf"))
    return s.softmax(-1) @ v


@wrong("causal mask used wrongly", "causal mask at the wrong corner")
def mask_of_the_batch(q, k, v, is_causal=False):
    s = scores_of(q, k)
    if is_causal:
        s = s.clone()
        s[:1] = s[:1].masked_fill(torch.ones_like(s[:1]).triu(1).bool(), float("-inf"))
    return s.softmax(-1) @ v


@wrong("no scaling")
def unscaled_causal(q, k, v):
    s = q @ k.transpose(-1, -2)
    return s.masked_fill(torch.ones_like(s).triu(1).bool(), -torch.inf).softmax(-1) @ v


@wrong("softmax over queries")
def causal_over_queries(q, k, v, causal=False):
    s = scores_of(q, k)
    if causal:
        s = s.masked_fill(torch.ones_like(s).triu(1).bool(), -1e9)
    return s.softmax(-2) @ v


@wrong("cached keys used wrongly")
def cache_behind(q, k, v, past_k=None, past_v=None, causal=False):
    if past_k is not None:
        k, v = torch.cat([k, past_k], dim=-2), torch.cat([v, past_v], dim=-2)
    s = scores_of(q, k)
    if causal:
        n, m = s.shape[-2:]
        s = s.masked_fill(torch.ones(n, m).triu(m - n + 1).bool(), -torch.inf)
    return s.softmax(-1) @ v


@wrong("cached keys used wrongly")
def cache_unused(q, k, v, past_key=None, past_value=None):
    return F.scaled_dot_product_attention(q, k, v)


@wrong("cached keys used wrongly")
def values_not_cached(q, k, v, k_cache=None, v_cache=None):
    if k_cache is not None:
        k = torch.cat([k_cache, k], dim=-2)
        v = torch.cat([v, v_cache], dim=-2)
    return scores_of(q, k).softmax(-1) @ v


@wrong("heads split by reshape without transposing")
def cut(x, w_q, w_k, w_v, n_heads):
    b, t, _ = x.shape
    q, k, v = ((x @ w).reshape(b, n_heads, t, -1) for w in (w_q, w_k, w_v))
    a = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (a @ v).swapaxes(1, 2).reshape(b, t, -1)


@wrong("heads joined in the wrong order")
def joined(x, w_q, w_k, w_v, n_heads):
    b, t, _ = x.shape
    q, k, v = ((x @ w).reshape(b, t, n_heads, -1).swapaxes(1, 2) for w in (w_q, w_k, w_v))
    a = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (a @ v).reshape(b, t, -1)


@wrong("heads joined in the wrong order", "heads split by reshape without transposing")
def joined_from_arrays(q, k, v, num_heads):
    b, n, e = q.shape
    q, k, v = (a.view(b, a.size(1), num_heads, -1).transpose(1, 2) for a in (q, k, v))
    return (scores_of(q, k).softmax(-1) @ v).reshape(b, n, -1)


@wrong("attention across heads")
def across(x, w_q, w_k, w_v, num_heads):
    b, t, _ = x.shape
    q, k, v = ((x @ w).reshape(b, t, num_heads, -1) for w in (w_q, w_k, w_v))
    a = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (a @ v).reshape(b, t, -1)


@wrong("heads averaged instead of joined")
def averaged(q, k, v, num_heads):
    b, n, e = q.shape
    q, k, v = (a.view(b, a.size(1), num_heads, -1).transpose(1, 2) for a in (q, k, v))
    out = scores_of(q, k).softmax(-1) @ v
    return out.mean(1, keepdim=True).expand(-1, num_heads, -1, -1).transpose(1, 2).reshape(b, n, -1)


@wrong("one head for all")
def heads_ignored(q, k, v, num_heads):
    return scores_of(q, k).softmax(-1) @ v


@wrong("rows of the weights shifted")
def labels_off(q, k, v):
    w = scores_of(q, k).softmax(-1)
    return w @ v, torch.roll(w, 1, dims=-2)
