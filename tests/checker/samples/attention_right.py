"""Right attentions in many styles, signatures and dtypes: a check must have nothing to say."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def with_einsum(query, key, value):
    scores = np.einsum("bhqd,bhkd->bhqk", query, key) / math.sqrt(query.shape[-1])
    return np.einsum("bhqk,bhkv->bhqv", softmax(scores), value)


def with_matmul(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def with_loops(q, k, v):
    output = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        scores = [sum(a * b for a, b in zip(q[i], key, strict=True)) for key in k]
        scores = [s / math.sqrt(len(q[i])) for s in scores]
        highest = max(scores)
        e = [math.exp(s - highest) for s in scores]
        for j, weight in enumerate(e):
            output[i] += weight / sum(e) * v[j]
    return output


def of_two_axes(Q, K, V):  # noqa: N803
    return softmax(Q @ K.T / np.sqrt(K.shape[1]), axis=1) @ V


def of_three_axes(q, k, v):
    scores = np.matmul(q, k.transpose(0, 2, 1)) / np.sqrt(q.shape[2])
    return np.matmul(softmax(scores, axis=2), v)


def tokens_first(query, key, value):
    scores = np.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(query.shape[-1])
    return np.einsum("bhqk,bkhv->bqhv", softmax(scores), value)


def in_tiles(query, key, value, *, causal=False, block=2):
    """Online softmax over blocks of keys, as flash attention does it."""
    scale = 1 / math.sqrt(query.shape[-1])
    queries, keys = query.shape[-2], key.shape[-2]
    highest = np.full((*query.shape[:-1], 1), -np.inf)
    total = np.zeros_like(highest)
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for start in range(0, keys, block):
        tile = slice(start, min(start + block, keys))
        scores = query @ key[..., tile, :].swapaxes(-1, -2) * scale
        if causal:
            ahead = np.arange(keys)[tile] > np.arange(queries)[:, None]
            scores = np.where(ahead, -np.inf, scores)
        higher = np.maximum(highest, scores.max(axis=-1, keepdims=True))
        shift = np.where(np.isfinite(higher), higher, 0)
        e = np.exp(scores - shift)
        keep = np.exp(highest - shift)
        total = total * keep + e.sum(axis=-1, keepdims=True)
        output = output * keep + e @ value[..., tile, :]
        highest = higher
    return output / total


def with_mask(q, k, v, mask=None):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is None:
        return softmax(scores) @ v
    scores = np.where(mask, scores, -np.inf)
    highest = scores.max(axis=-1, keepdims=True)
    e = np.where(mask, np.exp(scores - np.where(np.isfinite(highest), highest, 0)), 0)
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v


def with_added_mask(q, k, v, mask):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + mask
    weights = softmax(np.maximum(scores, -1e30))
    return np.where(np.isneginf(mask).all(axis=-1)[..., None], 0, weights @ v)


def with_mask_of_ones(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.nan_to_num(torch.softmax(scores, dim=-1)) @ v


def always_causal(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    ahead = np.triu(np.ones((q.shape[-2], k.shape[-2]), bool), k=1)
    return softmax(np.where(ahead, -np.inf, scores)) @ v


def always_causal_with_a_cache(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.tri(q.shape[-2], k.shape[-2], k.shape[-2] - q.shape[-2], dtype=bool)
    return softmax(np.where(seen, scores, -np.inf)) @ v


def returning_both(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return weights @ v, weights


def returning_weights(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))


def returning_logsumexp(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    highest = scores.max(axis=-1)
    logsumexp = highest + np.log(np.exp(scores - highest[..., None]).sum(axis=-1))
    return np.exp(scores - logsumexp[..., None]) @ v, logsumexp


def returning_a_dict(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return {"output": weights @ v, "attention": weights}


def from_vectors(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1])) @ v


def from_vectors_with_heads(x, w_query, w_key, w_value, num_heads):
    b, t, _ = x.shape

    def split(array):
        return array.reshape(b, t, num_heads, -1).transpose(0, 2, 1, 3)

    q, k, v = split(x @ w_query), split(x @ w_key), split(x @ w_value)
    output = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ v
    return output.transpose(0, 2, 1, 3).reshape(b, t, -1)


def joined_heads(q, k, v, heads):
    b, t, _ = q.shape
    q, k, v = (a.reshape(b, a.shape[1], heads, -1).transpose(0, 2, 1, 3) for a in (q, k, v))
    output = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ v
    return output.transpose(0, 2, 1, 3).reshape(b, t, -1)


def from_x_alone(x):
    return softmax(x @ x.swapaxes(-1, -2) / np.sqrt(x.shape[-1])) @ x


def in_torch(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.softmax(scores, dim=-1).nan_to_num() @ v


def sdpa_always_causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def in_float32(q, k, v):
    q, k, v = (a.astype(np.float32) for a in (q, k, v))
    return with_matmul(q, k, v)


def in_float32_and_back(q, k, v):
    return in_float32(q, k, v).astype(q.dtype)


def with_groups(q, k, v):
    group = q.shape[1] // k.shape[1]
    return with_matmul(q, np.repeat(k, group, axis=1), np.repeat(v, group, axis=1))


def with_lengths(q, k, v, lengths=None):
    mask = None
    if lengths is not None:
        mask = np.arange(k.shape[-2]) < lengths[:, None, None, None]
    return with_mask(q, k, v, mask)


def with_softcap(q, k, v, softcap=None, causal=False):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if softcap is not None:
        scores = softcap * np.tanh(scores / softcap)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    return softmax(scores) @ v


def causal_unless_told(q, k, v, causal=True):
    return always_causal(q, k, v) if causal else with_matmul(q, k, v)


def in_another_order(values, keys, query):
    return with_matmul(query, keys, values)


def joined_at_the_end(q, k, v):
    output = with_matmul(q, k, v)
    return output.transpose(0, 2, 1, 3).reshape(len(q), q.shape[2], -1)


def tokens_first_at_the_end(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return (weights @ v).swapaxes(1, 2), weights


def causal_and_tokens_first_at_the_end(q, k, v):
    return always_causal(q, k, v).swapaxes(1, 2)


def causal_weights(q, k, v):
    """Tokens first, weights alone."""
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    ahead = np.triu(np.ones(scores.shape[-2:], bool), k=1)
    return softmax(np.where(ahead, -np.inf, scores))


def in_lists(q, k, v):
    return [[float(x) for x in row] for row in with_loops(q, k, v)]


def of_anything(*arrays):
    return with_matmul(*arrays)


def in_base_two(q, k, v):
    scores = q @ k.swapaxes(-1, -2) * (math.log2(math.e) / math.sqrt(q.shape[-1]))
    e = np.exp2(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def scaled_before(q, k, v):
    q, k = q * q.shape[-1] ** -0.25, k * k.shape[-1] ** -0.25
    return softmax(q @ k.swapaxes(-1, -2)) @ v


def with_padding_that_hides(q, k, v, key_padding_mask=None):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if key_padding_mask is not None:
        scores = scores.masked_fill(key_padding_mask[:, None, None, :], -math.inf)
    return torch.softmax(scores, -1) @ v


def with_real_tokens(q, k, v, padding_mask=None):
    hidden = None if padding_mask is None else ~padding_mask
    return with_padding_that_hides(q, k, v, hidden)


def in_a_window(q, k, v, window=None, causal=False):
    gap = torch.arange(k.shape[-2]) - torch.arange(q.shape[-2])[:, None]
    seen = torch.ones_like(gap, dtype=torch.bool)
    if window is not None:
        seen &= (gap >= -window[0]) & (gap <= window[1])
    if causal:
        seen &= gap <= 0
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


class OwnModule(torch.nn.Module):
    """The usual class of a tutorial."""

    def __init__(self, width=12, heads=3):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            torch.nn.Linear(width, width) for _ in range(4)
        )

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (
            layer(x).view(b, t, self.heads, self.d).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.d**0.5, dim=-1)
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, t, e))


class OwnModuleOfThree(OwnModule):
    """The same with query, key and value handed in apart, as for a decoder."""

    def forward(self, query, key, value, mask=None):
        b, t, e = query.shape
        given = zip((self.q_proj, self.k_proj, self.v_proj), (query, key, value), strict=True)
        q, k, v = (layer(x).view(b, -1, self.heads, self.d).transpose(1, 2) for layer, x in given)
        scores = q @ k.transpose(-2, -1) / self.d**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1).nan_to_num()
        return self.out_proj((weights @ v).transpose(1, 2).reshape(b, t, e))


def seeded(make):
    torch.manual_seed(0)
    return make()


NUMPY = (with_einsum, with_matmul, with_loops, of_two_axes, of_three_axes, tokens_first, in_tiles,
         with_mask, with_added_mask, always_causal, always_causal_with_a_cache, returning_both,
         returning_weights, returning_logsumexp, returning_a_dict, from_vectors,
         from_vectors_with_heads, joined_heads, from_x_alone, in_float32, in_float32_and_back,
         with_groups, with_lengths, with_softcap, causal_unless_told, in_another_order,
         joined_at_the_end, tokens_first_at_the_end, in_base_two, scaled_before, in_lists,
         causal_and_tokens_first_at_the_end, causal_weights,
         of_anything)  # fmt: skip
TORCH = (
    with_padding_that_hides,
    with_real_tokens,
    in_a_window,
    in_torch,
    with_mask_of_ones,
    sdpa_always_causal,
    F.scaled_dot_product_attention,
)
MODULES = {
    "MultiheadAttention": lambda: torch.nn.MultiheadAttention(12, 3, batch_first=True),
    "MultiheadAttention, tokens first": lambda: torch.nn.MultiheadAttention(8, 2),
    "MultiheadAttention, float64": lambda: torch.nn.MultiheadAttention(12, 3).double(),
    "own module": OwnModule,
    "own module, one head": lambda: OwnModule(8, 1).double(),
    "own module of three": OwnModuleOfThree,
}
