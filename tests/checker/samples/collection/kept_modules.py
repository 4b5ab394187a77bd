"""Modules of the half that is kept back: nothing is tuned on them."""
# ruff: noqa: E741

import math

import numpy as np
import torch
import torch.nn.functional as F
from tests.checker.samples.collection.registry import KEPT_BACK
from torch import nn

right, wrong = KEPT_BACK.right, KEPT_BACK.wrong


@right
class LayersByUse(nn.Module):
    def __init__(self, embedding_size, heads_number):
        super().__init__()
        self.heads = heads_number
        self.embeddings_to_queries_layer = nn.Linear(embedding_size, embedding_size)
        self.embeddings_to_keys_layer = nn.Linear(embedding_size, embedding_size)
        self.embeddings_to_values_layer = nn.Linear(embedding_size, embedding_size)
        self.mixing_layer = nn.Linear(embedding_size, embedding_size)

    def cut(self, y):
        return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, embeddings):
        q = self.cut(self.embeddings_to_queries_layer(embeddings))
        k = self.cut(self.embeddings_to_keys_layer(embeddings))
        v = self.cut(self.embeddings_to_values_layer(embeddings))
        w = F.softmax(q.matmul(k.transpose(2, 3)) / q.shape[-1] ** 0.5, dim=3)
        return self.mixing_layer(w.matmul(v).transpose(1, 2).flatten(2))


@right
class ThreeInAList(nn.Module):
    def __init__(self, h, d_model, dropout=0.1):
        super().__init__()
        self.d_k, self.h = d_model // h, h
        self.linear_layers = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(3)])
        self.output_linear, self.dropout = nn.Linear(d_model, d_model), nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        b = query.size(0)
        query, key, value = [
            l(x).view(b, -1, self.h, self.d_k).transpose(1, 2)
            for l, x in zip(self.linear_layers, (query, key, value), strict=True)
        ]
        s = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        x = self.dropout(s.softmax(-1)) @ value
        return self.output_linear(x.transpose(1, 2).contiguous().view(b, -1, self.h * self.d_k))


@right
class HeadsInAList(nn.Module):
    """One small layer after the other for each head."""

    def __init__(self, features, heads_amount):
        super().__init__()
        size = features // heads_amount
        self.trios = nn.ModuleList(
            nn.ModuleList(nn.Linear(features, size, bias=False) for _ in range(3))
            for _ in range(heads_amount)
        )
        self.join = nn.Linear(size * heads_amount, features)

    def forward(self, x):
        outs = []
        for a, b, c in self.trios:
            q, k, v = a(x), b(x), c(x)
            outs.append(torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), -1) @ v)
        return self.join(torch.cat(outs, dim=-1))


@right
class GroupedWithRotation(nn.Module):
    def __init__(self, dim, query_heads, kv_heads):
        super().__init__()
        self.hq, self.hk, self.d = query_heads, kv_heads, dim // query_heads
        self.w1, self.w2 = (
            nn.Linear(dim, dim, bias=False),
            nn.Linear(dim, kv_heads * self.d, bias=False),
        )
        self.w3, self.w4 = (
            nn.Linear(dim, kv_heads * self.d, bias=False),
            nn.Linear(dim, dim, bias=False),
        )

    def rotate(self, x):
        t, d = x.shape[2], x.shape[3]
        angle = torch.outer(torch.arange(t), 1 / 10000 ** (torch.arange(0, d, 2) / d)).to(x.dtype)
        z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())
        return torch.view_as_real(z * torch.polar(torch.ones_like(angle), angle)).flatten(3)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.rotate(self.w1(x).view(b, t, self.hq, self.d).transpose(1, 2))
        k = self.rotate(self.w2(x).view(b, t, self.hk, self.d).transpose(1, 2))
        v = self.w3(x).view(b, t, self.hk, self.d).transpose(1, 2)
        k, v = (y.repeat_interleave(self.hq // self.hk, dim=1) for y in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.w4(y.transpose(1, 2).reshape(b, t, -1))


@right
class QueryMemory(nn.Module):
    def __init__(self, d_query, d_cond, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.from_query, self.from_memory = (
            nn.Linear(d_query, d_query),
            nn.Linear(d_cond, 2 * d_query),
        )
        self.last = nn.Linear(d_query, d_query)

    def forward(self, query, memory):
        b, t, e = query.shape
        q = self.from_query(query).view(b, t, self.n_heads, -1).transpose(1, 2)
        k, v = (
            y.view(b, y.shape[1], self.n_heads, -1).transpose(1, 2)
            for y in self.from_memory(memory).chunk(2, -1)
        )
        return self.last(
            ((q @ k.mT) * q.shape[-1] ** -0.5)
            .softmax(-1)
            .matmul(v)
            .transpose(1, 2)
            .reshape(b, t, e)
        )


@right
class ConvolvedImages(nn.Module):
    """Convolutions of width one; channels before positions."""

    def __init__(self, channels, num_heads=2):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.proj = nn.Conv1d(channels, channels * 3, 1), nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        b, c, n = x.shape
        q, k, v = self.qkv(x).reshape(b * self.num_heads, -1, n).chunk(3, dim=1)
        scale = 1 / math.sqrt(math.sqrt(c // self.num_heads))
        w = torch.einsum("bct,bcs->bts", q * scale, k * scale).softmax(-1)
        return self.proj(torch.einsum("bts,bcs->bct", w, v).reshape(b, c, n))


@right
class PreNormInside(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8, dropout=0.0):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        self.norm, self.attend, self.dropout = (
            nn.LayerNorm(dim),
            nn.Softmax(dim=-1),
            nn.Dropout(dropout),
        )
        self.mix, self.back = (
            nn.Linear(dim, heads * dim_head * 3, bias=False),
            nn.Linear(heads * dim_head, dim),
        )

    def forward(self, x):
        b, n, _ = x.shape
        x = self.norm(x)
        q, k, v = (
            y.reshape(b, n, self.heads, -1).transpose(1, 2) for y in self.mix(x).chunk(3, dim=-1)
        )
        w = self.dropout(self.attend(torch.matmul(q, k.transpose(-1, -2)) * self.scale))
        return self.back(torch.matmul(w, v).transpose(1, 2).reshape(b, n, -1))


@right
class ConfiguredCausal(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.hidden_dim % config.attention_heads == 0
        self.h = config.attention_heads
        self.inward = nn.Linear(config.hidden_dim, 3 * config.hidden_dim, bias=config.use_bias)
        self.outward = nn.Linear(config.hidden_dim, config.hidden_dim, bias=config.use_bias)
        self.register_buffer("seen", torch.tril(torch.ones(config.max_len, config.max_len)))

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (
            y.view(b, t, self.h, c // self.h).transpose(1, 2)
            for y in self.inward(x).split(c, dim=2)
        )
        s = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        s = s.masked_fill(self.seen[:t, :t] == 0, float("-inf"))
        return self.outward((F.softmax(s, dim=-1) @ v).transpose(1, 2).contiguous().view(b, t, c))


@right
class TemperatureModule(nn.Module):
    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature, self.dropout = temperature, nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        return torch.matmul(attn, v), attn


@right
class LowRankAdapted(nn.Module):
    def __init__(self, d, n, r):
        super().__init__()
        self.n = n
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.down, self.up = nn.Linear(d, r, bias=False), nn.Linear(r, d, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        b, t, d = x.shape
        parts = (self.q(x) + self.up(self.down(x)), self.k(x), self.v(x))
        q, k, v = (y.view(b, t, self.n, d // self.n).transpose(1, 2) for y in parts)
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))


@right
class WithItsWeights(nn.Module):
    def __init__(self, in_channels, n_parts, vis):
        super().__init__()
        self.vis, self.n = vis, n_parts
        self.one, self.two, self.three, self.four = (
            nn.Linear(in_channels, in_channels) for _ in range(4)
        )

    def forward(self, hidden_states):
        shape = (*hidden_states.shape[:-1], self.n, hidden_states.shape[-1] // self.n)
        q, k, v = (
            l(hidden_states).view(shape).permute(0, 2, 1, 3)
            for l in (self.one, self.two, self.three)
        )
        probs = nn.Softmax(dim=-1)(q @ k.transpose(-1, -2) / math.sqrt(shape[-1]))
        out = (probs @ v).permute(0, 2, 1, 3).contiguous().flatten(-2)
        return self.four(out), probs if self.vis else None


@right
class PatchedPlanes(nn.Module):
    """(b, p, n, d): attention among the n, for every p on its own."""

    def __init__(self, dim, heads, dim_head):
        super().__init__()
        self.heads = heads
        self.to_qkv, self.to_out = (
            nn.Linear(dim, 3 * heads * dim_head, bias=False),
            nn.Linear(heads * dim_head, dim),
        )

    def forward(self, x):
        b, p, n, _ = x.shape
        q, k, v = (
            y.view(b, p, n, self.heads, -1).transpose(2, 3) for y in self.to_qkv(x).chunk(3, dim=-1)
        )
        w = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1)
        return self.to_out((w @ v).transpose(2, 3).reshape(b, p, n, -1))


@right
class CachedDecoder(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.together, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, layer_past=None):
        b, t, e = x.shape
        q, k, v = (
            y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.together(x).split(e, dim=2)
        )
        if layer_past is not None:
            k, v = torch.cat([layer_past[0], k], -2), torch.cat([layer_past[1], v], -2)
        seen = torch.ones(t, k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - t)
        s = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~seen, -torch.inf)
        return self.out((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, e)), (k, v)


@right
class ComplexTurns(nn.Module):
    """Frequencies come with the call."""

    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads, self.d = n_heads, dim // n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x, freqs_complex):
        b, t, e = x.shape

        def turn(y):
            z = torch.view_as_complex(y.float().reshape(*y.shape[:-1], -1, 2))
            return torch.view_as_real(z * freqs_complex[None, :, None]).flatten(3).type_as(y)

        q, k, v = (w(x).view(b, t, self.n_heads, self.d) for w in (self.wq, self.wk, self.wv))
        q, k, v = turn(q).transpose(1, 2), turn(k).transpose(1, 2), v.transpose(1, 2)
        return self.wo(
            ((q @ k.mT / math.sqrt(self.d)).softmax(-1) @ v).transpose(1, 2).reshape(b, t, e)
        )


@right
class ArraysByHand:
    """A NumPy class with its matrices in a list."""

    def __init__(self, d_model, n_heads, seed=0):
        rng = np.random.default_rng(seed)
        self.n_heads = n_heads
        self.matrices = [
            rng.standard_normal((d_model, d_model)) / np.sqrt(d_model) for _ in range(4)
        ]

    def __call__(self, x, mask=None):
        b, t, e = x.shape
        q, k, v = (
            (x @ m).reshape(b, t, self.n_heads, -1).swapaxes(1, 2) for m in self.matrices[:3]
        )
        s = q @ k.swapaxes(-1, -2) / np.sqrt(e // self.n_heads)
        if mask is not None:
            s = np.where(mask, s, -1e9)
        w = np.exp(s - s.max(-1, keepdims=True))
        w = w / w.sum(-1, keepdims=True)
        return (w @ v).swapaxes(1, 2).reshape(b, t, e) @ self.matrices[3]


# Wrong ones: one slip each.


@wrong("scaling by the model width")
class WholeWidth(LayersByUse):
    def forward(self, embeddings):
        q = self.cut(self.embeddings_to_queries_layer(embeddings))
        k = self.cut(self.embeddings_to_keys_layer(embeddings))
        v = self.cut(self.embeddings_to_values_layer(embeddings))
        w = F.softmax(q.matmul(k.transpose(2, 3)) / embeddings.shape[-1] ** 0.5, dim=3)
        return self.mixing_layer(w.matmul(v).transpose(1, 2).flatten(2))


@wrong("heads joined in the wrong order")
class FlattenedTooEarly(LayersByUse):
    def forward(self, embeddings):
        q = self.cut(self.embeddings_to_queries_layer(embeddings))
        k = self.cut(self.embeddings_to_keys_layer(embeddings))
        v = self.cut(self.embeddings_to_values_layer(embeddings))
        w = F.softmax(q.matmul(k.transpose(2, 3)) / q.shape[-1] ** 0.5, dim=3)
        return self.mixing_layer(w.matmul(v).reshape(embeddings.shape))


@wrong("softmax over heads")
class AmongHeads(WithItsWeights):
    def forward(self, hidden_states):
        shape = (*hidden_states.shape[:-1], self.n, hidden_states.shape[-1] // self.n)
        q, k, v = (
            l(hidden_states).view(shape).permute(0, 2, 1, 3)
            for l in (self.one, self.two, self.three)
        )
        probs = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(shape[-1]), dim=1)
        return self.four((probs @ v).permute(0, 2, 1, 3).contiguous().flatten(-2))


@wrong("no scaling")
class LowRankUnscaled(LowRankAdapted):
    def forward(self, x):
        b, t, d = x.shape
        parts = (self.q(x) + self.up(self.down(x)), self.k(x), self.v(x))
        q, k, v = (y.view(b, t, self.n, d // self.n).transpose(1, 2) for y in parts)
        return self.o(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).reshape(b, t, d))


@wrong("causal mask ignored")
class CausalInNameOnly(LayersByUse):
    """Causal attention."""


@wrong("causal mask off by one: sees the next word")
class ConfiguredAhead(ConfiguredCausal):
    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (
            y.view(b, t, self.h, c // self.h).transpose(1, 2)
            for y in self.inward(x).split(c, dim=2)
        )
        s = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        s = s.masked_fill(
            self.seen[:t, :t].tril(1) + self.seen[:t, :t].T.tril(1) == 0, float("-inf")
        )
        return self.outward((F.softmax(s, dim=-1) @ v).transpose(1, 2).contiguous().view(b, t, c))


@wrong("grouped heads tiled instead of interleaved")
class GroupsTiled(GroupedWithRotation):
    def rotate(self, x):
        return x

    def forward(self, x):
        b, t, _ = x.shape
        q = self.w1(x).view(b, t, self.hq, self.d).transpose(1, 2)
        k = self.w2(x).view(b, t, self.hk, self.d).transpose(1, 2)
        v = self.w3(x).view(b, t, self.hk, self.d).transpose(1, 2)
        k, v = (y.repeat(1, self.hq // self.hk, 1, 1) for y in (k, v))
        return self.w4(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, -1))


@wrong()
class TurnedQueriesOnly(GroupedWithRotation):
    """The keys are not rotated."""

    def forward(self, x):
        b, t, _ = x.shape
        q = self.rotate(self.w1(x).view(b, t, self.hq, self.d).transpose(1, 2))
        k = self.w2(x).view(b, t, self.hk, self.d).transpose(1, 2)
        v = self.w3(x).view(b, t, self.hk, self.d).transpose(1, 2)
        k, v = (y.repeat_interleave(self.hq // self.hk, dim=1) for y in (k, v))
        return self.w4(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, -1))


@wrong("mask after the softmax")
class ListedLate(ThreeInAList):
    def forward(self, query, key, value, mask=None):
        b = query.size(0)
        query, key, value = [
            l(x).view(b, -1, self.h, self.d_k).transpose(1, 2)
            for l, x in zip(self.linear_layers, (query, key, value), strict=True)
        ]
        w = (query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))).softmax(-1)
        if mask is not None:
            w = w * (mask != 0)
        return self.output_linear(
            (w @ value).transpose(1, 2).contiguous().view(b, -1, self.h * self.d_k)
        )


@wrong()
class MemoryCutOff(QueryMemory):
    def forward(self, query, memory):
        return super().forward(query, memory[:, : query.shape[1]])


@wrong()
class SecondWordOfTheCache(CachedDecoder):
    """The causal mask of a call with earlier keys is one too narrow."""

    def forward(self, x, layer_past=None):
        b, t, e = x.shape
        q, k, v = (
            y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.together(x).split(e, dim=2)
        )
        if layer_past is not None:
            k, v = torch.cat([layer_past[0], k], -2), torch.cat([layer_past[1], v], -2)
        seen = torch.ones(t, k.shape[-2], dtype=torch.bool).tril(max(0, k.shape[-2] - t - 1))
        s = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~seen, -torch.inf)
        return self.out((s.softmax(-1) @ v).transpose(1, 2).reshape(b, t, e)), (k, v)


@wrong("no softmax")
class WithoutSoftmax(HeadsInAList):
    def forward(self, x):
        outs = []
        for a, b, c in self.trios:
            q, k, v = a(x), b(x), c(x)
            outs.append(q @ k.mT / math.sqrt(q.shape[-1]) @ v)
        return self.join(torch.cat(outs, dim=-1))


@wrong("scaling by d")
class ConvolvedByWidth(ConvolvedImages):
    def forward(self, x):
        b, c, n = x.shape
        q, k, v = self.qkv(x).reshape(b * self.num_heads, -1, n).chunk(3, dim=1)
        w = torch.einsum("bct,bcs->bts", q, k).div(c // self.num_heads).softmax(-1)
        return self.proj(torch.einsum("bts,bcs->bct", w, v).reshape(b, c, n))


@wrong("results that differ between two calls")
class NoisyQueries(LayersByUse):
    def forward(self, embeddings):
        return super().forward(embeddings + 0.01 * torch.randn_like(embeddings))


@wrong("no maximum subtracted")
class ExponentsByHand(ArraysByHand):
    def __call__(self, x):
        b, t, e = x.shape
        q, k, v = (
            (x @ m).reshape(b, t, self.n_heads, -1).swapaxes(1, 2) for m in self.matrices[:3]
        )
        w = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(e // self.n_heads))
        w = w / w.sum(-1, keepdims=True)
        return (w @ v).swapaxes(1, 2).reshape(b, t, e) @ self.matrices[3]
