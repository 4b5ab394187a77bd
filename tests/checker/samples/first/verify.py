"""Hold every right sample and every twin against a reference in float64, written apart from them.

Run as `python tests/checker/samples/first/verify.py`. Each reference below works from the sample's
parameters with NumPy alone, one query at a time. A wrong sample must differ from its twin, with the
same parameters and arguments, by more than rounding can explain.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
ROUNDINGS = 4096  # a bound on the roundings that add up in a value, relative to the largest value
RUNS = 3
REFERENCES = {}


def reference(function):
    """Keep a reference under the name of its sample."""
    REFERENCES[function.__name__] = function
    return function


# The parts that references share.


def attend(q, k, v, scale=None, bias=None, allowed=None):
    """One softmax for each query, over leading axes of any number."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    lead, n, m = q.shape[:-2], q.shape[-2], k.shape[-2]
    k, v = np.broadcast_to(k, lead + k.shape[-2:]), np.broadcast_to(v, lead + v.shape[-2:])
    bias = np.broadcast_to(0.0 if bias is None else bias, (*lead, n, m))
    allowed = np.broadcast_to(True if allowed is None else allowed, (*lead, n, m))
    out = np.zeros((*lead, n, v.shape[-1]))
    for at in np.ndindex(*lead, n):
        see = np.flatnonzero(allowed[at])
        if len(see):
            s = [float(q[at] @ k[at[:-1]][j]) * scale + float(bias[at][j]) for j in see]
            w = np.exp(np.array(s) - max(s))
            out[at] = sum(wj * v[at[:-1]][j] for wj, j in zip(w / w.sum(), see, strict=True))
    return out


def cut(x, heads):
    """(..., n, heads * d) to (..., heads, n, d)."""
    d = x.shape[-1] // heads
    return np.stack([x[..., h * d : (h + 1) * d] for h in range(heads)], axis=-3)


def glue(x):
    """(..., heads, n, d) to (..., n, heads * d)."""
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)


def linear(p, name, x):
    return x @ p[name + ".weight"].T + p.get(name + ".bias", 0.0)


def layer_norm(p, name, x, eps=1e-5):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
    return x * p[name + ".weight"] + p[name + ".bias"]


def rms_norm(p, name, x, eps=1e-6):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * p[name + ".weight"]


def causal(n, m=None):
    m = n if m is None else m
    return np.array([[j <= i + m - n for j in range(m)] for i in range(n)])


def thirds(x):
    d = x.shape[-1] // 3
    return x[..., :d], x[..., d : 2 * d], x[..., 2 * d :]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def turn(x, pairs, start=0):
    """Rotate channel pairs (a, b) of token t by t * 10000 ** (-2 i / d)."""
    out = x.copy()
    for t in range(x.shape[-2]):
        for i, (a, b) in enumerate(pairs):
            angle = (t + start) * 10000.0 ** (-2 * i / x.shape[-1])
            xa, xb = x[..., t, a], x[..., t, b]
            out[..., t, a] = xa * np.cos(angle) - xb * np.sin(angle)
            out[..., t, b] = xb * np.cos(angle) + xa * np.sin(angle)
    return out


def turn_halves(x, start=0):
    d = x.shape[-1]
    return turn(x, [(i, i + d // 2) for i in range(d // 2)], start)


def turn_neighbours(x):
    return turn(x, [(i, i + 1) for i in range(0, x.shape[-1], 2)])


def fused(p, x, heads, name="qkv", **kw):
    """Attention from one layer that makes queries, keys and values, before the output layer."""
    q, k, v = (cut(t, heads) for t in thirds(linear(p, name, x)))
    return glue(attend(q, k, v, **kw))


def three(p, names, q, k, v, heads, **kw):
    """Attention from three layers, before the output layer."""
    parts = (cut(linear(p, n, t), heads) for n, t in zip(names, (q, k, v), strict=True))
    return glue(attend(*parts, **kw))


def share(x, times):
    return np.repeat(x, times, axis=-3)


def plain(p, q, k, v, *_):
    return attend(q, k, v)


# Samples that have a wrong and a corrected form.


@reference
def bert_self_attention(p, x, enc):
    return three(p, ("query", "key", "value"), x, enc, enc, 4)


@reference
def nano_causal(p, x):
    return linear(p, "c_proj", fused(p, x, 4, "c_attn", allowed=causal(x.shape[1])))


@reference
def vit_qk_norm(p, x):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "qkv", x)))
    out = attend(layer_norm(p, "q_norm", q), layer_norm(p, "k_norm", k), v)
    return linear(p, "proj", glue(out))


@reference
def simple_vit(p, x):
    return linear(p, "to_out", fused(p, layer_norm(p, "norm", x), 4, "to_qkv"))


@reference
def unet_cross(p, x, c):
    return linear(p, "to_out", three(p, ("to_q", "to_k", "to_v"), x, c, c, 4))


@reference
def swin_window(p, x):
    bias = np.zeros((4, 9, 9))
    for i, j in np.ndindex(9, 9):
        dy, dx = i // 3 - j // 3, i % 3 - j % 3
        bias[:, i, j] = p["relative_position_bias_table"][(dy + 2) * 5 + dx + 2]
    return linear(p, "proj", fused(p, x, 4, bias=bias))


@reference
def evoformer_row(p, m, z):
    m = layer_norm(p, "layer_norm_m", m)
    z = linear(p, "linear_z", layer_norm(p, "layer_norm_z", z))
    bias = np.stack([z[..., h] for h in range(4)])
    out = three(p, ("linear_q", "linear_k", "linear_v"), m, m, m, 4, bias=bias)
    return linear(p, "linear_o", sigmoid(linear(p, "linear_g", m)) * out)


@reference
def llama_attention(p, x):
    q, k, v = (cut(linear(p, n, x), 4) for n in ("q_proj", "k_proj", "v_proj"))
    out = attend(turn_halves(q), turn_halves(k), v, allowed=causal(x.shape[1]))
    return linear(p, "o_proj", glue(out))


@reference
def gptj_attention(p, x):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "qkv", x)))
    out = attend(turn_neighbours(q), turn_neighbours(k), v, allowed=causal(x.shape[1]))
    return linear(p, "out_proj", glue(out))


@reference
def np_head_loop(p, x, wq, wk, wv, wo):
    return glue(attend(x @ wq, x @ wk, x @ wv)) @ wo


@reference
def np_course(p, x, wq, wk, wv):
    return attend(x @ wq, x @ wk, x @ wv)


@reference
def np_batched_bias(p, x, w, heads):
    q, k, v = (cut(x @ w["w" + c] + w["b" + c], heads) for c in "qkv")
    return glue(attend(q, k, v)) @ w["wo"] + w["bo"]


@reference
def gqa_mistral(p, x):
    q = cut(linear(p, "wq", x), 8)
    k, v = (share(cut(linear(p, n, x), 2), 4) for n in ("wk", "wv"))
    return linear(p, "wo", glue(attend(q, k, v, allowed=causal(x.shape[1]))))


@reference
def mqa_shared(p, x):
    kv = linear(p, "to_kv", x)[..., None, :, :]
    return linear(p, "to_out", glue(attend(cut(linear(p, "to_q", x), 4), kv[..., :8], kv[..., 8:])))


@reference
def alibi_causal(p, x):
    n = x.shape[1]
    bias = np.array(
        [[[2.0 ** (-2 * h) * (j - i) for j in range(n)] for i in range(n)] for h in (1, 2, 3, 4)]
    )
    return linear(p, "out", fused(p, x, 4, bias=bias, allowed=causal(n)))


@reference
def rope_function(p, q, k, v):
    return attend(turn_halves(q), turn_halves(k), v)


@reference
def cached_rope(p, x, past):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "qkv", x)))
    k = np.concatenate((past[0], turn_halves(k, 5)), axis=2)
    return linear(
        p, "out", glue(attend(turn_halves(q, 5), k, np.concatenate((past[1], v), axis=2)))
    )


@reference
def resampler(p, x, latents):
    latents = layer_norm(p, "norm_latents", latents)
    both = np.concatenate((layer_norm(p, "norm_media", x), latents), axis=1)
    kv = linear(p, "to_kv", both)
    out = attend(cut(linear(p, "to_q", latents), 4), cut(kv[..., :32], 4), cut(kv[..., 32:], 4))
    return linear(p, "to_out", glue(out))


@reference
def set_mab(p, q, k):
    q, k, v = linear(p, "fc_q", q), linear(p, "fc_k", k), linear(p, "fc_v", k)
    out = q + glue(attend(cut(q, 4), cut(k, 4), cut(v, 4), scale=0.25))
    return out + np.maximum(linear(p, "fc_o", out), 0)


@reference
def conformer_relpos(p, x, pos):
    q, k, v = (cut(linear(p, "linear_" + c, x), 4) for c in "qkv")
    e, n = cut(linear(p, "linear_pos", pos), 4)[0], x.shape[1]
    bias = np.zeros((len(x), 4, n, n))
    for b, h, i, j in np.ndindex(*bias.shape):
        bias[b, h, i, j] = (q[b, h, i] + p["pos_bias_v"][h]) @ e[h, n - 1 - i + j] / 8**0.5
    return linear(p, "linear_out", glue(attend(q + p["pos_bias_u"][:, None], k, v, bias=bias)))


@reference
def latent_kv(p, x):
    kv = cut(linear(p, "wkv_b", rms_norm(p, "kv_norm", linear(p, "wkv_a", x))), 4)
    out = attend(cut(linear(p, "wq", x), 4), kv[..., :8], kv[..., 8:], allowed=causal(x.shape[1]))
    return linear(p, "wo", glue(out))


def torch_mha(p, prefix, q, k, v, heads, **kw):
    w, b = np.split(p[prefix + "in_proj_weight"], 3), np.split(p[prefix + "in_proj_bias"], 3)
    parts = (cut(t @ wi.T + bi, heads) for t, wi, bi in zip((q, k, v), w, b, strict=True))
    return linear(p, prefix + "out_proj", glue(attend(*parts, **kw)))


@reference
def detr_encoder(p, src, pos):
    src, pos = src.swapaxes(0, 1), pos.swapaxes(0, 1)
    return torch_mha(p, "self_attn.", src + pos, src + pos, src, 4).swapaxes(0, 1)


@reference
def whisper_qkv(p, x):
    return linear(p, "out", three(p, ("query", "key", "value"), x, x, x, 4))


@reference
def np_reshape_heads(p, x, c_attn, c_proj, heads):
    q, k, v = (cut(t, heads) for t in thirds(x @ c_attn))
    return glue(attend(q, k, v, allowed=causal(len(x)))) @ c_proj


@reference
def in_proj_function(p, x, w, b, wo, bo, heads):
    q, k, v = (cut(t, heads) for t in thirds(x @ w.T + b))
    return glue(attend(q, k, v)) @ wo.T + bo


@reference
def torch_no_scale(p, q, k, v):
    eye = np.broadcast_to(np.eye(k.shape[-2]), (*k.shape[:-1], k.shape[-2]))
    return attend(q, k, v), attend(q, k, eye)


@reference
def np_masked(p, q, k, v, mask):
    return attend(q, k, v, allowed=mask == 1)


@reference
def roberta_mask(p, x, mask):
    keep = (mask == 1)[:, None, None, :]
    return linear(p, "dense", three(p, ("query", "key", "value"), x, x, x, 4, allowed=keep))


@reference
def head_causal(p, x):
    q, k, v = (linear(p, n, x) for n in ("query", "key", "value"))
    return attend(q, k, v, allowed=causal(x.shape[1]))


@reference
def torch_bool_mask(p, q, k, v, mask):
    return attend(q, k, v, allowed=mask)


@reference
def local_window(p, q, k, v, window):
    n = q.shape[1]
    return attend(
        q, k, v, allowed=[[i - window <= j <= i + window for j in range(n)] for i in range(n)]
    )


@reference
def d2l_lengths(p, q, k, v, lengths):
    keep = [[[j < n for j in range(k.shape[1])]] for n in lengths]
    return attend(q, k, v, allowed=keep)


@reference
def dropout_attention(p, x):
    return linear(p, "out", fused(p, x, 4))


@reference
def static_cache(p, x, k_cache, v_cache, pos):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "wqkv", x)))
    k = np.concatenate((k_cache[:, :, :pos], k), axis=2)
    v = np.concatenate((v_cache[:, :, :pos], v), axis=2)
    return linear(p, "wo", glue(attend(q, k, v)))


@reference
def clip_attention(p, x):
    return linear(p, "out_proj", three(p, ("q_proj", "k_proj", "v_proj"), x, x, x, 4))


@reference
def flash_torch(p, q, k, v, block):
    return attend(q, k, v, allowed=causal(q.shape[-2]))


@reference
def np_keepdims(p, x, wq, wk, wv):
    return attend(x @ wq, x @ wk, x @ wv)


@reference
def merge_heads(p, q, k, v):
    return linear(p, "W_o", three(p, ("W_q", "W_k", "W_v"), q, k, v, 4))


@reference
def gated_attention(p, x):
    return linear(p, "to_out", fused(p, x, 4, "to_qkv") * sigmoid(linear(p, "to_gate", x)))


@reference
def softmax_heads(p, text, image):
    kv = linear(p, "kv", image)
    out = attend(cut(linear(p, "q", text), 4), cut(kv[..., :32], 4), cut(kv[..., 32:], 4))
    return linear(p, "proj", glue(out))


@reference
def jax_causal(p, q, k, v):
    q, k, v = (t.swapaxes(1, 2) for t in (q, k, v))
    return attend(q, k, v, allowed=causal(q.shape[2])).swapaxes(1, 2)


# Right samples.


@reference
def t5_attention(p, x):
    n, table = x.shape[1], p["relative_attention_bias.weight"]
    bias = np.array([[[table[j - i + 8, h] for j in range(n)] for i in range(n)] for h in range(4)])
    return linear(p, "o", three(p, "qkv", x, x, x, 4, scale=1.0, bias=bias))


@reference
def gemma_softcap(p, x):
    q = cut(linear(p, "q_proj", x), 4)
    k, v = (share(cut(linear(p, n, x), 2), 2) for n in ("k_proj", "v_proj"))
    s = 5 * np.tanh(q @ k.swapaxes(-1, -2) / 8**0.5 / 5)
    return linear(p, "o_proj", glue(attend(q, k, v, scale=0.0, bias=s, allowed=causal(x.shape[1]))))


@reference
def cosine_attention(p, x):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "qkv", x)))
    q, k = (t / np.sqrt((t * t).sum(-1, keepdims=True)) for t in (q, k))
    q = q * np.exp(np.minimum(p["logit_scale"], np.log(100)))
    return linear(p, "proj", glue(attend(q, k, v, scale=1.0)))


@reference
def qwen_gate(p, x):
    y = linear(p, "q_proj", x)
    q, k = cut(y[..., :32], 4), cut(linear(p, "k_proj", x), 4)
    q, k = rms_norm(p, "q_norm", q), rms_norm(p, "k_norm", k)
    out = attend(q, k, cut(linear(p, "v_proj", x), 4))
    return linear(p, "o_proj", glue(out) * np.repeat(sigmoid(y[..., 32:]), 8, axis=-1))


@reference
def talking_heads(p, x):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "qkv", x)))
    raw = np.stack([q[:, h] @ k[:, h].swapaxes(1, 2) / 8**0.5 for h in range(4)], axis=-1)
    s = np.exp(linear(p, "proj_l", raw))
    w = linear(p, "proj_w", s / s.sum(2, keepdims=True))
    return linear(p, "proj", np.concatenate([w[..., h] @ v[:, h] for h in range(4)], axis=-1))


@reference
def bert_block(p, x):
    out = linear(p, "dense", three(p, ("query", "key", "value"), x, x, x, 4))
    return layer_norm(p, "LayerNorm", out + x, 1e-12)


@reference
def learned_positions(p, x):
    return linear(p, "proj", fused(p, x + p["pos_embed"][:, : x.shape[1]], 4))


@reference
def sink_attention(p, x):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "qkv", x)))
    n = x.shape[1]
    k, v = (np.pad(t, ((0, 0), (0, 0), (0, 1), (0, 0))) for t in (k, v))
    bias = np.zeros((4, n, n + 1))
    bias[:, :, n] = p["sinks"][:, None]
    see = np.concatenate((causal(n), np.ones((n, 1), bool)), axis=1)
    return linear(p, "out", glue(attend(q, k, v, bias=bias, allowed=see)))


@reference
def softmax_one(p, q, k, v):
    s = np.exp(q @ k.T / 8**0.5)
    return s @ v / (1 + s.sum(-1, keepdims=True))


@reference
def wrapped_mha(p, x, padding):
    y = layer_norm(p, "norm", x)
    return x + torch_mha(p, "attn.", y, y, y, 4, allowed=~padding[:, None, None, :])


@reference
def sdpa_causal(p, x):
    return linear(p, "proj", fused(p, x, 4, allowed=causal(x.shape[1])))


@reference
def course_sentence(p, x, w):
    q, k = x @ w["Q"], x @ w["K"]
    return attend(q, k, x @ w["V"]), attend(q, k, np.eye(len(x)))


@reference
def np_einsum(p, x, wq, wk, wv, wo, lengths):
    q, k, v = (x[:, None] @ w.swapaxes(0, 1) for w in (wq, wk, wv))
    keep = np.array([[[[j < n for j in range(x.shape[1])]]] for n in lengths])
    out = attend(q, k, v, allowed=keep)
    return sum(out[:, h] @ wo[h] for h in range(len(wo)))


@reference
def linear_attention(p, x):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "to_qkv", x)))
    q, k = (np.where(t > 0, t + 1, np.exp(np.minimum(t, 0))) for t in (q, k))
    w = q @ k.swapaxes(-1, -2)
    return linear(p, "to_out", glue(w @ v / (w.sum(-1, keepdims=True) + 1e-6)))


@reference
def complex_rope(p, x):
    q = turn_neighbours(cut(linear(p, "wq", x), 4))
    k, v = (cut(linear(p, n, x), 2) for n in ("wk", "wv"))
    out = attend(q, share(turn_neighbours(k), 2), share(v, 2), allowed=causal(x.shape[1]))
    return linear(p, "wo", glue(out))


@reference
def alibi_symmetric(p, q, k, v):
    n = q.shape[2]
    bias = np.array(
        [[[-(4.0**-h) * abs(i - j) for j in range(n)] for i in range(n)] for h in (1, 2, 3, 4)]
    )
    return attend(q, k, v, bias=bias)


@reference
def shaw_relative(p, x):
    q, k, v = (cut(linear(p, c, x), 2) for c in "qkv")
    n, out = x.shape[1], np.zeros_like(q)
    for i in range(n):
        at = [min(max(j - i, -3), 3) + 3 for j in range(n)]
        row = k + p["rel_k.weight"][at], v + p["rel_v.weight"][at]
        out[:, :, i : i + 1] = attend(q[:, :, i : i + 1], *row)
    return glue(out)


@reference
def shifted_window(p, x):
    b, height, width, c = x.shape
    # Pixels see each other within a window of the shifted image, apart from those the roll wrapped.
    place = [
        ((y - 2) % height // 4, (z - 2) % width // 4, y < 2, z < 2)
        for y, z in np.ndindex(height, width)
    ]
    see = [[one == other for other in place] for one in place]
    out = linear(p, "proj", fused(p, x.reshape(b, -1, c), 2, allowed=np.array(see)))
    return out.reshape(x.shape)


@reference
def triangle_attention(p, z):
    z = layer_norm(p, "norm", z)
    bias = np.moveaxis(linear(p, "to_b", z), -1, 0)
    return linear(p, "to_out", fused(p, z, 2, "to_qkv", bias=bias) * sigmoid(linear(p, "to_g", z)))


@reference
def perceiver_latents(p, x):
    latents = np.broadcast_to(p["latents"], (len(x), *p["latents"].shape))
    kv = linear(p, "to_kv", layer_norm(p, "norm_x", x))
    q = linear(p, "to_q", layer_norm(p, "norm_latents", latents))
    out = attend(cut(q, 4), cut(kv[..., :32], 4), cut(kv[..., 32:], 4))
    return latents + linear(p, "to_out", glue(out))


@reference
def attention_pool(p, x, mask):
    kv = linear(p, "kv", x)
    q = np.broadcast_to(linear(p, "q", p["seed"]), (len(x), 1, 32))
    keep = (mask == 1)[:, None, None, :]
    out = attend(cut(q, 4), cut(kv[..., :32], 4), cut(kv[..., 32:], 4), allowed=keep)
    return linear(p, "out", glue(out))[:, 0]


@reference
def mla_full(p, x):
    q, a = cut(linear(p, "wq", x), 4), linear(p, "wkv_a", x)
    kv = cut(linear(p, "wkv_b", rms_norm(p, "kv_norm", a[..., :12])), 4)
    shared = share(turn_neighbours(a[..., 12:])[:, None], 4)
    q = np.concatenate((q[..., :6], turn_neighbours(q[..., 6:])), axis=-1)
    k = np.concatenate((kv[..., :6], shared), axis=-1)
    return linear(p, "wo", glue(attend(q, k, kv[..., 6:], allowed=causal(x.shape[1]))))


@reference
def cache_step(p, x, past):
    q, k, v = (cut(t, 4) for t in thirds(linear(p, "c_attn", x)))
    k, v = np.concatenate((past[0], k), axis=2), np.concatenate((past[1], v), axis=2)
    return linear(p, "c_proj", glue(attend(q, k, v, allowed=causal(3, 8)))), k, v


@reference
def null_kv(p, x):
    x = layer_norm(p, "norm", x)
    kv = np.pad(linear(p, "to_kv", x), ((0, 0), (1, 0), (0, 0)))
    kv[:, 0] = p["null_kv"].reshape(-1)
    out = attend(cut(linear(p, "to_q", x), 4), kv[:, None, :, :8], kv[:, None, :, 8:])
    return linear(p, "to_out", glue(out))


@reference
def differential(p, x):
    q, k, v = (linear(p, c, x) for c in "qkv")
    q, k, v = cut(q, 4), cut(k, 4), cut(v, 2)
    heads = []
    for h in (0, 1):
        first = attend(q[:, 2 * h], k[:, 2 * h], v[:, h])
        heads.append(first - p["lam"] * attend(q[:, 2 * h + 1], k[:, 2 * h + 1], v[:, h]))
    return linear(p, "out", np.concatenate(heads, axis=-1))


@reference
def sigmoid_attention(p, q, k, v):
    s = np.exp(q @ k.swapaxes(-1, -2) / 8**0.5) / k.shape[-2]
    return s / (1 + s) @ v


@reference
def conv_attention(p, x):
    b, c = x.shape[:2]
    groups = x.reshape(b, 4, -1)
    y = groups - groups.mean(-1, keepdims=True)
    y = (y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-6)).reshape(b, c, -1).swapaxes(1, 2)
    y = y * p["norm.weight"] + p["norm.bias"]
    p = {k: w[..., 0, 0] if w.ndim == 4 else w for k, w in p.items()}
    out = linear(p, "proj_out", attend(*(linear(p, n, y) for n in "qkv")))
    return x + out.swapaxes(1, 2).reshape(x.shape)


@reference
def axial_rows(p, x):
    columns = fused(p, x.swapaxes(1, 2), 2, "col").swapaxes(1, 2)
    return columns + fused(p, x, 2, "row")


@reference
def jax_heads(p, w, x, y):
    q = x[:, None] @ w["query"].swapaxes(0, 1)
    k, v = (y[:, None] @ w[n].swapaxes(0, 1) for n in ("key", "value"))
    out = attend(q, k, v)
    return sum(out[:, h] @ w["out"][h] for h in range(2)) + w["bias"]


@reference
def additive_score(p, q, k, v):
    bias = np.zeros((*q.shape[:2], k.shape[1]))
    for b, i, j in np.ndindex(*bias.shape):
        hidden = np.tanh(p["W_q.weight"] @ q[b, i] + p["W_k.weight"] @ k[b, j])
        bias[b, i, j] = (p["w_v.weight"] @ hidden)[0]
    return attend(q, np.zeros((*k.shape[:2], q.shape[-1])), v, bias=bias)


@reference
def empty_rows(p, q, k, v, allowed):
    return attend(q, k, v, allowed=allowed)


for plain_name in (
    *("np_scale", "np_axis", "np_inplace", "np_tiles", "np_chunked", "np_online"),
    *("torch_half", "lse_merge"),
):
    REFERENCES[plain_name] = plain


# Running them.


def load(path):
    spec = importlib.util.spec_from_file_location("sample_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbers(value):
    """The same structure with float64 NumPy arrays (copies) in place of tensors and arrays."""
    if isinstance(value, (tuple, list)):
        return tuple(numbers(item) for item in value)
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if not isinstance(value, np.ndarray):
        return value
    return value.astype(np.float64) if value.dtype.kind == "f" else value.copy()


def flat(value):
    """All arrays of a result, one after another."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        return [array for item in value for array in flat(item)]
    return [value] if isinstance(value, np.ndarray) else []


def run(entry, seed, dtype="float64"):
    """The parameters, the arguments, the results and the arguments after the call.

    In float64 the parameters are drawn anew, so that none is zero; in float32 they stay as made.
    """
    import torch

    module = load(HERE / entry["file"])
    space = {**vars(module), "torch": torch, "np": np, "grab": lambda *args: args}
    torch.manual_seed(seed)
    np.random.seed(seed)
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        target = eval(entry["build"], space)  # noqa: S307
        parameters = {}
        if isinstance(target, torch.nn.Module):
            with torch.no_grad():
                for parameter in target.parameters() if dtype == "float64" else ():
                    parameter.copy_(torch.randn_like(parameter) * 0.5)
            parameters = numbers(dict(target.state_dict()))
        args = eval("grab" + entry["example"].removeprefix(entry["build"]), space)  # noqa: S307
        before = numbers(args)
        out = numbers(target(*args))
    finally:
        torch.set_default_dtype(torch.float32)
    return parameters, before, out, numbers(args)


def gap(ours, theirs):
    """The largest difference of two results, relative to the largest value."""
    ours, theirs = flat(ours), flat(theirs)
    if [a.shape for a in ours] != [b.shape for b in theirs]:
        return np.inf
    gaps = [
        np.abs(np.subtract(a, b, dtype=float)).max() / max(1.0, np.abs(b).max())
        for a, b in zip(ours, theirs, strict=True)
    ]
    return np.inf if np.isnan(gaps).any() else max(gaps)


def base(file):
    stem = Path(file).stem
    return stem[:-2] if stem[-2:] in ("_1", "_2") else stem


def compare(entry, twin, seed, dtype="float64"):
    """How far a sample is from its reference, or a wrong one from its twin; arguments count too."""
    p, before, out, after = run(entry, seed, dtype)
    if twin is not None:
        _, _, right, kept = run(twin, seed, dtype)
        return max(gap(out, right), gap(after, kept))
    expected = REFERENCES[base(entry["file"])](p, *before)
    return max(gap(out, expected), gap(after, before))


def main():
    """Print a line for each sample; the exit status is 1 when one does not hold."""
    entries = json.loads((HERE / "index.json").read_text(encoding="utf-8"))
    twins = {entry["of"]: entry for entry in entries if entry["kind"] == "twin"}
    bad = 0
    for entry in entries:
        gaps = [compare(entry, twins.get(entry["file"]), seed) for seed in range(RUNS)]
        as_made = compare(entry, twins.get(entry["file"]), 0, "float32")
        if entry["kind"] == "wrong":
            holds = min(*gaps, as_made) > 256 * np.finfo(np.float32).eps
        else:
            holds = max(gaps) < ROUNDINGS * np.finfo(np.float64).eps
            holds = holds and as_made < 256 * np.finfo(np.float32).eps
        bad += not holds
        mark = "ok " if holds else "BAD"
        found = f"{min(gaps):.1e} to {max(gaps):.1e}, as made {as_made:.1e}"
        print(f"{mark} {entry['kind']:5} {entry['file']:28} {found}")
    print(f"{len(entries)} samples, {bad} do not hold")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
