"""Right attentions, third part: other signatures, other habits."""

import math
from functools import partial

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.checker.samples.wild.registry import right, unless_empty


def stable_softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    return np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)


@unless_empty
def generated_with_types(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute scaled dot-product attention.

    Args:
        query: Tensor of shape (batch, heads, seq_len, head_dim).
        key: Tensor of shape (batch, heads, seq_len, head_dim).
        value: Tensor of shape (batch, heads, seq_len, head_dim).
        mask: Optional mask, broadcastable to (batch, heads, seq_len, seq_len).

    Returns:
        Tuple of (output, attention_weights).
    """
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    attention_weights = F.softmax(scores, dim=-1)
    return torch.matmul(attention_weights, value), attention_weights


@unless_empty
def required_mask_of_keys(q, k, v, mask):
    """mask: (batch, seq), 1 for tokens and 0 for padding."""
    s = np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1])
    s = np.where(mask[:, None, :].astype(bool), s, -1e9)
    return stable_softmax(s) @ v


@unless_empty
def required_additive(q, k, v, additive_mask):
    return stable_softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + additive_mask) @ v


@unless_empty
def finite_additive(q, k, v, mask=None):
    s = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        s = s + mask
    s = torch.max(s, torch.tensor(torch.finfo(s.dtype).min, dtype=s.dtype))
    return s.softmax(-1) @ v


@unless_empty
def boolean_keep(q, k, v, attn_mask=None):
    s = torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    if attn_mask is not None:
        s = s.masked_fill(attn_mask.logical_not(), torch.finfo(s.dtype).min)
    return torch.einsum("...ij,...jd->...id", s.softmax(-1), v)


@right
def scale_as_switch(q, k, v, scale=True):
    s = q @ k.swapaxes(-1, -2)
    if scale:
        s = s / np.sqrt(q.shape[-1])
    return stable_softmax(s) @ v


@right
def with_switches(q, k, v, causal=False, return_weights=False):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        s = np.where(np.tri(*s.shape[-2:], s.shape[-1] - s.shape[-2], dtype=bool), s, -1e30)
    w = stable_softmax(s)
    return (w @ v, w) if return_weights else w @ v


right(partial(with_switches, causal=True))


@right
def vmapped(q, k, v):
    """One head of one sentence at a time."""
    out = np.empty((*q.shape[:-1], v.shape[-1]))
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            out[b, h] = stable_softmax(q[b, h] @ k[b, h].T / np.sqrt(q.shape[-1])) @ v[b, h]
    return out


@right
def sequence_first_function(query, key, value):
    """(seq_len, batch, dim)."""
    s = torch.einsum("ibd,jbd->bij", query, key) / math.sqrt(query.size(-1))
    return torch.einsum("bij,jbd->ibd", s.softmax(-1), value)


@right
def projections_with_biases(x, Wq, bq, Wk, bk, Wv, bv):
    q, k, v = x @ Wq + bq, x @ Wk + bk, x @ Wv + bv
    return stable_softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


@right
def model_sizes_first(d_model, num_heads, x, w_q, w_k, w_v):
    b, t, _ = x.shape
    q, k, v = ((x @ w).reshape(b, t, num_heads, -1).swapaxes(1, 2) for w in (w_q, w_k, w_v))
    w = stable_softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (w @ v).swapaxes(1, 2).reshape(b, t, -1)


@right
class DecoderAttention(nn.Module):
    """Causal by F.scaled_dot_product_attention; Wqkv; rearranged by hand."""

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.1):
        super().__init__()
        self.n_heads = n_heads
        self.Wqkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)
        self.dropout = dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, _ = x.shape
        q, k, v = self.Wqkv(x).view(B, T, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4)
        p = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        return self.out_proj(y.transpose(1, 2).reshape(B, T, -1))


@unless_empty
class CrossOrSelf(nn.Module):
    """x and an optional context; a boolean mask of the keys."""

    def __init__(self, query_dim, heads=3, dim_head=4):
        super().__init__()
        inner = dim_head * heads
        self.heads, self.scale = heads, dim_head**-0.5
        self.to_q = nn.Linear(query_dim, inner, bias=False)
        self.to_k = nn.Linear(query_dim, inner, bias=False)
        self.to_v = nn.Linear(query_dim, inner, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner, query_dim), nn.Dropout(0.0))

    def forward(self, x, context=None, mask=None):
        context = x if context is None else context
        q, k, v = self.to_q(x), self.to_k(context), self.to_v(context)
        b, n, _ = q.shape
        q, k, v = (a.reshape(b, a.shape[1], self.heads, -1).transpose(1, 2) for a in (q, k, v))
        sim = q @ k.transpose(-1, -2) * self.scale
        if mask is not None:
            sim = sim.masked_fill(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)
        out = (sim.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, n, -1)
        return self.to_out(out)


@right
class CachingAttention(nn.Module):
    """A cache that is handed in and back, None at first."""

    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.q, self.k, self.v, self.o = (nn.Linear(n_embd, n_embd) for _ in range(4))

    def forward(self, x, kv_cache=None):
        B, T, C = x.shape
        q, k, v = (
            m(x).view(B, T, self.n_head, -1).transpose(1, 2) for m in (self.q, self.k, self.v)
        )
        if kv_cache is not None:
            k, v = torch.cat([kv_cache[0], k], 2), torch.cat([kv_cache[1], v], 2)
        s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        ahead = torch.ones(T, k.size(2), dtype=torch.bool).triu(k.size(2) - T + 1)
        y = s.masked_fill(ahead, -torch.inf).softmax(-1) @ v
        return self.o(y.transpose(1, 2).reshape(B, T, C)), (k, v)


@right
class QueryKeyNorm(nn.Module):
    """A norm before, heads by unflatten."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.ln, self.nh = nn.LayerNorm(dim), num_heads
        self.qkv_proj, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.num_heads = num_heads

    def forward(self, inputs):
        q, k, v = self.qkv_proj(self.ln(inputs)).chunk(3, -1)
        q, k, v = (a.unflatten(-1, (self.nh, -1)).transpose(1, 2) for a in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return inputs + self.out(out)


@right
class EmbeddingDict(nn.Module):
    """A config that is a dictionary."""

    def __init__(self, cfg):
        super().__init__()
        d = cfg["emb_dim"]
        self.n_heads = cfg["n_heads"]
        self.W_query = nn.Linear(d, d, bias=cfg["qkv_bias"])
        self.W_key = nn.Linear(d, d, bias=cfg["qkv_bias"])
        self.W_value = nn.Linear(d, d, bias=cfg["qkv_bias"])
        self.out_proj = nn.Linear(d, d)
        self.drop = nn.Dropout(cfg["drop_rate"])
        n = cfg["context_length"]
        self.register_buffer("mask", torch.triu(torch.ones(n, n), diagonal=1))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            m(x).view(b, t, self.n_heads, -1).transpose(1, 2)
            for m in (self.W_query, self.W_key, self.W_value)
        )
        s = (q @ k.transpose(2, 3)).masked_fill(self.mask.bool()[:t, :t], -torch.inf)
        w = self.drop(torch.softmax(s / q.shape[-1] ** 0.5, dim=-1))
        return self.out_proj((w @ v).transpose(1, 2).reshape(b, t, d))


class PlainClass:
    """A method that attends, without parameters."""

    def __init__(self, dim):
        self.scale = 1.0 / np.sqrt(4)

    def attend(self, q, k, v):
        return stable_softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


right(PlainClass)


@right
class AroundTheLibrary(nn.Module):
    """The library's module with a simpler call."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.mha = nn.MultiheadAttention(dim, num_heads, batch_first=True)

    def forward(self, x):
        return self.mha(x, x, x, need_weights=False)[0]


@unless_empty
def of_a_tutorial(Q, K, V, attn_mask):
    scores = torch.matmul(Q, K.transpose(-1, -2)) / np.sqrt(Q.shape[-1])
    scores.masked_fill_(attn_mask, -1e9)  # fills the scores where mask is True
    attn = nn.Softmax(dim=-1)(scores)
    return torch.matmul(attn, V), attn


@unless_empty
def masks_of_both_kinds(query, key, value, bias=None, mask=None):
    w = np.einsum("...qhd,...khd->...hqk", query / np.sqrt(query.shape[-1]), key)
    if bias is not None:
        w = w + bias
    if mask is not None:
        w = np.where(mask, w, np.finfo(w.dtype).min)
    return np.einsum("...hqk,...khd->...qhd", stable_softmax(w), value)


def slopes_by_head(heads, dtype):
    return 2.0 ** (-8 * torch.arange(1, heads + 1, dtype=dtype) / heads)


@right
def falls_with_distance(q, k, v):
    t, s = q.size(-2), k.size(-2)
    distance = (torch.arange(t)[:, None] - torch.arange(s)).abs()
    bias = -slopes_by_head(q.size(1), q.dtype)[:, None, None] * distance
    return (q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)) + bias).softmax(-1) @ v
