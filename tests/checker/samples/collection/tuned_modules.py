"""Modules that the checker is tuned on, in the manners of public code."""
# ruff: noqa: E741, N803, N806, RUF059

import math
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from tests.checker.samples.collection.registry import TUNED
from torch import nn

right, wrong = TUNED.right, TUNED.wrong


@right
class SelfAttentionWide(nn.Module):
    def __init__(self, emb, heads=8):
        super().__init__()
        self.emb, self.heads = emb, heads
        self.tokeys = nn.Linear(emb, emb * heads, bias=False)
        self.toqueries = nn.Linear(emb, emb * heads, bias=False)
        self.tovalues = nn.Linear(emb, emb * heads, bias=False)
        self.unifyheads = nn.Linear(heads * emb, emb)

    def forward(self, x):
        b, t, e = x.size()
        h = self.heads
        keys, queries, values = (
            f(x).view(b, t, h, e).transpose(1, 2).contiguous().view(b * h, t, e)
            for f in (self.tokeys, self.toqueries, self.tovalues)
        )
        dot = torch.bmm(queries / (e ** (1 / 4)), (keys / (e ** (1 / 4))).transpose(1, 2))
        out = torch.bmm(F.softmax(dot, dim=2), values).view(b, h, t, e)
        return self.unifyheads(out.transpose(1, 2).contiguous().view(b, t, h * e))


@right
class EmbeddedQueries(nn.Module):
    def __init__(self, number_of_heads, model_dimension, dropout_probability):
        super().__init__()
        self.per_head, self.number = model_dimension // number_of_heads, number_of_heads
        self.query_embed = nn.Linear(model_dimension, model_dimension)
        self.key_embed = nn.Linear(model_dimension, model_dimension)
        self.value_embed = nn.Linear(model_dimension, model_dimension)
        self.heads_to_output = nn.Linear(model_dimension, model_dimension)
        self.drop = nn.Dropout(dropout_probability)

    def forward(self, inputs):
        b = inputs.shape[0]
        q, k, v = (
            net(inputs).view(b, -1, self.number, self.per_head).transpose(1, 2)
            for net in (self.query_embed, self.key_embed, self.value_embed)
        )
        w = self.drop(torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.per_head), dim=-1))
        return self.heads_to_output(
            (w @ v).transpose(1, 2).reshape(b, -1, self.number * self.per_head)
        )


class Prepare(nn.Module):
    def __init__(self, d_model, heads, d_k, bias):
        super().__init__()
        self.linear, self.heads, self.d_k = nn.Linear(d_model, heads * d_k, bias=bias), heads, d_k

    def forward(self, x):
        return self.linear(x).view(*x.shape[:-1], self.heads, self.d_k)


@right
class SequenceFirst(nn.Module):
    """Sequence first, keyword-only arguments."""

    def __init__(self, heads, d_model, dropout_prob=0.1, bias=True):
        super().__init__()
        d_k = d_model // heads
        self.query = Prepare(d_model, heads, d_k, bias)
        self.key = Prepare(d_model, heads, d_k, bias)
        self.value = Prepare(d_model, heads, d_k, True)
        self.output, self.dropout = nn.Linear(d_model, d_model), nn.Dropout(dropout_prob)
        self.scale = 1 / math.sqrt(d_k)

    def forward(self, *, query, key, value, mask=None):
        seq_len, batch_size, _ = query.shape
        query, key, value = self.query(query), self.key(key), self.value(value)
        scores = torch.einsum("ibhd,jbhd->ijbh", query, key) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = self.dropout(scores.softmax(dim=1))
        x = torch.einsum("ijbh,jbhd->ibhd", attn, value)
        return self.output(x.reshape(seq_len, batch_size, -1))


@right
class LazyMultiHead(nn.Module):
    def __init__(self, num_hiddens, num_heads, dropout, bias=False, **kwargs):
        super().__init__()
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        self.W_q, self.W_k = (
            nn.LazyLinear(num_hiddens, bias=bias),
            nn.LazyLinear(num_hiddens, bias=bias),
        )
        self.W_v, self.W_o = (
            nn.LazyLinear(num_hiddens, bias=bias),
            nn.LazyLinear(num_hiddens, bias=bias),
        )

    def turn(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1).permute(0, 2, 1, 3)
        return X.reshape(-1, X.shape[2], X.shape[3])

    def forward(self, queries, keys, values):
        q, k, v = (
            self.turn(self.W_q(queries)),
            self.turn(self.W_k(keys)),
            self.turn(self.W_v(values)),
        )
        w = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / math.sqrt(q.shape[-1]), dim=-1)
        out = torch.bmm(self.dropout(w), v)
        out = out.reshape(-1, self.num_heads, out.shape[1], out.shape[2]).permute(0, 2, 1, 3)
        return self.W_o(out.reshape(out.shape[0], out.shape[1], -1))


@right
class Latent(nn.Module):
    """Keys and values through a narrow layer."""

    def __init__(self, d_model, n_heads, kv_rank):
        super().__init__()
        self.n_heads, self.d = n_heads, d_model // n_heads
        self.W_DKV = nn.Linear(d_model, kv_rank, bias=False)
        self.W_UK, self.W_UV = (
            nn.Linear(kv_rank, d_model, bias=False),
            nn.Linear(kv_rank, d_model, bias=False),
        )
        self.W_UQ, self.W_O = (
            nn.Linear(d_model, d_model, bias=False),
            nn.Linear(d_model, d_model, bias=False),
        )

    def forward(self, h):
        b, t, _ = h.shape
        c = self.W_DKV(h)
        q, k, v = (
            y.view(b, t, self.n_heads, self.d).transpose(1, 2)
            for y in (self.W_UQ(h), self.W_UK(c), self.W_UV(c))
        )
        return self.W_O(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, -1))


@right
class ByHead(nn.Module):
    """A tensor of parameters for each of the three, no number kept."""

    def __init__(self, d_in, heads_count, d_head):
        super().__init__()
        self.a, self.b, self.c = (
            nn.Parameter(torch.randn(heads_count, d_in, d_head) * 0.3) for _ in range(3)
        )
        self.d = nn.Parameter(torch.randn(heads_count, d_head, d_in) * 0.3)

    def forward(self, hidden):
        q, k, v = (torch.einsum("bte,hed->bhtd", hidden, m) for m in (self.a, self.b, self.c))
        w = torch.softmax(torch.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5, -1)
        return torch.einsum("bhtd,hde->bte", w @ v, self.d)


@right
class DotProductWithDim(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.sqrt_dim = np.sqrt(dim)

    def forward(self, query, key, value, mask=None):
        score = torch.bmm(query, key.transpose(1, 2)) / self.sqrt_dim
        if mask is not None:
            score.masked_fill_(mask.view(score.size()), -float("Inf"))
        attn = F.softmax(score, -1)
        return torch.bmm(attn, value), attn


class EmptyLinear(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_out, d_in))

    def forward(self, x):
        return x @ self.weight.T


@right
class OwnLinear(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = (
            EmptyLinear(d_model, d_model) for _ in range(4)
        )
        self.num_heads = num_heads

    def forward(self, in_features):
        b, t, e = in_features.shape
        q, k, v = (
            p(in_features).view(b, t, self.num_heads, -1).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        hidden = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
        s = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, -torch.inf)
        return self.output_proj((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, e))


@right
class NormedQueries(nn.Module):
    def __init__(self, dim, heads=3, dim_head=4):
        super().__init__()
        self.heads = heads
        self.q_norm, self.k_norm = nn.RMSNorm(dim_head), nn.RMSNorm(dim_head)
        self.to_qkv = nn.Linear(dim, 3 * heads * dim_head, bias=False)
        self.to_out = nn.Linear(heads * dim_head, dim, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (
            y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.to_qkv(x).chunk(3, -1)
        )
        q, k = self.q_norm(q), self.k_norm(k)
        w = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
        return self.to_out((w @ v).transpose(1, 2).reshape(b, t, -1))


@right
class StateAttention(nn.Module):
    def __init__(self, n_state: int, n_head: int):
        super().__init__()
        self.n_head = n_head
        self.query, self.key = nn.Linear(n_state, n_state), nn.Linear(n_state, n_state, bias=False)
        self.value, self.out = nn.Linear(n_state, n_state), nn.Linear(n_state, n_state)

    def forward(self, x, xa=None, mask=None):
        q, source = self.query(x), x if xa is None else xa
        k, v = self.key(source), self.value(source)
        scale = (q.shape[-1] // self.n_head) ** -0.25
        q = q.view(*q.shape[:2], self.n_head, -1).permute(0, 2, 1, 3) * scale
        k = k.view(*k.shape[:2], self.n_head, -1).permute(0, 2, 3, 1) * scale
        v = v.view(*v.shape[:2], self.n_head, -1).permute(0, 2, 1, 3)
        qk = q @ k
        if mask is not None:
            qk = qk + mask[: q.shape[2], : q.shape[2]]
        w = F.softmax(qk.float(), dim=-1).to(q.dtype)
        return self.out((w @ v).permute(0, 2, 1, 3).flatten(start_dim=2)), qk.detach()


@right
class ContextAttention(nn.Module):
    def __init__(self, query_dim, context_dim=None, heads=8, dim_head=64, dropout=0.0):
        super().__init__()
        inner = dim_head * heads
        context_dim = query_dim if context_dim is None else context_dim
        self.scale, self.heads = dim_head**-0.5, heads
        self.to_q = nn.Linear(query_dim, inner, bias=False)
        self.to_k, self.to_v = (
            nn.Linear(context_dim, inner, bias=False),
            nn.Linear(context_dim, inner, bias=False),
        )
        self.to_out = nn.Sequential(nn.Linear(inner, query_dim), nn.Dropout(dropout))

    def forward(self, x, context=None, mask=None):
        h, b = self.heads, x.shape[0]
        context = x if context is None else context
        q, k, v = (
            y.reshape(b, y.shape[1], h, -1).transpose(1, 2).reshape(b * h, y.shape[1], -1)
            for y in (self.to_q(x), self.to_k(context), self.to_v(context))
        )
        sim = torch.einsum("bid,bjd->bij", q, k) * self.scale
        if mask is not None:
            sim.masked_fill_(~mask.repeat_interleave(h, 0)[:, None], -torch.finfo(sim.dtype).max)
        out = torch.einsum("bij,bjd->bid", sim.softmax(dim=-1), v)
        return self.to_out(
            out.reshape(b, h, -1, out.shape[-1]).transpose(1, 2).reshape(b, -1, h * out.shape[-1])
        )


@right
class MultiheadAttention(nn.Module):
    """A class with the name of PyTorch's."""

    def __init__(self, input_dim, embed_dim, num_heads):
        super().__init__()
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.qkv_proj, self.o_proj = (
            nn.Linear(input_dim, 3 * embed_dim),
            nn.Linear(embed_dim, embed_dim),
        )

    def forward(self, x, mask=None):
        b, t, _ = x.size()
        qkv = self.qkv_proj(x).reshape(b, t, self.num_heads, 3 * self.head_dim).permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        s = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(q.size()[-1])
        if mask is not None:
            s = s.masked_fill(mask == 0, -9e15)
        return self.o_proj(
            (F.softmax(s, dim=-1) @ v).permute(0, 2, 1, 3).reshape(b, t, self.embed_dim)
        )


@dataclass
class ChatConfig:
    n_layer: int = 12
    n_head: int = 6
    n_kv_head: int = 6
    n_embd: int = 768
    sequence_len: int = 1024


@right
class ZeroOutput(nn.Module):
    """Its output layer starts at zero."""

    def __init__(self, config, layer_idx):
        super().__init__()
        self.n_head, self.d = config.n_head, config.n_embd // config.n_head
        self.last = layer_idx == config.n_layer - 1
        self.c_q, self.c_k, self.c_v, self.c_proj = (
            nn.Linear(config.n_embd, config.n_embd, bias=False) for _ in range(4)
        )
        nn.init.zeros_(self.c_proj.weight)

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (
            c(x).view(b, t, self.n_head, self.d).transpose(1, 2)
            for c in (self.c_q, self.c_k, self.c_v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, e))


@right
class TurnedInside(nn.Module):
    """Rotary positions with a base of its own, cosines in a buffer."""

    def __init__(self, hidden_size, n_attention_heads, theta=500.0):
        super().__init__()
        self.h, self.d = n_attention_heads, hidden_size // n_attention_heads
        self.wq, self.wk, self.wv, self.wo = (
            nn.Linear(hidden_size, hidden_size, bias=False) for _ in range(4)
        )
        angle = torch.outer(torch.arange(600.0), theta ** (-torch.arange(0, self.d, 2) / self.d))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def turn(self, x):
        t = x.shape[2]
        a, b = x.chunk(2, -1)
        cos, sin = self.cos[:t], self.sin[:t]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (
            w(x).view(b, t, self.h, self.d).transpose(1, 2) for w in (self.wq, self.wk, self.wv)
        )
        s = self.turn(q) @ self.turn(k).mT / math.sqrt(self.d)
        s = s + torch.full((t, t), -torch.inf).triu(1)
        return self.wo((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, e))


class Dense:
    def __init__(self, n_in, n_out):
        self.table, self.shift = (
            np.random.default_rng(3).standard_normal((n_in, n_out)) * 0.3,
            np.zeros(n_out),
        )

    def apply(self, x):
        return x @ self.table + self.shift


@right
class NumpyLayers:
    """A NumPy class whose layers are objects."""

    def __init__(self, size, parts):
        self.parts = parts
        rng = np.random.default_rng(0)
        self.first, self.second, self.third, self.last = (Dense(size, size) for _ in range(4))
        for layer in (self.first, self.second, self.third, self.last):
            layer.table = rng.standard_normal((size, size)) * 0.3

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (
            l.apply(x).reshape(b, t, self.parts, -1).transpose(0, 2, 1, 3)
            for l in (self.first, self.second, self.third)
        )
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
        w = np.exp(s - s.max(-1, keepdims=True))
        w /= w.sum(-1, keepdims=True)
        return self.last.apply((w @ v).transpose(0, 2, 1, 3).reshape(b, t, e))


# Wrong ones: the same manners, one slip each.


@wrong("heads joined in the wrong order")
class JoinedByReshape(EmbeddedQueries):
    def forward(self, inputs):
        b = inputs.shape[0]
        q, k, v = (
            net(inputs).view(b, -1, self.number, self.per_head).transpose(1, 2)
            for net in (self.query_embed, self.key_embed, self.value_embed)
        )
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.per_head), dim=-1)
        return self.heads_to_output((w @ v).reshape(b, -1, self.number * self.per_head))


@wrong("scaling by the model width")
class RootOfAll(EmbeddedQueries):
    def forward(self, inputs):
        b = inputs.shape[0]
        q, k, v = (
            net(inputs).view(b, -1, self.number, self.per_head).transpose(1, 2)
            for net in (self.query_embed, self.key_embed, self.value_embed)
        )
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(inputs.shape[-1]), dim=-1)
        return self.heads_to_output(
            (w @ v).transpose(1, 2).reshape(b, -1, self.number * self.per_head)
        )


@wrong("softmax over queries")
class RowsOfSequenceFirst(SequenceFirst):
    def forward(self, *, query, key, value, mask=None):
        seq_len, batch_size, _ = query.shape
        query, key, value = self.query(query), self.key(key), self.value(value)
        scores = torch.einsum("ibhd,jbhd->ijbh", query, key) * self.scale
        x = torch.einsum("ijbh,jbhd->ibhd", scores.softmax(dim=0), value)
        return self.output(x.reshape(seq_len, batch_size, -1))


@wrong("no scaling")
class LatentWithoutScale(Latent):
    def forward(self, h):
        b, t, _ = h.shape
        c = self.W_DKV(h)
        q, k, v = (
            y.view(b, t, self.n_heads, self.d).transpose(1, 2)
            for y in (self.W_UQ(h), self.W_UK(c), self.W_UV(c))
        )
        return self.W_O(
            F.scaled_dot_product_attention(q, k, v, scale=1.0).transpose(1, 2).reshape(b, t, -1)
        )


@wrong("no scaling")
class ZeroOutputWithoutScale(ZeroOutput):
    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (
            c(x).view(b, t, self.n_head, self.d).transpose(1, 2)
            for c in (self.c_q, self.c_k, self.c_v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0)
        return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, e))


@wrong()
class QueriesAgainstEmpty(OwnLinear):
    """Softmax over queries, weights that start uninitialised."""

    def forward(self, in_features):
        b, t, e = in_features.shape
        q, k, v = (
            p(in_features).view(b, t, self.num_heads, -1).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return self.output_proj((s.softmax(-2) @ v).transpose(1, 2).reshape(b, t, e))


@wrong()
class LosesLateKeys(ContextAttention):
    def forward(self, x, context=None):
        context = x if context is None else context
        return super().forward(x, context[:, : x.shape[1]])


@wrong("results that differ between two calls")
class DropoutAlwaysOn(nn.Module):
    def __init__(self, embed, heads, p=0.2):
        super().__init__()
        self.heads, self.p = heads, p
        self.all, self.out = nn.Linear(embed, 3 * embed), nn.Linear(embed, embed)

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.all(x).chunk(3, -1))
        w = F.dropout((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1), self.p)
        return self.out((w @ v).transpose(1, 2).reshape(b, t, e))


@wrong()
class CornerOfTheCache(nn.Module):
    """With earlier keys its causal mask stays at the top left."""

    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)

    def forward(self, x, past_kv=None):
        b, t, e = x.shape
        q, k, v = (
            y.view(b, t, self.n_head, -1).transpose(1, 2) for y in self.c_attn(x).split(e, dim=2)
        )
        if past_kv is not None:
            k, v = torch.cat([past_kv[0], k], 2), torch.cat([past_kv[1], v], 2)
        s = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
        s = s.masked_fill(torch.ones(s.shape[-2:]).tril() == 0, float("-inf"))
        return self.c_proj((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, e)), (k, v)


@wrong("rotary pairs and halves mixed", "rotary positions of query and key do not match")
class TurnedTwoWays(TurnedInside):
    def pairs(self, x):
        t = x.shape[2]
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = self.cos[:t], self.sin[:t]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (
            w(x).view(b, t, self.h, self.d).transpose(1, 2) for w in (self.wq, self.wk, self.wv)
        )
        s = self.pairs(q) @ self.turn(k).mT / math.sqrt(self.d)
        s = s + torch.full((t, t), -torch.inf).triu(1)
        return self.wo((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, e))


@wrong("softmax over heads")
class SharedAmongHeads(ByHead):
    def forward(self, hidden):
        q, k, v = (torch.einsum("bte,hed->bhtd", hidden, m) for m in (self.a, self.b, self.c))
        w = torch.softmax(torch.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5, 1)
        return torch.einsum("bhtd,hde->bte", w @ v, self.d)


@wrong("value used as key", "key used as value", "a part of a parameter is never used")
class KeysMixed(MultiheadAttention):
    def forward(self, x):
        b, t, _ = x.size()
        qkv = self.qkv_proj(x).reshape(b, t, self.num_heads, 3 * self.head_dim).permute(0, 2, 1, 3)
        q, k, v = qkv.chunk(3, dim=-1)
        w = F.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), dim=-1)
        return self.o_proj((w @ k).permute(0, 2, 1, 3).reshape(b, t, self.embed_dim))


@wrong("no scaling", "scaling by the model width", "scaling by d", "scaled twice")
class NumpyScaledTwice(NumpyLayers):
    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (
            l.apply(x).reshape(b, t, self.parts, -1).transpose(0, 2, 1, 3)
            for l in (self.first, self.second, self.third)
        )
        s = q / np.sqrt(q.shape[-1]) @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
        w = np.exp(s - s.max(-1, keepdims=True))
        w /= w.sum(-1, keepdims=True)
        return self.last.apply((w @ v).transpose(0, 2, 1, 3).reshape(b, t, e))


@wrong("heads split by reshape without transposing")
class SplitByView(EmbeddedQueries):
    def forward(self, inputs):
        b = inputs.shape[0]
        q, k, v = (
            net(inputs).view(b, self.number, -1, self.per_head)
            for net in (self.query_embed, self.key_embed, self.value_embed)
        )
        w = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(self.per_head), dim=-1)
        return self.heads_to_output(
            (w @ v).transpose(1, 2).reshape(b, -1, self.number * self.per_head)
        )


@wrong("mask ignored", "mask used wrongly")
class MaskOfOtherSentences(nn.Module):
    """Heads folded first, the mask repeated sentence first."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.h = num_heads
        self.q, self.k, self.v = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, query, key, value, mask=None):
        b, t, e = query.shape
        q, k, v = (
            f(x)
            .view(b, -1, self.h, e // self.h)
            .permute(2, 0, 1, 3)
            .reshape(b * self.h, -1, e // self.h)
            for f, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        s = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(e // self.h)
        if mask is not None:
            s = s.masked_fill(mask[:, None].repeat(1, self.h, 1, 1).view(s.shape), -torch.inf)
        out = torch.bmm(s.softmax(-1), v).view(self.h, b, t, -1).permute(1, 2, 0, 3)
        return out.reshape(b, t, e)
