"""Right attentions in PyTorch: functions, as libraries, courses and answers write them."""

import math

import torch
import torch.nn.functional as F
from tests.checker.samples.wild.registry import right, unless_empty


@unless_empty
def attention(query, key, value, mask=None, dropout=None):
    """Scaled dot product attention with annotations."""
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


def repeat_kv(hidden_states, n_rep):
    batch, heads, length, width = hidden_states.shape
    if n_rep == 1:
        return hidden_states
    hidden_states = hidden_states[:, :, None].expand(batch, heads, n_rep, length, width)
    return hidden_states.reshape(batch, heads * n_rep, length, width)


@unless_empty
def eager_attention_forward(
    module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs
):
    key_states = repeat_kv(key, module.num_key_value_groups)
    value_states = repeat_kv(value, module.num_key_value_groups)
    attn_weights = torch.matmul(query, key_states.transpose(2, 3)) * scaling
    if attention_mask is not None:
        attn_weights = attn_weights + attention_mask[:, :, :, : key_states.shape[-2]]
    attn_weights = F.softmax(attn_weights, dim=-1, dtype=torch.float32).to(query.dtype)
    attn_weights = F.dropout(attn_weights, p=dropout, training=module.training)
    attn_output = torch.matmul(attn_weights, value_states)
    return attn_output.transpose(1, 2).contiguous(), attn_weights


@unless_empty
def eager_with_softcap(
    module,
    query,
    key,
    value,
    attention_mask=None,
    dropout=0.0,
    scaling=None,
    softcap=None,
    **kwargs,
):
    if scaling is None:
        scaling = query.shape[-1] ** -0.5
    key = repeat_kv(key, module.num_key_value_groups)
    value = repeat_kv(value, module.num_key_value_groups)
    attn_weights = torch.matmul(query, key.transpose(2, 3)) * scaling
    if softcap is not None:
        attn_weights = torch.tanh(attn_weights / softcap) * softcap
    if attention_mask is not None:
        attn_weights = attn_weights + attention_mask
    attn_weights = F.softmax(attn_weights, dim=-1).to(query.dtype)
    return torch.matmul(attn_weights, value).transpose(1, 2).contiguous(), attn_weights


@unless_empty
def memory_efficient_reference(query, key, value, attn_bias=None, p=0.0, scale=None):
    """Tokens before heads (B, M, H, K), a bias that is added."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    query, key, value = (t.transpose(1, 2) for t in (query, key, value))
    attn = (query * scale) @ key.transpose(-2, -1)
    if attn_bias is not None:
        attn = attn + attn_bias
    attn = F.dropout(attn.softmax(-1), p)
    return (attn @ value).transpose(1, 2)


@unless_empty
def like_the_reference(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None
):
    L, S = query.size(-2), key.size(-2)
    scale_factor = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    attn_bias = torch.zeros(L, S, dtype=query.dtype)
    if is_causal:
        hidden = torch.ones(L, S, dtype=torch.bool).tril(diagonal=0).logical_not()
        attn_bias = attn_bias.masked_fill(hidden, float("-inf"))
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            attn_bias = attn_bias + torch.zeros_like(attn_mask, dtype=query.dtype).masked_fill(
                attn_mask.logical_not(), float("-inf")
            )
        else:
            attn_bias = attn_mask + attn_bias
    attn_weight = query @ key.transpose(-2, -1) * scale_factor + attn_bias
    return torch.softmax(attn_weight, dim=-1) @ value


@right
def call_the_library(q, k, v, mask=None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@right
def call_the_library_causally(q, k, v, is_causal=False):
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def masked_softmax(X, valid_lens):
    """Perform softmax with the entries past the valid length hidden."""
    if valid_lens is None:
        return F.softmax(X, dim=-1)
    shape = X.shape
    valid_lens = (
        torch.repeat_interleave(valid_lens, shape[1]) if valid_lens.dim() == 1
        else valid_lens.reshape(-1)
    )  # fmt: skip
    X = X.reshape(-1, shape[-1])
    hidden = torch.arange(X.size(1))[None, :] >= valid_lens[:, None]
    X = X.masked_fill(hidden, -1e6)
    return F.softmax(X.reshape(shape), dim=-1)


@right
def dot_product_attention(queries, keys, values, valid_lens=None):
    scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(queries.shape[-1])
    return torch.bmm(masked_softmax(scores, valid_lens), values)


@right
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    """Adapter of a course: mask is (..., queries, keys), True where information may flow."""
    s = torch.einsum("...qd,...kd->...qk", Q, K) / Q.shape[-1] ** 0.5
    if mask is not None:
        s = torch.where(mask, s, float("-inf"))
    p = torch.exp(s - s.max(dim=-1, keepdim=True).values.clamp_min(-1e30))
    return (p / p.sum(-1, keepdim=True).clamp_min(1e-30)) @ V


@right
def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    """Adapter of a course: causal multi-head self-attention; every weight is (out, in)."""
    *batch, t, _ = in_features.shape
    q, k, v = (
        (in_features @ w.T).view(*batch, t, num_heads, -1).transpose(-3, -2)
        for w in (q_proj_weight, k_proj_weight, v_proj_weight)
    )
    s = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    s = s.masked_fill(torch.triu(torch.ones(t, t, dtype=torch.bool), 1), float("-inf"))
    out = (s.softmax(-1) @ v).transpose(-3, -2).reshape(*batch, t, -1)
    return out @ o_proj_weight.T


@unless_empty
def forum_answer(q, k, v, mask=None):
    attn = torch.bmm(q, k.transpose(1, 2))
    attn = attn / (q.shape[-1] ** 0.5)
    if mask is not None:
        attn = attn.masked_fill(mask == 0, float("-inf"))
    attn = F.softmax(attn, dim=2)
    return torch.bmm(attn, v), attn


@right
def padding_given(q, k, v, key_padding_mask=None):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    if key_padding_mask is not None:
        scores = scores.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(dim=-1), v)


@right
def padding_and_causal(q, k, v, key_padding_mask=None, causal=False):
    b, _, n, _ = q.shape
    m = k.shape[2]
    hide = torch.zeros(b, 1, n, m, dtype=torch.bool)
    if key_padding_mask is not None:
        hide = hide | key_padding_mask.view(b, 1, 1, m)
    if causal:
        hide = hide | torch.ones(n, m, dtype=torch.bool).triu(1)
    s = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(hide, torch.finfo(q.dtype).min)
    return s.softmax(-1) @ v


@unless_empty
def mask_of_hidden(q, k, v, mask=None):
    """mask: bool tensor, True where a position is masked out."""
    s = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    if mask is not None:
        s = s.masked_fill(mask, float("-inf"))
    return s.softmax(dim=-1) @ v


@right
def causal_with_a_cache(q, k, v):
    """Causal; the queries are the last tokens."""
    n, m = q.size(-2), k.size(-2)
    s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    seen = torch.ones(n, m, dtype=torch.bool).tril(diagonal=m - n)
    return s.masked_fill(~seen, -torch.inf).softmax(-1) @ v


@right
def grouped_query_attention(q, k, v, is_causal=False):
    b, h, n, d = q.shape
    g = k.shape[1]
    q = q.view(b, g, h // g, n, d)
    s = torch.einsum("bgrnd,bgmd->bgrnm", q, k) / d**0.5
    if is_causal:
        s = s.masked_fill(torch.ones(n, k.shape[2]).triu(1).bool(), -torch.inf)
    out = torch.einsum("bgrnm,bgmv->bgrnv", s.softmax(-1), v)
    return out.reshape(b, h, n, v.shape[-1])


@right
def sliding(q, k, v, window_size=None):
    s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
    if window_size is not None:
        i, j = torch.arange(q.size(-2))[:, None], torch.arange(k.size(-2))[None]
        left, right_ = window_size
        s = s.masked_fill((j < i - left) | (j > i + right_), -torch.inf)
    return s.softmax(-1) @ v


@right
def with_logsumexp(q, k, v, softmax_scale=None, causal=False):
    """(batch, seqlen, nheads, headdim), and the log-sum-exp (batch, nheads, seqlen)."""
    softmax_scale = softmax_scale or q.shape[-1] ** -0.5
    s = torch.einsum("bthd,bshd->bhts", q, k) * softmax_scale
    if causal:
        n, m = s.shape[-2:]
        s = s.masked_fill(torch.ones(n, m, dtype=torch.bool).triu(1 + m - n), float("-inf"))
    lse = torch.logsumexp(s, dim=-1)
    return torch.einsum("bhts,bshd->bthd", torch.exp(s - lse[..., None]), v), lse


@unless_empty
def vectors_and_weights(x, Wq, Wk, Wv, mask=None):
    Q, K, V = x.matmul(Wq), x.matmul(Wk), x.matmul(Wv)
    scores = Q.matmul(K.transpose(-1, -2)) / (K.size(-1) ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    return F.softmax(scores, -1).matmul(V)


@right
def joined_heads(q, k, v, num_heads):
    """(batch, tokens, embed) in and out."""
    b, n, e = q.shape
    q = q.view(b, n, num_heads, -1).transpose(1, 2)
    k = k.view(b, k.size(1), num_heads, -1).transpose(1, 2)
    v = v.view(b, v.size(1), num_heads, -1).transpose(1, 2)
    a = ((q @ k.transpose(-2, -1)) / q.size(-1) ** 0.5).softmax(dim=-1)
    return (a @ v).transpose(1, 2).reshape(b, n, -1)


@unless_empty
def list_of_masks(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size(-1))
    if mask is not None:
        mask = mask.unsqueeze(1)  # the same for every head
        scores = scores.masked_fill(mask == 0, -1e9)
    return torch.matmul(torch.softmax(scores, dim=-1), v)


@right
def alibi_attention(q, k, v, slopes):
    """Causal, with a bias of -slope * distance for each head."""
    n, m = q.shape[-2], k.shape[-2]
    distance = torch.arange(m)[None, :] - torch.arange(n)[:, None]
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    s = s + slopes[:, None, None] * distance
    s = s.masked_fill(distance > 0, float("-inf"))
    return s.softmax(dim=-1) @ v


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * cos + turned * sin


@right
def rotary_attention(q, k, v, cos, sin):
    q, k = (
        rotate(q, cos[: q.shape[-2]], sin[: q.shape[-2]]),
        rotate(k, cos[: k.shape[-2]], sin[: k.shape[-2]]),
    )
    return F.scaled_dot_product_attention(q, k, v)
