"""Right attentions in NumPy, as courses, blogs and answers write them."""

import math

import numpy as np
from tests.checker.samples.wild.registry import right, unless_empty


def softmax(x, axis=-1):
    x = x - np.max(x, axis=axis, keepdims=True)
    e = np.exp(x)
    return e / np.sum(e, axis=axis, keepdims=True)


@right
def scaled_dot_product_attention(queries, keys, values):
    d_k = queries.shape[-1]
    return softmax(np.matmul(queries, np.swapaxes(keys, -2, -1)) / np.sqrt(d_k)) @ values


@right
def attention_of_matrices(Q, K, V):
    scores = Q @ K.T / math.sqrt(K.shape[1])
    weights = softmax(scores, axis=1)
    return weights @ V, weights


@right
def attention_by_einsum(q, k, v):
    logits = np.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    return np.einsum("...qk,...kd->...qd", softmax(logits), v)


@right
def by_words(Q, K, V):
    """One word after the other, as it is told on paper."""
    out = []
    for q in Q:
        scores = np.array([np.dot(q, k) for k in K]) / np.sqrt(len(q))
        weights = softmax(scores)
        out.append(sum(w * v for w, v in zip(weights, V, strict=True)))
    return np.stack(out)


@unless_empty
def tutorial_of_tensorflow(q, k, v, mask):
    """1 in the mask hides."""
    matmul_qk = np.matmul(q, np.swapaxes(k, -1, -2))
    logits = matmul_qk / np.sqrt(np.float64(k.shape[-1]))
    if mask is not None:
        logits += mask * -1e9
    weights = softmax(logits)
    return np.matmul(weights, v), weights


@unless_empty
def tutorial_without_words(q, k, v, mask=None):
    logits = np.matmul(q, np.swapaxes(k, -1, -2)) / np.sqrt(k.shape[-1])
    if mask is not None:
        logits = logits + (mask * -1e9)
    return np.matmul(softmax(logits), v)


@unless_empty
def course_answer(Q, K, V, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    if mask is not None:
        scores = np.where(mask == 0, -1e9, scores)
    return softmax(scores) @ V


@unless_empty
def course_answer_with_infinity(Q, K, V, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    return softmax(scores) @ V


@unless_empty
def multiplied_out_mask(q, k, v, mask):
    s = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1])
    s = s * mask + (1.0 - mask) * -1e30
    return np.einsum("bhij,bhjd->bhid", softmax(s), v)


@unless_empty
def bias_style(query, key, value, bias=None):
    """Tokens before heads, and a bias that is added."""
    query = query / np.sqrt(query.shape[-1])
    w = np.einsum("...qhd,...khd->...hqk", query, key)
    if bias is not None:
        w = w + bias
    return np.einsum("...hqk,...khd->...qhd", softmax(w), value)


@unless_empty
def smallest_number(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask, s, np.finfo(s.dtype).min)
    return softmax(s) @ v


@right
def renormalised_after(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if mask is None:
        mask = np.ones(s.shape[-2:], bool)
    s = np.where(mask, s, -np.inf)
    top = s.max(-1, keepdims=True)
    top = np.where(np.isinf(top), 0, top)
    e = np.exp(s - top) * mask
    z = e.sum(-1, keepdims=True)
    return np.divide(e, z, out=np.zeros_like(e), where=z > 0) @ v


@right
def causal_attention(q, k, v):
    t = q.shape[-2]
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    s = s + np.triu(np.full((t, k.shape[-2]), -np.inf), 1)
    return softmax(s) @ v


@unless_empty
def small_gpt_attention(q, k, v, mask):
    """[n_q, d_k], [n_k, d_k], [n_k, d_v], [n_q, n_k] -> [n_q, d_v]"""
    return softmax(q @ k.T / np.sqrt(q.shape[-1]) + mask) @ v


@unless_empty
def additive_mask(q, k, v, mask=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(s if mask is None else s + mask) @ v


@right
def self_attention(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1])
    return softmax(scores) @ v


@right
def masked_self_attention(X, Wq, Wk, Wv):
    """Causal self-attention of one sentence or of many."""
    q, k, v = X @ Wq, X @ Wk, X @ Wv
    s = q @ np.swapaxes(k, -2, -1) / np.sqrt(q.shape[-1])
    hide = np.triu(np.ones(s.shape[-2:]), k=1).astype(bool)
    return softmax(np.where(hide, -1e10, s)) @ v


@right
def multi_head(x, w_q, w_k, w_v, w_o, n_heads):
    b, t, _ = x.shape

    def split(y):
        return y.reshape(b, t, n_heads, -1).transpose(0, 2, 1, 3)

    q, k, v = split(x @ w_q), split(x @ w_k), split(x @ w_v)
    a = softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]))
    return (a @ v).transpose(0, 2, 1, 3).reshape(b, t, -1) @ w_o


@right
def transposed_weights(x, q_proj_weight, k_proj_weight, v_proj_weight):
    """Weights of linear layers: (out, in)."""
    q = x @ q_proj_weight.T
    k = x @ k_proj_weight.T
    v = x @ v_proj_weight.T
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@right
def streaming(q, k, v):
    """One key after the other with a running maximum."""
    m = np.full(q.shape[:-1], -np.inf)
    z = np.zeros(q.shape[:-1])
    o = np.zeros((*q.shape[:-1], v.shape[-1]))
    for j in range(k.shape[-2]):
        s = (q * k[..., j : j + 1, :]).sum(-1) / np.sqrt(q.shape[-1])
        new = np.maximum(m, s)
        keep, add = np.exp(m - new), np.exp(s - new)
        z = z * keep + add
        o = o * keep[..., None] + add[..., None] * v[..., j : j + 1, :]
        m = new
    return o / z[..., None]


@right
def grouped(q, k, v):
    rep = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, rep, 1), np.repeat(v, rep, 1)
    return softmax(q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])) @ v


@right
def padded(q, k, v, lengths=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if lengths is not None:
        real = np.arange(k.shape[-2])[None] < np.asarray(lengths)[:, None]
        s = np.where(real[:, None, None, :], s, -np.inf)
    return softmax(s) @ v


@unless_empty
def mask_of_real_tokens(q, k, v, mask=None):
    """The mask is (batch, keys): 1 for a real token."""
    s = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(mask[:, None, None, :] > 0, s, -1e9)
    return np.einsum("bhqk,bhkd->bhqd", softmax(s), v)


class NumpySelfAttention:
    def __init__(self, d_model, num_heads):
        rng = np.random.default_rng(0)
        self.h, self.d = num_heads, d_model // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            rng.standard_normal((d_model, d_model)) * 0.3 for _ in range(4)
        )

    def __call__(self, x):
        b, t, e = x.shape
        q, k, v = (
            (x @ w).reshape(b, t, self.h, self.d).swapaxes(1, 2)
            for w in (self.W_q, self.W_k, self.W_v)
        )
        a = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(self.d))
        return (a @ v).swapaxes(1, 2).reshape(b, t, e) @ self.W_o


right(NumpySelfAttention)


class NumpyHead:
    """One head; the weights of the last call are kept for a picture."""

    def __init__(self, d_in, d_out):
        rng = np.random.default_rng(1)
        self.w_query, self.w_key, self.w_value = (rng.normal(size=(d_in, d_out)) for _ in range(3))

    def forward(self, x):
        q, k, v = x @ self.w_query, x @ self.w_key, x @ self.w_value
        self.last = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(k.shape[-1]))
        return self.last @ v


right(NumpyHead)


def make_attention(scale=None, causal=False):
    def attention(query, key, value):
        factor = scale or query.shape[-1] ** -0.5
        s = np.matmul(query, np.swapaxes(key, -1, -2)) * factor
        if causal:
            s = np.where(np.tri(*s.shape[-2:], dtype=bool), s, -np.inf)
        return np.matmul(softmax(s), value)

    return attention


right(make_attention())
right(make_attention(causal=True))


@right
def with_cached_keys(q, k, v, past_k=None, past_v=None):
    if past_k is not None:
        k = np.concatenate([past_k, k], axis=-2)
        v = np.concatenate([past_v, v], axis=-2)
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


@right
def temperature_given(q, k, v, temperature):
    return softmax(q @ k.swapaxes(-1, -2) / temperature) @ v


@right
def keys_first(K, Q, V):
    return softmax(Q @ K.swapaxes(-1, -2) / np.sqrt(K.shape[-1])) @ V


@unless_empty
def capped(q, k, v, mask=None, softcap=None):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if softcap:
        s = softcap * np.tanh(s / softcap)
    if mask is not None:
        s = np.where(mask, s, -1e30)
    return softmax(s) @ v


@right
def output_of_the_shape_of_x(x, w_q, w_k, w_v, heads):
    q, k, v = ((x @ w).reshape(*x.shape[:2], heads, -1).swapaxes(1, 2) for w in (w_q, w_k, w_v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(x.shape)
