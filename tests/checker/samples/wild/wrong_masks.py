"""Wrong attentions: masks and padding."""

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


@wrong("mask ignored")
def unused(q, k, v, mask=None):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@wrong("mask ignored")
def not_assigned(q, k, v, mask=None):
    scores = scores_of(q, k)
    if mask is not None:
        scores.masked_fill(mask == 0, -1e9)
    return F.softmax(scores, dim=-1) @ v


@wrong("mask ignored")
def unused_bias(query, key, value, attn_bias=None):
    return scores_of(query, key).softmax(-1) @ value


@wrong("boolean mask inverted")
def inverted(q, k, v, mask=None):
    """mask: True where a query may look."""
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(mask, float("-inf"))
    return s.softmax(-1) @ v


@wrong("boolean mask inverted")
def inverted_ones(Q, K, V, mask=None):
    """mask: 1 where a query can attend."""
    s = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    if mask is not None:
        s = np.where(mask == 1, -1e9, s)
    return softmax(s) @ V


@wrong("mask multiplied into the scores")
def multiplied(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = s * mask
    return softmax(s) @ v


@wrong("mask multiplied into the scores")
def filled_with_zero(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(~mask, 0)
    return s.softmax(-1) @ v


@wrong("mask after the softmax")
def late(q, k, v, mask=None):
    w = scores_of(q, k).softmax(-1)
    if mask is not None:
        w = w.masked_fill(mask == 0, 0.0)
    return w @ v


@wrong("mask after the softmax")
def late_multiplied(q, k, v, mask=None):
    w = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (w if mask is None else w * mask) @ v


@wrong("mask added as a small finite number")
def minus_hundred(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s + (1 - mask.to(s.dtype)) * -100.0
    return s.softmax(-1) @ v


@wrong("mask added as a small finite number")
def minus_one(q, k, v, mask):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(mask, s, -1)) @ v


@wrong("mask added as a small finite number")
def tiny_instead_of_min(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(~mask, -5.0)
    return s.softmax(-1) @ v


@wrong("mask of the first query used for all")
def first_row(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(~mask[..., :1, :], float("-inf"))
    return s.softmax(-1) @ v


@wrong("mask of the first query used for all")
def first_row_numpy(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask[..., 0, :][..., None, :], s, -1e9)
    return softmax(s) @ v


@wrong("mask of the first sentence used for all")
def first_sentence(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(mask[:1] == 0, -1e9)
    return s.softmax(-1) @ v


@wrong("mask of the first head used for all", "mask used wrongly")
def first_head(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(mask[:, :1] == 0, -1e9)
    return s.softmax(-1) @ v


@wrong("mask transposed")
def transposed(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(mask.transpose(-1, -2) == 0, -1e9)
    return s.softmax(-1) @ v


@wrong("mask used wrongly")
def last_key_only(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        hide = torch.zeros_like(s, dtype=torch.bool)
        hide[..., -1] = ~mask[..., -1]
        s = s.masked_fill(hide, float("-inf"))
    return s.softmax(-1) @ v


@wrong("mask used wrongly")
def scaled_by_mask(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s * (0.5 + 0.5 * mask.to(s.dtype))
    return s.softmax(-1) @ v


@wrong("mask used wrongly")
def mask_on_values(q, k, v, mask=None):
    w = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    if mask is not None:
        seen = np.asarray(mask).any(axis=-2)[..., None]
        v = v * seen
        w = w * 0.5
    return w @ v


@wrong("mask used wrongly")
def only_with_negation(q, k, v, mask=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(~mask & (s > 0), float("-inf"))
    return s.softmax(-1) @ v


@wrong(
    "mask before the scaling and too weak",
    "mask added as a small finite number",
    "mask used wrongly",
)
def added_before_scaling(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1)
    if mask is not None:
        s = s.masked_fill(mask == 0, -20.0)
    return (s / q.size(-1) ** 0.5).softmax(-1) @ v


@wrong("mask used wrongly", "mask ignored")
def additive_scaled_away(q, k, v, attn_bias=None):
    s = scores_of(q, k)
    if attn_bias is not None:
        s = s + 0.001 * attn_bias.clamp(min=-10)
    return s.softmax(-1) @ v


@wrong("softcap after the mask")
def cap_last(q, k, v, mask=None, softcap=None):
    s = scores_of(q, k)
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    if softcap is not None:
        s = softcap * torch.tanh(s / softcap)
    return s.softmax(-1) @ v


@wrong("softcap ignored")
def cap_unused(q, k, v, softcap=None):
    return scores_of(q, k).softmax(-1) @ v


@wrong("padding not masked")
def padding_unused(q, k, v, key_padding_mask=None):
    return scores_of(q, k).softmax(-1) @ v


@wrong("padding not masked")
def padding_unused_numpy(query, key, value, pad_mask=None):
    w = softmax(query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1]))
    return w @ value


@wrong("padding after the softmax")
def padding_late(q, k, v, key_padding_mask=None):
    w = scores_of(q, k).softmax(-1)
    if key_padding_mask is not None:
        w = w.masked_fill(key_padding_mask[:, None, None, :], 0.0)
    return w @ v


@wrong("padding hides queries instead of keys")
def padding_of_queries(q, k, v, key_padding_mask=None):
    s = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.size(-1))
    if key_padding_mask is not None:
        s = s.masked_fill(key_padding_mask[:, : q.size(1), None], -1e9)
    return torch.bmm(s.softmax(-1), v)


@wrong("padding of the first sentence used for all")
def padding_of_the_first(q, k, v, key_padding_mask=None):
    s = scores_of(q, k)
    if key_padding_mask is not None:
        s = s.masked_fill(key_padding_mask[0], float("-inf"))
    return s.softmax(-1) @ v


@wrong("padding used wrongly")
def padding_honoured_once(q, k, v, key_padding_mask=None):
    s = scores_of(q, k)
    if key_padding_mask is not None:
        s = s.clone()
        s[0] = s[0].masked_fill(key_padding_mask[0], float("-inf"))
    return s.softmax(-1) @ v


@wrong("padding not masked")
def lengths_unused(q, k, v, valid_lens=None):
    return torch.bmm((torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1])).softmax(-1), v)


@wrong("padding used wrongly", "padding off by one")
def lengths_off_by_one(queries, keys, values, valid_lens=None):
    s = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
    if valid_lens is not None:
        s = s.masked_fill(torch.arange(s.shape[-1]) > valid_lens[:, None, None], -1e6)
    return torch.bmm(s.softmax(-1), values)


@wrong("padding used wrongly", "padding of the first sentence used for all")
def longest_length(q, k, v, lengths=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if lengths is not None:
        s = np.where(np.arange(k.shape[-2]) < np.max(lengths), s, -np.inf)
    return softmax(s) @ v


@wrong("window ignored")
def window_unused(q, k, v, window_size=None):
    return scores_of(q, k).softmax(-1) @ v


@wrong("grouped heads tiled instead of interleaved")
def tiled(q, k, v):
    n = q.size(1) // k.size(1)
    k, v = k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1)
    return scores_of(q, k).softmax(-1) @ v


@wrong("mask ignored")
def interface_without_mask(
    module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs
):
    w = (torch.matmul(query, key.transpose(2, 3)) * scaling).softmax(-1)
    return torch.matmul(w, value).transpose(1, 2), w


@wrong("causal mask forgotten in one branch")
def either_or(q, k, v, attn_mask=None, is_causal=False):
    s = scores_of(q, k)
    if attn_mask is not None:
        s = s.masked_fill(~attn_mask, float("-inf"))
    elif is_causal:
        s = s.masked_fill(torch.ones_like(s).triu(1).bool(), float("-inf"))
    return s.softmax(-1) @ v
