"""Wrong attentions, last part: the same slips in other clothes."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.checker.samples.wild.registry import wrong


def stable_softmax(z, axis=-1):
    z = z - z.max(axis=axis, keepdims=True)
    return np.exp(z) / np.exp(z).sum(axis=axis, keepdims=True)


@wrong("causal mask ignored")
def decoder_attention(q, k, v, causal=True):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if causal:
        mask = torch.tril(torch.ones(s.shape[-2:]))
        s.masked_fill(mask == 0, float("-inf"))
    return s.softmax(-1) @ v


@wrong("mask ignored")
def mask_of_floats_ignored(q, k, v, attention_mask=None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if attention_mask is not None:
        s = s + attention_mask * 0
    return s.nan_to_num().softmax(-1) @ v


@wrong("scaling by d")
def root_forgotten(module, query, key, value, attention_mask, scaling, **kwargs):
    w = torch.matmul(query, key.transpose(2, 3)) * scaling**2
    if attention_mask is not None:
        w = w + attention_mask
    return torch.matmul(w.softmax(-1), value).transpose(1, 2), w.softmax(-1)


@wrong("softmax over queries")
def interface_dim(module, query, key, value, attention_mask, scaling, **kwargs):
    w = torch.matmul(query, key.transpose(2, 3)) * scaling
    if attention_mask is not None:
        w = w + attention_mask
    w = F.softmax(w, dim=-2).nan_to_num()
    return torch.matmul(w, value).transpose(1, 2), w


@wrong("mask after the softmax")
def mask_late_with_keys(q, k, v, mask):
    """mask: (batch, seq), 1 for tokens."""
    w = stable_softmax(np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1]))
    return (w * mask[:, None, :]) @ v


@wrong("padding not masked")
def lens_for_nothing(q, k, v, seq_lens=None):
    """Padding is handled by the caller."""
    return F.scaled_dot_product_attention(q, k, v)


@wrong("softmax without its division", "no maximum subtracted")
def exponentials(Q, K, V):
    return np.exp(Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])) @ V


@wrong("no scaling", "no maximum subtracted")
def both_forgotten(q, k, v):
    e = np.exp(q @ k.swapaxes(-1, -2))
    return e / e.sum(-1, keepdims=True) @ v


@wrong("mask multiplied into the scores")
def mask_times(x, W_q, W_k, W_v, mask=None):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = s * mask
    return stable_softmax(s) @ v


@wrong("boolean mask inverted")
def keeps_the_hidden(q, k, v, attn_mask=None):
    """attn_mask: True where a query may look."""
    s = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
    if attn_mask is not None:
        s = torch.where(attn_mask, torch.tensor(-1e9, dtype=s.dtype), s)
    return s.softmax(-1) @ v


@wrong("grouped heads tiled instead of interleaved")
def groups_of_cats(q, k, v, enable_gqa=False):
    if enable_gqa:
        n = q.size(1) // k.size(1)
        k, v = torch.cat([k] * n, dim=1), torch.cat([v] * n, dim=1)
    return F.scaled_dot_product_attention(q, k, v)


@wrong("grouped heads used wrongly", "grouped heads tiled instead of interleaved")
def groups_of_the_first(q, k, v, enable_gqa=False):
    if enable_gqa:
        k, v = k[:, :1], v[:, :1]
    return (q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))).softmax(-1) @ v


class Block(nn.Module):
    """A causal block with a norm; the slips replace its attention."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.norm = n_heads, nn.LayerNorm(d_model)
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def attend(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def forward(self, x):
        b, t, e = x.shape
        h = self.norm(x)
        q, k, v = (
            m(h).view(b, t, self.n_heads, -1).transpose(1, 2)
            for m in (self.q_proj, self.k_proj, self.v_proj)
        )
        return x + self.o_proj(self.attend(q, k, v).transpose(1, 2).reshape(b, t, e))


@wrong("causal mask off by one: sees the next word")
class BlockAhead(Block):
    def attend(self, q, k, v):
        t = q.size(-2)
        seen = torch.ones(t, t, dtype=torch.bool).tril(1)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


@wrong("softmax over queries")
class BlockOverQueries(Block):
    def attend(self, q, k, v):
        return (q @ k.transpose(-1, -2) / q.size(-1) ** 0.5).softmax(-2) @ v


@wrong("key used as value", "a parameter is never used")
class BlockOfKeys(Block):
    def attend(self, q, k, v):
        return super().attend(q, k, k)


class Rotary(nn.Module):
    """Rotary positions; the scaling is the slip."""

    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (
            w(x).view(b, t, self.n_heads, self.head_dim).transpose(1, 2)
            for w in (self.wq, self.wk, self.wv)
        )
        freqs = 1.0 / (10000.0 ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim))
        angle = torch.outer(torch.arange(t).float(), freqs).repeat(1, 2)
        cos, sin = angle.cos(), angle.sin()

        def rotate(a):
            one, two = a.chunk(2, -1)
            return a * cos + torch.cat([-two, one], -1) * sin

        s = rotate(q) @ rotate(k).transpose(-1, -2)
        s = s.masked_fill(torch.ones(t, t).triu(1).bool(), -torch.inf)
        return self.wo((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1))


wrong("no scaling")(Rotary)


@wrong("scaling by the model width")
class PerHeadParameters(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        shape = (cfg.n_heads, cfg.d_model, cfg.d_head)
        self.W_Q, self.W_K, self.W_V = (nn.Parameter(torch.randn(shape) * 0.4) for _ in range(3))
        self.W_O = nn.Parameter(torch.randn(cfg.n_heads, cfg.d_head, cfg.d_model) * 0.4)

    def forward(self, resid):
        q, k, v = (torch.einsum("bpm,hmd->bhpd", resid, w) for w in (self.W_Q, self.W_K, self.W_V))
        s = q @ k.transpose(-1, -2) / math.sqrt(self.cfg.d_model)
        s = s.masked_fill(torch.ones(s.shape[-2:]).triu(1).bool(), -1e5)
        return torch.einsum("bhpd,hdm->bpm", s.softmax(-1) @ v, self.W_O)


@wrong("mask of the first sentence used for all")
def batch_of_one(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask[0], s, -1e9) if mask.ndim > 2 else np.where(mask, s, -1e9)
    return stable_softmax(s) @ v


@wrong("softmax over the whole matrix")
def one_sum(q, k, v):
    s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    return s.flatten(-2).softmax(-1).view_as(s) @ v


@wrong("weights transposed", "query and key swapped")
def columns_for_rows(Q, K, V):
    w = stable_softmax(Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1]))
    return np.einsum("...qk,...qd->...kd", w, V)


@wrong()
def squared(q, k, v):
    s = (q @ k.swapaxes(-1, -2)) ** 2 / q.shape[-1]
    return s / s.sum(-1, keepdims=True) @ v


@wrong("scaling by the number of keys")
def root_of_the_queries(q, k, v):
    return stable_softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-2])) @ v


@wrong("no softmax")
def rectified(q, k, v):
    return torch.relu(q @ k.transpose(-1, -2) / q.size(-1) ** 0.5) @ v


@wrong("causal mask transposed")
def only_the_future(q, k, v, is_causal=False):
    s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    if is_causal:
        s = s.masked_fill(torch.tril(torch.ones(s.shape[-2:])).bool(), -1e9)
    return s.softmax(-1) @ v


@wrong("query used as key", "a parameter is never used")
class SharedProjection(Block):
    def attend(self, q, k, v):
        return super().attend(q, q, v)


@wrong("bias by distance with the wrong sign")
def grows_with_distance(q, k, v):
    heads, t, s = q.size(1), q.size(-2), k.size(-2)
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1, dtype=q.dtype) / heads)
    bias = slopes[:, None, None] * (torch.arange(t)[:, None] - torch.arange(s)).abs()
    return (q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)) + bias).softmax(-1) @ v
