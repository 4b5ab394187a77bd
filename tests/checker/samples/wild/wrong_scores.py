"""Wrong attentions: scores, scaling, softmax and sums."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from tests.checker.samples.wild.registry import wrong


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@wrong("no scaling")
def unscaled(Q, K, V):
    return softmax(Q @ K.swapaxes(-1, -2)) @ V


@wrong("no scaling")
def unscaled_torch(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return torch.matmul(F.softmax(scores, dim=-1), value)


@wrong("scaling by d")
def by_d(q, k, v):
    d_k = q.shape[-1]
    return softmax(np.einsum("bhqd,bhkd->bhqk", q, k) / d_k) @ v


@wrong("scaling by d")
def scaled_twice(q, k, v):
    q = q / math.sqrt(q.size(-1))
    return torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)), -1) @ v


@wrong("scaling upwards")
def multiplied(q, k, v):
    return F.softmax(q @ k.mT * q.size(-1) ** 0.5, -1) @ v


@wrong("scaling by the number of keys")
def by_keys(q, k, v):
    scores = torch.matmul(q, k.transpose(-2, -1))
    return torch.matmul(F.softmax(scores / math.sqrt(scores.size(-1)), dim=-1), v)


@wrong("scaling by the number of keys")
def by_length(Q, K, V):
    """For one sentence."""
    return softmax(Q @ K.T / np.sqrt(K.shape[0])) @ V


@wrong("scaling by the model width")
def by_model_width(x, w_q, w_k, w_v, num_heads):
    b, t, e = x.shape
    q, k, v = ((x @ w).reshape(b, t, num_heads, -1).transpose(0, 2, 1, 3) for w in (w_q, w_k, w_v))
    a = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(num_heads * q.shape[-1]))
    return (a @ v).transpose(0, 2, 1, 3).reshape(b, t, -1)


@wrong("scale argument ignored")
def ignores_scale(q, k, v, scale=None):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@wrong("scale argument ignored")
def interface_without_scaling(module, query, key, value, attention_mask, scaling, **kwargs):
    w = torch.matmul(query, key.transpose(2, 3)) / math.sqrt(query.shape[-1])
    if attention_mask is not None:
        w = w + attention_mask
    w = F.softmax(w, dim=-1)
    return torch.matmul(w, value).transpose(1, 2), w


@wrong("no scaling", "scale argument ignored")
def interface_unscaled(module, query, key, value, attention_mask, scaling, **kwargs):
    w = torch.matmul(query, key.transpose(2, 3))
    if attention_mask is not None:
        w = w + attention_mask
    w = F.softmax(w, dim=-1)
    return torch.matmul(w, value).transpose(1, 2), w


@wrong("softmax before scaling")
def late_scaling(Q, K, V):
    return softmax(Q @ K.swapaxes(-2, -1)) / np.sqrt(K.shape[-1]) @ V


@wrong("softmax before scaling")
def late_scaling_of_output(q, k, v):
    out = F.softmax(q @ k.transpose(-2, -1), dim=-1) @ v
    return out / q.shape[-1] ** 0.5


@wrong("softmax over heads", "softmax over queries")
def dim_1(q, k, v):
    s = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return F.softmax(s, dim=1) @ v


@wrong("softmax over heads", "softmax over queries")
def axis_1(Q, K, V):
    return softmax(Q @ np.swapaxes(K, -1, -2) / np.sqrt(Q.shape[-1]), axis=1) @ V


@wrong("softmax over heads", "softmax over the batch")
def no_dim(q, k, v):
    return F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))) @ v


@wrong("softmax over queries")
def dim_of_queries(q, k, v):
    return torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, dim=-2) @ v


@wrong("softmax over queries")
def dim_2_of_heads(q, k, v):
    b, h, n, d = q.shape
    return torch.softmax(q @ k.transpose(-2, -1) / d**0.5, dim=2) @ v


@wrong("softmax over the batch", "softmax over queries")
def axis_0(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), axis=0) @ v


@wrong("softmax over queries")
def keras_like(query, key, value):
    s = np.einsum("bqd,bkd->bqk", query, key) / np.sqrt(query.shape[-1])
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return np.einsum("bqk,bkd->bqd", e / e.sum(axis=1, keepdims=True), value)


@wrong("softmax over the whole matrix")
def no_axis(Q, K, V):
    s = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    e = np.exp(s - np.max(s))
    return e / np.sum(e) @ V


@wrong("no maximum subtracted")
def naive_exp(q, k, v):
    e = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return e / e.sum(-1, keepdims=True) @ v


@wrong("no maximum subtracted")
def naive_exp_torch(q, k, v, is_causal=False):
    e = torch.exp(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)))
    if is_causal:
        e = e.tril()
    return e / e.sum(-1, keepdim=True) @ v


@wrong("no softmax")
def linear(q, k, v):
    return q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) @ v


@wrong("softmax without its division")
def not_divided(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return np.exp(s - s.max(-1, keepdims=True)) @ v


@wrong("scores divided by their sum")
def shares(q, k, v):
    s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    return s / s.sum(-1, keepdim=True) @ v


@wrong("softmax applied twice")
def twice(q, k, v):
    w = F.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)), dim=-1)
    return F.softmax(w, dim=-1) @ v


@wrong("powers of 2 instead of e")
def base_two(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp2(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


@wrong("sigmoid instead of softmax")
def sigmoid(q, k, v):
    return torch.sigmoid(q @ k.transpose(-1, -2) / q.size(-1) ** 0.5) @ v


@wrong("1 added to the sum of the softmax")
def quiet(q, k, v):
    e = torch.exp(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)))
    return e / (1 + e.sum(-1, keepdim=True)) @ v


@wrong("1 added to the sum of the softmax")
def quiet_after_the_maximum(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / (1 + e.sum(-1, keepdims=True)) @ v


@wrong()
def twice_the_root_which_is_d_where_d_is_four(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / (2 * np.sqrt(q.shape[-1]))) @ v


@wrong("largest score alone")
def hard(q, k, v):
    return F.one_hot((q @ k.transpose(-1, -2)).argmax(-1), k.size(-2)).to(v.dtype) @ v


@wrong("scaling by the model width")
def output_of_the_shape_of_x(x, w_q, w_k, w_v, heads):
    b, t, c = x.shape
    q, k, v = ((x @ w).reshape(b, t, heads, -1).swapaxes(1, 2) for w in (w_q, w_k, w_v))
    return (softmax(q @ k.swapaxes(-1, -2) / np.sqrt(c)) @ v).swapaxes(1, 2).reshape(b, t, c)


@wrong("query and key swapped")
def swapped(q, k, v):
    s = k @ q.swapaxes(-1, -2) / np.sqrt(k.shape[-1])
    return softmax(s) @ v


@wrong("query and key swapped")
def swapped_from_vectors(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    return softmax(k @ q.swapaxes(-1, -2) / np.sqrt(k.shape[-1])) @ v


@wrong("value used as key")
def values_for_keys(q, k, v):
    return softmax(q @ v.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@wrong("key used as value")
def keys_for_values(query, key, value):
    w = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(query.size(-1)), -1)
    return w @ key


@wrong("query used as key")
def queries_for_keys(q, k, v):
    return softmax(q @ q.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@wrong("key reshaped instead of transposed")
def reshaped(q, k, v):
    b, h, n, d = k.shape
    return torch.softmax(q @ k.reshape(b, h, d, n) / d**0.5, dim=-1) @ v


@wrong("key reshaped instead of transposed")
def viewed(q, k, v):
    return (
        torch.softmax(torch.bmm(q, k.view(k.size(0), k.size(2), k.size(1))) / q.size(-1) ** 0.5, -1)
        @ v
    )


@wrong("key not transposed")
def untransposed(q, k, v):
    return softmax(q @ k / np.sqrt(q.shape[-1])) @ v


@wrong("np.dot across the batch")
def dotted(x, W_q, W_k, W_v):
    Q, K, V = np.dot(x, W_q), np.dot(x, W_k), np.dot(x, W_v)
    scores = np.dot(Q, K.transpose(0, 2, 1)) / np.sqrt(Q.shape[-1])
    return np.dot(softmax(scores), V)


@wrong("weights transposed")
def transposed_weights(q, k, v):
    w = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return w.swapaxes(-1, -2) @ v


@wrong("sign of the scores flipped")
def negated(q, k, v):
    return softmax(-(q @ k.swapaxes(-1, -2)) / np.sqrt(q.shape[-1])) @ v


@wrong("query and key normalised")
def cosine(q, k, v):
    q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
    return F.softmax(q @ k.transpose(-1, -2) / q.size(-1) ** 0.5, dim=-1) @ v


@wrong("output is zero everywhere")
def todo(q, k, v):
    return np.zeros((*q.shape[:-1], v.shape[-1]))


@wrong("output is zero everywhere")
def forgotten_loop(Q, K, V):
    out = torch.zeros(*Q.shape[:-1], V.shape[-1], dtype=Q.dtype)
    for i in range(Q.shape[-2]):
        w = torch.softmax(K @ Q[..., i, :, None] / Q.shape[-1] ** 0.5, dim=-2)
        row = out[..., i, :].clone()
        row += (w * V).sum(-2)
    return out


@wrong("value returned unchanged")
def stub(q, k, v):
    return v


@wrong("query returned unchanged")
def stub_of_queries(q, k, v):
    return q


@wrong("NaN everywhere")
def all_nan(q, k, v):
    s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    s = s.masked_fill(torch.ones_like(s, dtype=torch.bool), float("-inf"))
    return s.softmax(-1) @ v


@wrong("all weights alike")
def mean_of_values(q, k, v):
    w = np.ones((*q.shape[:-1], k.shape[-2])) / k.shape[-2]
    return w @ v


@wrong("input added to the output")
def residual(q, k, v):
    return q + softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@wrong("returned weights are not the weights used")
def returns_scores(q, k, v):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    return s.softmax(-1) @ v, s


@wrong("attention recovered as output times value transposed")
def recovered(q, k, v):
    out = F.scaled_dot_product_attention(q, k, v)
    return out, out @ v.transpose(-2, -1)


@wrong("softmax applied again to averaged weights")
def averaged_again(q, k, v):
    w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
    return w @ v, torch.softmax(w.mean(dim=1), dim=-1)


@wrong("inputs changed in place")
def divides_in_place(q, k, v):
    q /= q.shape[-1] ** 0.5
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


@wrong("results that differ between two calls")
def dropout_always(q, k, v):
    w = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.size(-1)), -1)
    return F.dropout(w, 0.2) @ v


@wrong("statistics in half precision")
def half(q, k, v):
    s = (q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])).astype(np.float16)
    e = np.exp(s - s.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True)).astype(q.dtype) @ v


@wrong("base-2 log-sum-exp returned as natural")
def lse_of_kernel(q, k, v):
    s = q @ k.transpose(-2, -1) * (q.size(-1) ** -0.5 * math.log2(math.e))
    m = s.max(-1).values
    e = torch.exp2(s - m[..., None])
    z = e.sum(-1)
    return (e / z[..., None]) @ v, m + torch.log2(z)


@wrong()
def euclidean(q, k, v):
    gap = ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1)
    return softmax(-gap / np.sqrt(q.shape[-1])) @ v
