"""Functions of the half that is kept back: nothing is tuned on them."""
# ruff: noqa: E741, N803

import math

import numpy as np
import torch
import torch.nn.functional as F
from tests.checker.samples.collection.registry import KEPT_BACK

right, wrong = KEPT_BACK.right, KEPT_BACK.wrong


def stable(z):
    z = z - np.max(z, axis=-1, keepdims=True)
    return np.exp(z) / np.sum(np.exp(z), axis=-1, keepdims=True)


@right
def no_loop_batch(query, key, value, mask=None):
    """Shapes (N, K, M); mask (N, K, K): True for the weights to be masked."""
    weights = torch.bmm(query, key.permute(0, 2, 1)) / math.sqrt(query.shape[2])
    if mask is not None:
        weights = weights.masked_fill(mask, -1e9)
    weights = F.softmax(weights, dim=2)
    return torch.bmm(weights, value), weights


@right
def scale_documented(q, k, v, scale, attn_bias=None):
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) * scale
    if attn_bias is not None:
        scores = scores + attn_bias
    return np.einsum("bhqk,bhkv->bhqv", stable(scores), v)


@right
def two_loops(q, k, v):
    """Lists and loops over queries and keys of one matrix."""
    out = np.zeros((q.shape[0], v.shape[1]))
    for i in range(q.shape[0]):
        s = np.array([q[i] @ k[j] / math.sqrt(q.shape[1]) for j in range(k.shape[0])])
        e = np.exp(s - s.max())
        out[i] = sum(e[j] / e.sum() * v[j] for j in range(k.shape[0]))
    return out


@right
def packed_three_in_front(qkv):
    """qkv: (3, batch, heads, tokens, width)."""
    q, k, v = qkv[0], qkv[1], qkv[2]
    return torch.softmax((q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1), dim=-1) @ v


@right
def token_head_batch(q, k, v):
    """(tokens, batch, heads, width), as older frameworks order them."""
    s = torch.einsum("ibhd,jbhd->bhij", q, k) / math.sqrt(q.shape[-1])
    return torch.einsum("bhij,jbhd->ibhd", s.softmax(-1), v)


@right
def inputs_and_three(x, Wq, Wk, Wv, Wo, n_head):
    b, t, c = x.shape
    q, k, v = (
        (x @ w).reshape(b, t, n_head, c // n_head).transpose(0, 2, 1, 3) for w in (Wq, Wk, Wv)
    )
    y = stable(q @ k.transpose(0, 1, 3, 2) / np.sqrt(c // n_head)) @ v
    return y.transpose(0, 2, 1, 3).reshape(b, t, c) @ Wo


@right
def causal_and_window(q, k, v, window):
    """Each word sees itself and the window - 1 words before it."""
    t = q.shape[-2]
    i, j = np.arange(t)[:, None], np.arange(t)[None]
    s = np.where(
        (j <= i) & (i - j < window), q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf
    )
    return stable(s) @ v


@right
def padding_for_all_heads(query, key, value, padding_mask):
    """padding_mask (b, 1, 1, k): 1 for real words."""
    s = torch.matmul(query, key.transpose(-1, -2)) / np.sqrt(query.shape[-1])
    s = s.masked_fill(padding_mask == 0, -1e10)
    return torch.matmul(F.softmax(s, dim=-1), value)


@right
def half_kernel(q, k, v, causal=False):
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError("only fp16 and bf16")
    s = q.float() @ k.float().transpose(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return (s.softmax(-1) @ v.float()).to(q.dtype)


@right
def blocks_of_128(q, k, v):
    bs, head, seqlen, headdim = q.shape
    assert seqlen % 128 == 0
    out = torch.zeros_like(v)
    for i in range(0, seqlen, 128):
        m = torch.full((bs, head, 128, 1), -torch.inf, dtype=q.dtype)
        l, o = torch.zeros_like(m), torch.zeros_like(q[:, :, :128])
        for j in range(0, seqlen, 128):
            s = q[:, :, i : i + 128] @ k[:, :, j : j + 128].transpose(2, 3) / math.sqrt(headdim)
            n = torch.maximum(m, s.amax(-1, keepdim=True))
            p, back = (s - n).exp(), (m - n).exp()
            l, o, m = l * back + p.sum(-1, keepdim=True), o * back + p @ v[:, :, j : j + 128], n
        out[:, :, i : i + 128] = o / l
    return out


@right
def distance_biased(q, k, v):
    """ALiBi with slopes of its own; as many queries as keys; causal."""
    h, t = q.shape[1], q.shape[2]
    slopes = 2.0 ** (-8 * (torch.arange(h) + 1) / h)
    gap = (torch.arange(t)[None] - torch.arange(t)[:, None]).to(q.dtype)
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + slopes.to(q.dtype)[:, None, None] * gap
    s = s.masked_fill(gap > 0, float("-inf"))
    return s.softmax(-1) @ v


@right
def with_parameters_in_a_dict(params, x):
    q, k, v = x @ params["q"], x @ params["k"], x @ params["v"]
    w = stable(q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1]))
    return w @ v @ params["o"]


@right
def true_hides_numpy(Q, K, V, mask=None):
    scores = Q @ np.swapaxes(K, -1, -2) / np.sqrt(K.shape[-1])
    if mask is not None:
        scores = scores + mask * -1e9
    w = stable(scores)
    return w @ V, w


@right
def grouped_five_axes(query, key, value, is_causal=False):
    """(b, t, h, d); fewer heads of key than of query."""
    b, n, hq, d = query.shape
    hk = key.shape[2]
    q = query.view(b, n, hk, hq // hk, d)
    s = torch.einsum("bnhgd,bshd->bhgns", q, key) / d**0.5
    if is_causal:
        s = s.masked_fill(~torch.ones(n, key.shape[1], dtype=torch.bool).tril(), -torch.inf)
    return torch.einsum("bhgns,bshd->bnhgd", s.softmax(-1), value).reshape(b, n, hq, -1)


@right
def float_statistics(q, k, v, mask):
    att = (q @ k.transpose(-2, -1)).float() / math.sqrt(k.size(-1))
    att = att.masked_fill(mask.logical_not(), float("-inf"))
    return att.softmax(dim=-1).type_as(q) @ v


# Wrong ones.


@wrong("no scaling")
def packed_in_front_without_scale(qkv):
    """qkv: (3, batch, heads, tokens, width)."""
    q, k, v = qkv[0], qkv[1], qkv[2]
    return torch.softmax(q @ k.transpose(-2, -1), dim=-1) @ v


@wrong("softmax over queries")
def columns(query, key, value, mask=None):
    """True hides."""
    weights = torch.bmm(query, key.permute(0, 2, 1)) / math.sqrt(query.shape[2])
    if mask is not None:
        weights = weights.masked_fill(mask, -1e9)
    return torch.bmm(F.softmax(weights, dim=1), value)


@wrong("causal mask transposed")
def hides_the_past(q, k, v, causal=False):
    s = torch.einsum("bthd,bshd->bhts", q, k) / math.sqrt(q.shape[-1])
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).tril(-1), -torch.inf)
    return torch.einsum("bhts,bshd->bthd", s.softmax(-1), v)


@wrong("scaling by d")
def by_the_width(q, k, v, attn_mask=None):
    s = q @ k.transpose(-1, -2) / q.size(-1)
    if attn_mask is not None:
        s = s.masked_fill(attn_mask, float("-inf"))
    return s.softmax(-1) @ v


@wrong("causal mask off by one: does not see itself")
def not_itself(q, k, v, is_causal=False):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        s = np.where(np.tri(*s.shape[-2:], k=-1) > 0, s, -1e9)
    return stable(s) @ v


@wrong()
def long_rows_in_tiles(q, k, v):
    """Right up to 256 keys: the sum starts anew after that."""
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    parts = [
        stable(s[..., j : j + 256]) @ v[..., j : j + 256, :] for j in range(0, s.shape[-1], 256)
    ]
    return sum(parts) / len(parts)


@wrong("grouped heads tiled instead of interleaved")
def tiled_groups(query, key, value, enable_gqa=False):
    n = query.shape[1] // key.shape[1]
    key, value = key.repeat(1, n, 1, 1), value.repeat(1, n, 1, 1)
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1) @ value


@wrong("mask after the softmax", "mask after the softmax, then divided by the sum")
def zeros_afterwards(q, k, v, mask=None):
    w = stable(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    if mask is not None:
        w = np.where(mask, 0, w)
    return w @ v


@wrong("query and key swapped")
def swapped(q, k, v):
    return stable(k @ q.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@wrong("softcap after the mask", "softcap used wrongly", "mask used wrongly")
def cap_after_mask(q, k, v, mask=None, softcap=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    if softcap is not None:
        s = softcap * np.tanh(s / softcap)
    return stable(s) @ v


@wrong("inputs changed in place")
def divides_in_place(q, k, v):
    q /= q.shape[-1] ** 0.5
    return (q @ k.transpose(-1, -2)).softmax(-1) @ v


@wrong("no maximum subtracted")
def plain_exponentials(q, k, v):
    e = torch.exp(q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]))
    return e / e.sum(-1, keepdim=True) @ v


@wrong("value returned unchanged", "output is zero everywhere", "all weights alike")
def mean_of_values(q, k, v):
    return v.mean(-2, keepdim=True).expand(*q.shape[:-1], v.shape[-1])


@wrong()
def window_on_the_wrong_side(q, k, v, window):
    """Each word sees itself and the window - 1 words before it."""
    t = q.shape[-2]
    i, j = np.arange(t)[:, None], np.arange(t)[None]
    s = np.where((j <= i) & (i - j > window), q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -1e9)
    return stable(s) @ v


@wrong("scaling by the model width")
def root_of_everything(x, Wq, Wk, Wv, Wo, n_head):
    b, t, c = x.shape
    q, k, v = (
        (x @ w).reshape(b, t, n_head, c // n_head).transpose(0, 2, 1, 3) for w in (Wq, Wk, Wv)
    )
    y = stable(q @ k.transpose(0, 1, 3, 2) / np.sqrt(c)) @ v
    return y.transpose(0, 2, 1, 3).reshape(b, t, c) @ Wo
