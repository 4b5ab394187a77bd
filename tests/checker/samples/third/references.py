"""References for the samples, one function (or class) a case: NumPy, float64, explicit sums.

Written from the documentation of each case, without its code: `att` loops over single queries
and single keys, heads are cut by slices, windows and groups by indices. `m` is a module built by
the right file; only its weights and plain numbers are read.
"""
import numpy as np
import torch


def N(x):
    return x.detach().to(torch.float64).numpy() if isinstance(x, torch.Tensor) else np.asarray(x)


def lin(l, x):
    y = x @ N(l.weight).T
    return y if l.bias is None else y + N(l.bias)


def c1(l, x):
    """1x1 convolution of (..., channels)"""
    y = x @ N(l.weight)[:, :, 0, 0].T
    return y if l.bias is None else y + N(l.bias)


def ln(m, x):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(((x - x.mean(-1, keepdims=True)) ** 2).mean(-1, keepdims=True) + m.eps)
    return y * N(m.weight) + (0 if m.bias is None else N(m.bias))


def gn(m, x):
    """group norm of (n, c, h, w)"""
    out = np.empty_like(x)
    per = x.shape[1] // m.num_groups
    for i in range(x.shape[0]):
        for g in range(m.num_groups):
            z = x[i, g * per:(g + 1) * per]
            out[i, g * per:(g + 1) * per] = (z - z.mean()) / np.sqrt(((z - z.mean()) ** 2).mean() + m.eps)
    return out * N(m.weight)[:, None, None] + N(m.bias)[:, None, None]


def gelu(x):
    return x * 0.5 * (1 + torch.erf(torch.tensor(x / np.sqrt(2.0))).numpy())


def cut(x, h):
    """(b, n, c) -> (b, h, n, c / h), head i owns the i-th run of features"""
    d = x.shape[-1] // h
    return np.stack([x[..., i * d:(i + 1) * d] for i in range(h)], 1)


def glue(x):
    return np.concatenate([x[:, i] for i in range(x.shape[1])], -1)


def low(n):
    return np.array([[j <= i for j in range(n)] for i in range(n)])


def att(q, k, v, scale=None, see=None, bias=None):
    """Softmax attention, query by query; see is True for visible keys."""
    lead, n, s = q.shape[:-2], q.shape[-2], k.shape[-2]
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    see = np.broadcast_to(True if see is None else see, lead + (n, s))
    bias = np.broadcast_to(0.0 if bias is None else bias, lead + (n, s))
    out = np.zeros(lead + (n, v.shape[-1]))
    for at in np.ndindex(lead + (n,)):
        js = [j for j in range(s) if see[at + (j,)]]
        z = [float((q[at] * k[at[:-1] + (j,)]).sum()) * scale + bias[at + (j,)] for j in js]
        top = max(z)
        w = [np.exp(a - top) for a in z]
        for a, j in zip(w, js):
            out[at] += a / sum(w) * v[at[:-1] + (j,)]
    return out


def rot2(t, theta=10000.0):
    """rotary, neighbouring pairs, positions 0, 1, ..."""
    t = t.copy()
    d = t.shape[-1]
    for p in range(t.shape[-2]):
        for i in range(d // 2):
            a = p * theta ** (-2 * i / d)
            x, y = t[..., p, 2 * i].copy(), t[..., p, 2 * i + 1].copy()
            t[..., p, 2 * i], t[..., p, 2 * i + 1] = x * np.cos(a) - y * np.sin(a), y * np.cos(a) + x * np.sin(a)
    return t


def roth(t, theta=10000.0):
    """rotary, halves"""
    t = t.copy()
    d = t.shape[-1]
    for p in range(t.shape[-2]):
        for i in range(d // 2):
            a = p * theta ** (-2 * i / d)
            x, y = t[..., p, i].copy(), t[..., p, i + d // 2].copy()
            t[..., p, i], t[..., p, i + d // 2] = x * np.cos(a) - y * np.sin(a), y * np.cos(a) + x * np.sin(a)
    return t


def ref_week5_words(X, Wq, Wk, Wv):
    return att(X @ Wq, X @ Wk, X @ Wv), None


class ref_assignment3_head:
    def __init__(self, n_in, n_out, rng=None):
        s = 1 / np.sqrt(n_in)
        self.w = [rng.uniform(-s, s, (n_in, n_out)) for _ in range(3)]
    def forward(self, x):
        return att(*[x @ w for w in self.w])


def ref_np_dict_mha(x, p, h, pad):
    q, k, v = (cut(x @ p[n], h) for n in ("wq", "wk", "wv"))
    return glue(att(q, k, v, see=(pad[:, None, None, :] != 0))) @ p["wo"]


class ref_blog_three_tables:
    def __init__(self, dim, heads, seed=0):
        g = np.random.default_rng(seed)
        self.w = [g.normal(0, dim ** -0.5, (heads, dim, dim // heads)) for _ in range(3)]
        self.o = g.normal(0, dim ** -0.5, (dim, dim))
    def __call__(self, x):
        q, k, v = (np.einsum("nd,hde->hne", x, w) for w in self.w)
        y = att(q, k, v)
        return np.concatenate(list(y), -1) @ self.o


def ref_np_streaming(Q, K, V, block=16):
    return att(Q, K, V)


def ref_np_split_decode(q, k, v, n_splits=4):
    return att(q[:, None], k, v)[:, 0]


def ref_np_similarity(q, k, v):
    return att(q, k, v)


def ref_np_causal_wei(x, a, b, c):
    return att(x @ a, x @ b, x @ c, see=low(x.shape[1]))


def ref_graphormer_spatial(m, x, spd):
    h = m.num_heads
    q, k, v = (cut(lin(l, x), h) for l in (m.linear_q, m.linear_k, m.linear_v))
    t = N(m.spatial_pos_encoder.weight)
    bias = np.moveaxis(t[np.minimum(spd, m.max_dist)], -1, 1)
    return lin(m.output_layer, glue(att(q, k, v, bias=bias)))


def ref_vit22b_parallel(m, x):
    y = lin(m.in_proj, ln(m.in_norm, x))
    d = x.shape[-1]
    r = m.in_split[0]
    q, k, v = (cut(y[..., r + i * d: r + i * d + d], m.num_heads) for i in range(3))
    a = lin(m.attn_out, glue(att(ln(m.q_norm, q), ln(m.k_norm, k), v)))
    return x + a + lin(m.mlp_out, gelu(y[..., :r]))


def ref_ldm_cross(m, x, c):
    q, k, v = cut(lin(m.to_q, x), m.heads), cut(lin(m.to_k, c), m.heads), cut(lin(m.to_v, c), m.heads)
    return lin(m.to_out[0], glue(att(q, k, v)))


def ref_hf_encoder_self(m, x):
    h = m.num_attention_heads
    q, k, v = (cut(lin(l, x), h) for l in (m.query, m.key, m.value))
    return glue(att(q, k, v)), None


def ref_lecture_heads(m, x):
    ys = [att(lin(h.query, x), lin(h.key, x), lin(h.value, x), see=low(x.shape[1])) for h in m.heads]
    return lin(m.proj, np.concatenate(ys, -1))


def ref_divided_time(m, x):
    out = np.zeros_like(x)
    for s in range(x.shape[2]):
        z = x[:, :, s]
        y = lin(m.qkv, z)
        c = x.shape[-1]
        q, k, v = (cut(y[..., i * c:(i + 1) * c], m.heads) for i in range(3))
        out[:, :, s] = lin(m.fc, glue(att(q, k, v)))
    return out


def ref_lucid_rotary(m, x):
    y = lin(m.to_qkv, ln(m.norm, x))
    c = y.shape[-1] // 3
    q, k, v = (cut(y[..., i * c:(i + 1) * c], m.heads) for i in range(3))
    return lin(m.to_out, glue(att(rot2(q), rot2(k), v, see=low(x.shape[1]))))


def ref_llama_freqs(q, k, v):
    t = lambda z: np.swapaxes(z, 1, 2)
    return t(att(rot2(t(q)), rot2(t(k)), t(v)))


def ref_theta_phi_g(m, x):
    z = np.moveaxis(gn(m.norm, x), 1, -1)
    n, hh, ww, c = z.shape
    z = z.reshape(n, hh * ww, c)
    q, k, v = (cut(c1(l, z), m.n_heads) for l in (m.theta, m.phi, m.g))
    y = c1(m.out, glue(att(q, k, v))).reshape(n, hh, ww, c)
    return x + np.moveaxis(y, -1, 1)


def ref_ddpm_attn(m, x):
    z = np.moveaxis(gn(m.group_norm, x), 1, -1)
    n, hh, ww, c = z.shape
    z = z.reshape(n, hh * ww, c)
    y = c1(m.proj, att(c1(m.proj_q, z), c1(m.proj_k, z), c1(m.proj_v, z))).reshape(n, hh, ww, c)
    return x + np.moveaxis(y, -1, 1)


def ref_t5_past(m, x, past=None):
    full = x if past is None else np.concatenate([past, x], 1)
    n = full.shape[1]
    q, k, v = (cut(lin(l, full), m.n_heads) for l in (m.q, m.k, m.v))
    t = N(m.relative_attention_bias.weight)
    bias = np.array([[t[min(max(i - j, 0), m.max_distance - 1)] for j in range(n)] for i in range(n)])
    y = lin(m.o, glue(att(q, k, v, scale=1., see=low(n), bias=np.moveaxis(bias, -1, 0)[None])))
    return y[:, n - x.shape[1]:], full


def ref_shaw_keys(m, x):
    q, k, v = (cut(lin(l, x), m.h) for l in (m.w_q, m.w_k, m.w_v))
    n = x.shape[1]
    t = N(m.rel_k)
    bias = np.zeros(q.shape[:2] + (n, n))
    for i in range(n):
        for j in range(n):
            bias[:, :, i, j] = q[:, :, i] @ t[m.k + max(-m.k, min(m.k, j - i))] / m.dh ** .5
    return lin(m.w_o, glue(att(q, k, v, bias=bias)))


def ref_onmt_mha(m, q, k, v):
    h = m.head_count
    y = att(cut(lin(m.linear_query, q), h), cut(lin(m.linear_keys, k), h), cut(lin(m.linear_values, v), h))
    return lin(m.final_linear, glue(y))


def ref_gqa_fused_kv(m, x):
    q = cut(lin(m.q, x), m.heads)
    y = lin(m.kv, x)
    c = m.kv_heads * m.d
    k, v = cut(y[..., :c], m.kv_heads), cut(y[..., c:], m.kv_heads)
    g = [i // m.group for i in range(m.heads)]
    return lin(m.o, glue(att(q, k[:, g], v[:, g], see=low(x.shape[1]))))


def ref_neox_fused(m, x):
    y = lin(m.query_key_value, x)
    h, d, r = m.num_attention_heads, m.head_size, m.rotary_ndims
    hs = [y[..., i * 3 * d:(i + 1) * 3 * d] for i in range(h)]
    q, k, v = (np.stack([z[..., j * d:(j + 1) * d] for z in hs], 1) for j in range(3))
    rp = lambda t: np.concatenate([roth(t[..., :r]), t[..., r:]], -1)
    return lin(m.dense, glue(att(rp(q), rp(k), v, see=low(x.shape[1]))))


def ref_flamingo_resampler(m, x, l):
    a, l = ln(m.norm_media, x), ln(m.norm_latents, l)
    y = lin(m.to_kv, np.concatenate([a, l], 1))
    c = y.shape[-1] // 2
    return lin(m.to_out, glue(att(cut(lin(m.to_q, l), m.heads), cut(y[..., :c], m.heads), cut(y[..., c:], m.heads))))


def ref_window_msa(m, x):
    B, H, W, C = x.shape
    w = m.ws
    out = np.zeros_like(x)
    t = N(m.rel_table)
    bias = np.zeros((m.heads, w * w, w * w))
    for a in range(w * w):
        for c in range(w * w):
            dy, dx = a // w - c // w, a % w - c % w
            bias[:, a, c] = t[(dy + w - 1) * (2 * w - 1) + dx + w - 1]
    for i in range(0, H, w):
        for j in range(0, W, w):
            z = lin(m.qkv, x[:, i:i + w, j:j + w].reshape(B, w * w, C))
            q, k, v = (cut(z[..., s * C:(s + 1) * C], m.heads) for s in range(3))
            out[:, i:i + w, j:j + w] = lin(m.proj, glue(att(q, k, v, bias=bias[None]))).reshape(B, w, w, C)
    return out


def ref_series_shift(m, x):
    n, w, s = x.shape[1], m.window, m.window // 2
    z = ln(m.ln, x)
    see = np.zeros((n, n), bool)
    # token i sits in the window that starts at s + multiple of w; the first s and last s are two short ones
    grp = [(i - s) // w if i >= s else -1 for i in range(n)]
    for i in range(n):
        for j in range(n):
            see[i, j] = grp[i] == grp[j]
    q, k, v = (cut(lin(l, z), m.heads) for l in (m.wq, m.wk, m.wv))
    return x + lin(m.wo, glue(att(q, k, v, see=see)))


def ref_alibi_baddbmm(m, x):
    n, c, h = x.shape[1], x.shape[2], m.n_heads
    y = lin(m.attn, x)
    q, k, v = (cut(y[..., i * c:(i + 1) * c], h) for i in range(3))
    i = np.arange(n)
    sl = np.array([2.0 ** (-8 * (a + 1) / h) for a in range(h)])
    bias = -sl[:, None, None] * (i[:, None] - i[None])
    return lin(m.out, glue(att(q, k, v, bias=bias[None], see=low(n))))


def ref_cond_detr(m, t, mem, qs, pos):
    h = m.nhead
    q = np.concatenate([cut(lin(m.ca_qcontent_proj, t), h), cut(lin(m.ca_qpos_sine_proj, qs), h)], -1)
    k = np.concatenate([cut(lin(m.ca_kcontent_proj, mem), h), cut(lin(m.ca_kpos_proj, pos), h)], -1)
    return lin(m.out_proj, glue(att(q, k, cut(lin(m.ca_v_proj, mem), h))))


def ref_prefix_tuning(m, x):
    c = m.embed_dim
    y = lin(m.c_attn, x)
    p = lin(m.control[2], np.tanh(lin(m.control[0], N(m.prefix.weight))))
    p = np.stack([p] * x.shape[0])
    k = np.concatenate([p[..., :c], y[..., c:2 * c]], 1)
    v = np.concatenate([p[..., c:], y[..., 2 * c:]], 1)
    h = m.num_heads
    return lin(m.c_proj, glue(att(cut(y[..., :c], h), cut(k, h), cut(v, h))))


def ref_patch_positions(m, x):
    x = x + N(m.pos)[:x.shape[1]]
    y = ln(m.norm, x)
    W, b, c = N(m.attn.in_proj_weight), N(m.attn.in_proj_bias), x.shape[-1]
    q, k, v = (cut(y @ W[i * c:(i + 1) * c].T + b[i * c:(i + 1) * c], m.attn.num_heads) for i in range(3))
    return x + lin(m.attn.out_proj, glue(att(q, k, v)))


def ref_decision_tokens(m, x):
    q, k, v = (cut(lin(l, x), m.n_heads) for l in (m.q_net, m.k_net, m.v_net))
    return lin(m.proj_net, glue(att(q, k, v, see=low(x.shape[1]))))


def ref_asr_frames(m, x, l):
    q, k, v = (cut(lin(z, x), m.h) for z in (m.linear_q, m.linear_k, m.linear_v))
    see = np.array([[[[t < n for t in range(x.shape[1])]]] for n in l])
    return lin(m.linear_out, glue(att(q, k, v, see=see)))


def ref_window_function(q, k, v, window_size, softcap):
    n, out = q.shape[2], np.zeros_like(v)
    for b, h, i in np.ndindex(q.shape[:3]):
        js = [j for j in range(n) if i - window_size < j <= i]
        e = [np.exp(softcap * np.tanh(q[b, h, i] @ k[b, h, j] / np.sqrt(q.shape[-1]) / softcap)) for j in js]
        out[b, h, i] = sum(w * v[b, h, j] for w, j in zip(e, js)) / sum(e)
    return out


def ref_clip_text(m, x, attention_mask):
    # left padding: the rows of the padding itself see nothing real and are left out of the comparison
    h, n = m.num_heads, x.shape[1]
    q, k, v = (cut(lin(l, x), h) for l in (m.q_proj, m.k_proj, m.v_proj))
    see = low(n)[None, None] & (attention_mask[:, None, None, :] == 1)
    see = see | np.eye(n, dtype=bool)
    return lin(m.out_proj, glue(att(q, k, v, see=see))), None


def ref_sasrec_split(m, x, ids):
    q, k, v = (cut(lin(l, x), m.num_heads) for l in (m.Q_w, m.K_w, m.V_w))
    n = x.shape[1]
    see = (low(n)[None, None] & (ids != 0)[:, None, None, :]) | np.eye(n, dtype=bool)
    return glue(att(q, k, v, see=see)) * (ids != 0)[..., None]


def ref_prealloc_cache(m, x, memory={}):
    old = m.__dict__.get("seen_by_reference")
    full = x if old is None else np.concatenate([old, x], 1)
    m.__dict__["seen_by_reference"] = full
    n, c = full.shape[1:]
    y = lin(m.wqkv, full)
    q, k, v = (cut(y[..., i * c:(i + 1) * c], m.n_heads) for i in range(3))
    return lin(m.wo, glue(att(q, k, v, see=low(n))))[:, n - x.shape[1]:]


def ref_gqa_past(q, k, v, past):
    k, v = (np.concatenate([a, b], 2) for a, b in zip(past, (k, v)))
    g = [i // (q.shape[1] // k.shape[1]) for i in range(q.shape[1])]
    s, t = k.shape[2], q.shape[2]
    see = np.array([[j <= i + s - t for j in range(s)] for i in range(t)])
    return att(q, k[:, g], v[:, g], see=see), None


def ref_query_slices(q, k, v, chunk_size):
    return att(q, k, v)


def ref_former_self(m, x):
    q, k, v = (cut(lin(l, x), m.heads) for l in (m.toqueries, m.tokeys, m.tovalues))
    return lin(m.unifyheads, glue(att(q, k, v)))


def ref_bmhk_dropin(q, k, v, attn_bias):
    t = lambda z: np.swapaxes(z, 1, 2)
    return t(att(t(q), t(k), t(v), bias=attn_bias))


def ref_sink_logits(m, x):
    c, n = x.shape[-1], x.shape[1]
    y = lin(m.qkv, x)
    q, k, v = (cut(y[..., i * c:(i + 1) * c], m.n_heads) for i in range(3))
    z = np.zeros_like(k[:, :, :1])
    bias = np.zeros((1, m.n_heads, n, n + 1))
    bias[..., -1] = N(m.sinks)[None, :, None]
    see = np.concatenate([low(n), np.ones((n, 1), bool)], 1)
    return lin(m.out, glue(att(q, np.concatenate([k, z], 2), np.concatenate([v, z], 2), bias=bias, see=see)))


def ref_packed_documents(q, k, v, cu):
    out = np.zeros_like(v)
    for a, b in zip(cu[:-1], cu[1:]):
        t = lambda z: np.swapaxes(z[a:b], 0, 1)
        out[a:b] = np.swapaxes(att(t(q), t(k), t(v), see=low(b - a)), 0, 1)
    return out


def ref_evoformer_gate(m, x, y, biases):
    h = m.no_heads
    o = glue(att(cut(lin(m.linear_q, x), h), cut(lin(m.linear_k, y), h), cut(lin(m.linear_v, y), h), bias=sum(biases)))
    return lin(m.linear_o, o / (1 + np.exp(-lin(m.linear_g, x))))


def ref_einsum_mhsa(m, x):
    q, k, v = (np.einsum("bnc,hcd->bhnd", x, N(w)) for w in (m.wq, m.wk, m.wv))
    y = att(q, k, v)
    return sum(y[:, i] @ N(m.wo)[i] for i in range(m.heads))


def ref_graph_conv(m, x, e):
    q, k, v = (cut(lin(l, x)[None], m.heads)[0] for l in (m.lin_query, m.lin_key, m.lin_value))
    out = np.zeros_like(q)
    for i in range(len(x)):
        js = [s for s, t in e.T if t == i]
        if js:
            out[:, i:i + 1] = att(q[:, i:i + 1], k[:, js], v[:, js])
    return glue(out[None])[0] + lin(m.lin_skip, x)


def ref_lucid_talking(m, x, mask):
    y = lin(m.to_qkv, x)
    c = y.shape[-1] // 3
    q, k, v = (cut(y[..., i * c:(i + 1) * c], m.heads) for i in range(3))
    P, Q = N(m.mix_heads_pre_attn.weight)[:, :, 0, 0], N(m.mix_heads_post_attn.weight)[:, :, 0, 0]
    out = np.zeros_like(v)
    for b in range(len(x)):
        s = np.array([q[b, h] @ k[b, h].T * m.scale for h in range(m.heads)])
        s = np.array([sum(P[g, h] * s[h] for h in range(m.heads)) for g in range(m.heads)])
        s[:, :, ~mask[b]] = -np.inf
        w = np.exp(s - s.max(-1, keepdims=True))
        w = w / w.sum(-1, keepdims=True)
        for g in range(m.heads):
            out[b, g] = sum(Q[g, h] * w[h] for h in range(m.heads)) @ v[b, g]
    return lin(m.to_out[0], glue(out))


def ref_esm_time_first(m, x, y, z, key_padding_mask):
    t = lambda a: np.swapaxes(a, 0, 1)
    h = m.num_heads
    q, k, v = cut(lin(m.q_proj, t(x)), h), cut(lin(m.k_proj, t(y)), h), cut(lin(m.v_proj, t(z)), h)
    return t(lin(m.out_proj, glue(att(q, k, v, see=~key_padding_mask[:, None, None])))), None


def ref_pair_bias(m, s, z, mask):
    s = ln(m.norm_s, s)
    h = m.num_heads
    bias = np.moveaxis(lin(m.proj_z[1], ln(m.proj_z[0], z)), -1, 1)
    o = glue(att(cut(lin(m.proj_q, s), h), cut(lin(m.proj_k, s), h), cut(lin(m.proj_v, s), h), bias=bias, see=mask[:, None, None] > 0))
    return lin(m.proj_o, o / (1 + np.exp(-lin(m.proj_g, s))))


def ref_wavlm_gate(m, x):
    h, n = m.num_heads, x.shape[1]
    p = lin(m.gru_rel_pos_linear, cut(x, h))
    sg = lambda t: 1 / (1 + np.exp(-t))
    a, b = sg(p[..., :4].sum(-1)), sg(p[..., 4:].sum(-1))
    c = N(m.gru_rel_pos_const)[:, :, :, 0]
    gate = a * (b * c - 1) + 2
    t, half = N(m.rel_attn_embed.weight), m.num_buckets // 2
    bias = np.zeros((len(x), h, n, n))
    for i in range(n):
        for j in range(n):
            bk = min(abs(j - i), half - 1) + (half if j > i else 0)
            bias[:, :, i, j] = gate[:, :, i] * t[bk]
    return lin(m.out_proj, glue(att(cut(lin(m.q_proj, x), h), cut(lin(m.k_proj, x), h), cut(lin(m.v_proj, x), h), bias=bias)))


def ref_wenet_chunks(m, x):
    n, c = x.shape[1], m.chunk_size
    see = np.array([[0 <= i // c - j // c <= m.num_left_chunks for j in range(n)] for i in range(n)])
    return lin(m.linear_out, glue(att(*[cut(lin(l, x), m.h) for l in (m.linear_q, m.linear_k, m.linear_v)], see=see)))


def ref_graph_dense_edges(m, x, e, adj):
    out = np.zeros_like(x)
    q, k, v, E = lin(m.Q, x), lin(m.K, x), lin(m.V, x), lin(m.E, e)
    d = m.out_dim
    for b in range(x.shape[0]):
        for i in range(x.shape[1]):
            for h in range(m.num_heads):
                s = slice(h * d, h * d + d)
                num, den = 0, 1e-6
                for j in np.nonzero(adj[b, i])[0]:
                    w = np.exp(np.clip((q[b, i, s] * k[b, j, s] * E[b, i, j, s]).sum() / np.sqrt(d), -5, 5))
                    num, den = num + w * v[b, j, s], den + w
                out[b, i, s] = num / den
    return out


def ref_gat_dense(m, x, adj):
    w, a = x @ N(m.W), N(m.a)[:, 0]
    n, d = w.shape
    out = np.zeros_like(w)
    for i in range(n):
        js = [j for j in range(n) if adj[i, j] > 0]
        e = np.array([a[:d] @ w[i] + a[d:] @ w[j] for j in js])
        e = np.exp(np.where(e > 0, e, .2 * e))
        out[i] = sum(p * w[j] for p, j in zip(e / e.sum(), js))
    return np.where(out > 0, out, np.exp(np.minimum(out, 0)) - 1)


def ref_tisasrec_time(m, x, iv):
    b, n, c = x.shape
    d = c // m.heads
    q, k, v = lin(m.Q_w, x), lin(m.K_w, x), lin(m.V_w, x)
    out = np.zeros_like(x)
    tk, tv = N(m.time_K.weight), N(m.time_V.weight)
    for a in range(b):
        for h in range(m.heads):
            s = slice(h * d, h * d + d)
            for i in range(n):
                id_ = [min(iv[a, i, j], m.max_interval) for j in range(i + 1)]
                kk = np.array([k[a, j, s] + tk[id_[j], s] for j in range(i + 1)])
                vv = np.array([v[a, j, s] + tv[id_[j], s] for j in range(i + 1)])
                out[a, i, s] = att(q[a, i:i + 1, s], kk, vv)[0]
    return out


def ref_maac_others(m, x):
    lr = lambda t: np.where(t > 0, t, .01 * t)
    e = lr(lin(m.encoder, x))
    see = ~np.eye(x.shape[1], dtype=bool)
    ys = [att(lin(s, e), lin(k, e), lr(lin(v[0], e)), see=see) for k, s, v in zip(m.keys, m.selectors, m.values)]
    return np.concatenate([e] + ys, -1)


def ref_longformer_global(m, x, g):
    out = np.zeros_like(x)
    n = x.shape[1]
    A = [cut(lin(l, x), m.heads) for l in (m.query, m.key, m.value)]
    B = [cut(lin(l, x), m.heads) for l in (m.query_global, m.key_global, m.value_global)]
    for b in range(len(x)):
        for i in range(n):
            js = [j for j in range(n) if g[b, i] or g[b, j] or abs(i - j) <= m.one_sided]
            q, k, v = B if g[b, i] else A
            out[b, i] = glue(att(q[b:b + 1, :, i:i + 1], k[b:b + 1][:, :, js], v[b:b + 1][:, :, js]))[0, 0]
    return out


def ref_maxvit_grid(m, x):
    B, C, H, W = x.shape
    g = m.grid
    out = np.zeros_like(x)
    for i in range(H // g):
        for j in range(W // g):
            sub = np.moveaxis(x[:, :, i::H // g, j::W // g], 1, -1).reshape(B, g * g, C)
            y = lin(m.to_qkv, ln(m.norm, sub))
            q, k, v = (cut(y[..., s * C:(s + 1) * C], m.heads) for s in range(3))
            y = lin(m.merge, glue(att(q, k, v, bias=N(m.bias)[None]))).reshape(B, g, g, C)
            out[:, :, i::H // g, j::W // g] = np.moveaxis(y, -1, 1)
    return x + out


def ref_pvt_reduce(m, x, H, W):
    B, n, C = x.shape
    r = m.sr_ratio
    img = x.reshape(B, H, W, C)
    w = N(m.sr.weight)
    red = np.array([[sum(img[b, i + a, j + c] @ w[:, :, a, c].T for a in range(r) for c in range(r)) + N(m.sr.bias)
                     for i in range(0, H, r) for j in range(0, W, r)] for b in range(B)])
    y = lin(m.kv, ln(m.norm, red))
    h = m.num_heads
    return lin(m.proj, glue(att(cut(lin(m.q, x), h), cut(y[..., :C], h), cut(y[..., C:], h))))


def ref_rope_axial(m, x, pos):
    C = x.shape[-1]
    y = lin(m.qkv, x)
    q, k, v = (cut(y[..., i * C:(i + 1) * C], m.num_heads) for i in range(3))
    def rp(t):
        t = t.copy()
        q4 = t.shape[-1] // 4
        for b, h, n in np.ndindex(t.shape[:3]):
            for part in range(2):
                o = part * 2 * q4
                for i in range(q4):
                    ang = pos[b, n, part] * 100.0 ** (-2 * i / (2 * q4))
                    a, c = t[b, h, n, o + i], t[b, h, n, o + q4 + i]
                    t[b, h, n, o + i] = a * np.cos(ang) - c * np.sin(ang)
                    t[b, h, n, o + q4 + i] = c * np.cos(ang) + a * np.sin(ang)
        return t
    return lin(m.proj, glue(att(rp(q), rp(k), v)))


def ref_clip_pool(m, x):
    b, c = x.shape[:2]
    t = np.moveaxis(x.reshape(b, c, -1), 1, 2)
    t = np.concatenate([t.mean(1, keepdims=True), t], 1) + N(m.positional_embedding)
    h = m.num_heads
    return lin(m.c_proj, glue(att(cut(lin(m.q_proj, t[:, :1]), h), cut(lin(m.k_proj, t), h), cut(lin(m.v_proj, t), h))))[:, 0]


def ref_rabe_staats(q, k, v, key_chunk_size):
    t = lambda z: np.swapaxes(z, 1, 2)
    return t(att(t(q), t(k), t(v)))


def ref_luong_step(m, h, enc, lens):
    out = []
    for b in range(len(h)):
        e = enc[:lens[b], b]
        c = att(h[b:b + 1], e @ N(m.W_a.weight).T, e, scale=1.)[0]
        out.append(np.tanh(N(m.W_c.weight) @ np.concatenate([c, h[b]])))
    return np.array(out), None


def ref_tsp_glimpse(m, q, e, vis):
    c = e.shape[-1]
    y = lin(m.project_node_embeddings, e)
    h = m.n_heads
    g = glue(att(cut(q[:, None], h), cut(y[..., :c], h), cut(y[..., c:2 * c], h), see=~vis[:, None, None]))
    f = lin(m.project_out, g)[:, 0]
    out = np.full(vis.shape, -1e9)
    for b in range(len(q)):
        js = np.nonzero(~vis[b])[0]
        s = m.tanh_clipping * np.tanh(y[b, js, 2 * c:] @ f[b] / np.sqrt(c))
        out[b, js] = s - np.log(np.exp(s).sum())
    return out


def ref_ring_buffer(m, x):
    h = m.__dict__.setdefault("seen_by_reference", [])
    h.append(x)
    t = np.stack(h[-m.window:], 1)
    q, k, v = cut(lin(m.q_proj, x[:, None]), m.heads), cut(lin(m.k_proj, t), m.heads), cut(lin(m.v_proj, t), m.heads)
    return lin(m.o_proj, glue(att(q, k, v)))[:, 0]


def ref_sigmoid_attn(m, x):
    n, c = x.shape[1:]
    y = lin(m.to_qkv, x)
    q, k, v = (cut(y[..., i * c:(i + 1) * c], m.num_heads) for i in range(3))
    out = np.zeros_like(v)
    for b, h, i in np.ndindex(q.shape[:3]):
        for j in range(i + 1):
            out[b, h, i] += v[b, h, j] / (1 + n * np.exp(-(q[b, h, i] @ k[b, h, j]) / np.sqrt(q.shape[-1])))
    return lin(m.out, glue(out))


def ref_sparsemax_cross(m, x, y):
    q, k, v = cut(lin(m.fc_q, x), m.n_heads), cut(lin(m.fc_k, y), m.n_heads), cut(lin(m.fc_v, y), m.n_heads)
    out = np.zeros_like(q)
    for b, h, i in np.ndindex(q.shape[:3]):
        s = k[b, h] @ q[b, h, i] / np.sqrt(q.shape[-1])
        lo, hi = s.min() - 1, s.max()
        for _ in range(200):
            mid = (lo + hi) / 2
            lo, hi = (mid, hi) if np.maximum(s - mid, 0).sum() > 1 else (lo, mid)
        out[b, h, i] = np.maximum(s - (lo + hi) / 2, 0) @ v[b, h]
    return lin(m.fc_o, glue(out))


def ref_flash_gau(m, x):
    silu = lambda t: t / (1 + np.exp(-t))
    z = ln(m.norm, x)
    y = silu(lin(m.to_hidden[0], z))
    e = y.shape[-1] // 2
    s = silu(lin(m.to_qk[0], z))
    g, b = N(m.offsetscale.gamma), N(m.offsetscale.beta)
    q, k = s * g[0] + b[0], s * g[1] + b[1]
    n = x.shape[1]
    out = np.zeros(x.shape[:2] + (e,))
    for a in range(len(x)):
        for i in range(n):
            for j in range(i + 1):
                out[a, i] += max(q[a, i] @ k[a, j] / n, 0) ** 2 * y[a, j, :e]
    return x + lin(m.to_out, out * y[..., e:])


def ref_agent_attn(m, x):
    b, n, c = x.shape
    s, p = int(round(n ** .5)), int(m.agent_num ** .5)
    y = lin(m.qkv, x)
    Q, K, V = (y[..., i * c:(i + 1) * c] for i in range(3))
    w = s // p
    im = Q.reshape(b, s, s, c)
    ag = np.stack([im[:, i:i + w, j:j + w].mean((1, 2)) for i in range(0, s, w) for j in range(0, s, w)], 1)
    h = m.num_heads
    av = att(cut(ag, h), cut(K, h), cut(V, h))
    o = glue(att(cut(Q, h), cut(ag, h), av)).reshape(b, s, s, c)
    pad = np.pad(V.reshape(b, s, s, c), ((0, 0), (1, 1), (1, 1), (0, 0)))
    W = N(m.dwc.weight)[:, 0]
    for i in range(s):
        for j in range(s):
            o[:, i, j] += sum(pad[:, i + a, j + d] * W[:, a, d] for a in range(3) for d in range(3)) + N(m.dwc.bias)
    return lin(m.proj, o.reshape(b, n, c))


def ref_mem_kv(m, x, mask):
    b, n, _ = x.shape
    q, k, v = (cut(lin(l, x), m.heads) for l in (m.to_q, m.to_k, m.to_v))
    k = np.concatenate([np.stack([N(m.mem_k)] * b), k], 2)
    v = np.concatenate([np.stack([N(m.mem_v)] * b), v], 2)
    u = lambda t: t / np.sqrt((t * t).sum(-1, keepdims=True))
    r = m.num_memory
    see = np.zeros((b, 1, n, r + n), bool)
    for a in range(b):
        for i in range(n):
            see[a, 0, i] = [True] * r + [j <= i and mask[a, j] for j in range(n)]
    return lin(m.to_out, glue(att(u(q), u(k), v, scale=m.scale, see=see)))


def ref_bias_kv(m, x, y, key_padding_mask):
    W, b, e = N(m.in_proj_weight), N(m.in_proj_bias), x.shape[-1]
    B, h = len(x), m.num_heads
    add = lambda t, p: np.concatenate([t, np.stack([N(p)[0]] * B), np.zeros((B, 1, e))], 1)
    q = x @ W[:e].T + b[:e]
    k = add(y @ W[e:2 * e].T + b[e:2 * e], m.bias_k)
    v = add(y @ W[2 * e:].T + b[2 * e:], m.bias_v)
    see = np.concatenate([~key_padding_mask, np.ones((B, 2), bool)], 1)[:, None, None]
    return lin(m.out_proj, glue(att(cut(q, h), cut(k, h), cut(v, h), see=see)))


def ref_swin_cpb(m, x):
    C, n = x.shape[-1], x.shape[1]
    y = x @ N(m.qkv.weight).T
    q, k, v = y[..., :C] + N(m.q_bias), y[..., C:2 * C], y[..., 2 * C:] + N(m.v_bias)
    w = m.window_size[1]
    bias = np.zeros((1, m.num_heads, n, n))
    for i in range(n):
        for j in range(n):
            r = np.array([i // w - j // w, i % w - j % w], float)
            r = np.sign(r) * np.log2(1 + abs(r))
            bias[0, :, i, j] = 16 / (1 + np.exp(-lin(m.cpb_mlp[2], np.maximum(lin(m.cpb_mlp[0], r), 0))))
    h = m.num_heads
    return lin(m.proj, glue(att(cut(q, h), cut(k, h), cut(v, h), bias=bias)))


def ref_ssmax(m, x):
    n, c = x.shape[1:]
    y = lin(m.c_attn, x)
    q, k, v = (cut(y[..., i * c:(i + 1) * c], m.n_head) for i in range(3))
    out = np.zeros_like(v)
    for h in range(m.n_head):
        for i in range(n):
            f = N(m.seq_scale)[h] * np.log(i + 1) / np.sqrt(q.shape[-1])
            out[:, h, i:i + 1] = att(q[:, h, i:i + 1], k[:, h, :i + 1], v[:, h, :i + 1], scale=f)
    return lin(m.c_proj, glue(out))


def ref_slot_attention(m, x, s):
    x = ln(m.norm_input, x)
    k, v = lin(m.to_k, x), lin(m.to_v, x)
    sg = lambda t: 1 / (1 + np.exp(-t))
    d = x.shape[-1]
    Wi, Wh, bi, bh = N(m.gru.weight_ih), N(m.gru.weight_hh), N(m.gru.bias_ih), N(m.gru.bias_hh)
    for _ in range(m.iters):
        q = lin(m.to_q, ln(m.norm_slots, s))
        u = np.zeros_like(s)
        for b in range(len(x)):
            w = np.zeros((s.shape[1], x.shape[1]))
            for j in range(x.shape[1]):
                e = np.exp(q[b] @ k[b, j] / np.sqrt(d))
                w[:, j] = e / e.sum() + m.eps
            for i in range(s.shape[1]):
                u[b, i] = w[i] @ v[b] / w[i].sum()
        g, h = u @ Wi.T + bi, s @ Wh.T + bh
        r, z = sg(g[..., :d] + h[..., :d]), sg(g[..., d:2 * d] + h[..., d:2 * d])
        nn_ = np.tanh(g[..., 2 * d:] + r * h[..., 2 * d:])
        s = (1 - z) * nn_ + z * s
    return s


def ref_hf_sdpa_gqa(m, x, attention_mask):
    q, k, v = cut(lin(m.q_proj, x), m.num_heads), cut(lin(m.k_proj, x), m.num_key_value_heads), cut(lin(m.v_proj, x), m.num_key_value_heads)
    g = [i // m.num_key_value_groups for i in range(m.num_heads)]
    see = low(x.shape[1])[None, None] & (attention_mask[:, None, None] > 0)
    return lin(m.o_proj, glue(att(q, k[:, g], v[:, g], see=see)))


def ref_np_loops(x, y, heads, wo):
    return np.concatenate([att(x @ a, y @ b, y @ c) for a, b, c in heads], 1) @ wo


def ref_varlen_split(m, clouds):
    out = []
    for x in clouds:
        c = x.shape[1]
        y = lin(m.inp, x[None])
        q, k, v = (cut(y[..., i * c:(i + 1) * c], m.heads) for i in range(3))
        out.append(torch.tensor(lin(m.outp, glue(att(q, k, v)))[0]))
    return out
