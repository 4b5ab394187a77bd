"""Wrong attentions as people write them, in other styles and shapes than the catalogue's own."""

import math

import numpy as np
import torch
import torch.nn.functional as F


def softmax(scores, axis=-1):
    e = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def no_scale_in_loops(q, k, v):
    output = []
    for query in q:
        e = [math.exp(sum(a * b for a, b in zip(query, key, strict=True))) for key in k]
        output.append([sum(w * x for w, x in zip(e, column, strict=True)) / sum(e)
                       for column in v.T])  # fmt: skip
    return output


def first_axis_of_a_matrix(Q, K, V):  # noqa: N803
    return softmax(Q @ K.T / np.sqrt(K.shape[1]), axis=0) @ V


def whole_matrix(Q, K, V):  # noqa: N803
    scores = Q @ K.T / np.sqrt(K.shape[1])
    e = np.exp(scores - np.max(scores))
    return e / np.sum(e) @ V


def no_maximum(q, k, v):
    e = np.exp(np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1]))
    return e / e.sum(axis=-1, keepdims=True) @ v


def dim_one(q, k, v):
    scores = torch.bmm(q, k.transpose(1, 2)) / q.size(-1) ** 0.5
    return torch.bmm(F.softmax(scores, dim=1), v)


def brackets(q, k, v):
    return F.softmax(q @ k.transpose(-2, -1), dim=-1) / q.size(-1) ** 0.5 @ v


def mask_as_minus_ten(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -10.0)
    return F.softmax(scores, dim=-1) @ v


def mask_that_hides(q, k, v, mask=None):
    """mask: True where a query may look."""
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return F.softmax(scores, dim=-1).nan_to_num() @ v


def nan_for_empty_rows(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return F.softmax(scores, dim=-1) @ v


def minus_a_milliard(q, k, v, mask):
    scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
    return F.softmax(scores.masked_fill(mask == 0, -1e9), dim=-1) @ v


def causal_upside_down(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.triu(np.ones(scores.shape[-2:], bool))
    return softmax(np.where(seen, scores, -np.inf)) @ v


def causal_too_late(q, k, v):
    weights = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    return np.tril(weights) @ v


def causal_one_ahead(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    seen = np.tril(np.ones(scores.shape[-2:], bool), k=1)
    return softmax(np.where(seen, scores, -np.inf)) @ v


def causal_flag_unused(q, k, v, causal=True):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v


def weights_of_another_sum(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores) @ v, np.exp(scores - scores.max(axis=-1, keepdims=True))


def heads_cut_wrongly(x, w_q, w_k, w_v, num_heads):
    b, t, _ = x.shape
    q, k, v = ((x @ w).reshape(b, num_heads, t, -1) for w in (w_q, w_k, w_v))
    output = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v
    return output.swapaxes(1, 2).reshape(b, t, -1)


def model_width(x, w_q, w_k, w_v, num_heads):
    b, t, _ = x.shape
    q, k, v = ((x @ w).reshape(b, t, num_heads, -1).swapaxes(1, 2) for w in (w_q, w_k, w_v))
    output = softmax(q @ k.swapaxes(-1, -2) / np.sqrt(w_q.shape[1])) @ v
    return output.swapaxes(1, 2).reshape(b, t, -1)


def in_place(q, k, v):
    q /= np.sqrt(q.shape[-1])
    return softmax(q @ k.swapaxes(-1, -2)) @ v


def half_inside(q, k, v):
    scores = (q @ k.transpose(-2, -1) / q.size(-1) ** 0.5).half()
    return F.softmax(scores, dim=-1).to(v.dtype) @ v


def dropout_left_on(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, dropout_p=0.3)


def not_attention(q, k, v):
    gap = ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1)
    return softmax(-gap) @ v


class NoScale(torch.nn.Module):
    """A module with one layer for all three, as in nanoGPT; causal; the scaling forgotten."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.n_head, self.scale = 2, scale
        self.c_attn, self.c_proj = torch.nn.Linear(8, 24), torch.nn.Linear(8, 8)

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (a.view(b, t, 2, 4).transpose(1, 2) for a in self.c_attn(x).split(8, dim=2))
        scores = q @ k.transpose(-2, -1) * self.scale
        ahead = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        weights = F.softmax(scores.masked_fill(ahead, float("-inf")), dim=-1)
        return self.c_proj((weights @ v).transpose(1, 2).reshape(b, t, e))


class OneHead(torch.nn.Module):
    """One causal head that takes the width of its input for its own."""

    def __init__(self):
        super().__init__()
        self.key, self.query, self.value = (torch.nn.Linear(12, 4, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(32, 32)))

    def forward(self, x):
        _, t, width = x.shape
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * width**-0.5
        scores = scores.masked_fill(self.tril[:t, :t] == 0, float("-inf"))
        return F.softmax(scores, dim=-1) @ self.value(x)


WRONG = {
    no_scale_in_loops: ("no scaling", "no maximum subtracted"),
    first_axis_of_a_matrix: ("softmax over queries",),
    whole_matrix: ("softmax over the whole matrix",),
    no_maximum: ("no maximum subtracted",),
    dim_one: ("softmax over queries",),
    brackets: ("softmax before scaling",),
    mask_as_minus_ten: ("mask added as a small finite number",),
    mask_that_hides: ("boolean mask inverted",),
    nan_for_empty_rows: ("a row that may see nothing gives NaN",),
    minus_a_milliard: ("a row that may see nothing gives a uniform row",),
    causal_upside_down: ("causal mask transposed",),
    causal_too_late: ("causal mask after the softmax",),
    causal_one_ahead: ("causal mask off by one: sees the next word",),
    causal_flag_unused: ("causal mask ignored",),
    heads_cut_wrongly: ("heads split by reshape without transposing",),
    model_width: ("scaling by the model width",),
    weights_of_another_sum: ("returned weights are not the weights used",),
    in_place: ("inputs changed in place",),
    half_inside: ("statistics in half precision",),
    dropout_left_on: ("results that differ between two calls",),
}
