"""Wrong attention modules: the slips of courses and of generated code."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.checker.samples.wild.registry import wrong


class Base(nn.Module):
    """Four layers and the usual split; the steps are methods that the slips replace."""

    causal = False

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.d_model, self.num_heads, self.d_k = d_model, num_heads, d_model // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x):
        b, t, _ = x.shape
        return x.view(b, t, self.num_heads, self.d_k).transpose(1, 2)

    def join(self, x):
        b, _, t, _ = x.shape
        return x.transpose(1, 2).contiguous().view(b, t, self.d_model)

    def scale(self):
        return math.sqrt(self.d_k)

    def weigh(self, scores):
        return torch.softmax(scores, dim=-1)

    def hide(self, scores):
        t = scores.size(-1)
        return scores.masked_fill(torch.triu(torch.ones(t, t), 1).bool(), float("-inf"))

    def forward(self, x):
        q, k, v = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        scores = q @ k.transpose(-2, -1) / self.scale()
        if self.causal:
            scores = self.hide(scores)
        return self.W_o(self.join(self.weigh(scores) @ v))


@wrong("no scaling")
class NoScale(Base):
    def scale(self):
        return 1.0


@wrong("scaling by the model width")
class ModelWidth(Base):
    def scale(self):
        return math.sqrt(self.d_model)


@wrong("scaling by d")
class WithoutRoot(Base):
    def scale(self):
        return self.d_k


@wrong("softmax over heads")
class DimOne(Base):
    def weigh(self, scores):
        return torch.softmax(scores, dim=1)


@wrong("softmax over queries")
class DimTwo(Base):
    def weigh(self, scores):
        return torch.softmax(scores, dim=2)


@wrong("heads split by reshape without transposing")
class ViewOnly(Base):
    def split(self, x):
        b, t, _ = x.shape
        return x.view(b, self.num_heads, t, self.d_k)


@wrong("heads joined in the wrong order")
class JoinedByView(Base):
    def join(self, x):
        b, _, t, _ = x.shape
        return x.contiguous().view(b, t, self.d_model)


@wrong("causal mask ignored")
class CausalSelfAttention(Base):
    """Its name promises what no line does."""


@wrong("causal mask transposed")
class CausalUpper(Base):
    causal = True

    def hide(self, scores):
        t = scores.size(-1)
        return scores.masked_fill(torch.tril(torch.ones(t, t), -1).bool(), float("-inf"))


@wrong("causal mask off by one: sees the next word")
class CausalOneAhead(Base):
    causal = True

    def hide(self, scores):
        t = scores.size(-1)
        return scores.masked_fill(torch.triu(torch.ones(t, t), 2).bool(), float("-inf"))


@wrong("causal mask off by one: does not see itself")
class CausalNotItself(Base):
    causal = True

    def hide(self, scores):
        t = scores.size(-1)
        return scores.masked_fill(torch.triu(torch.ones(t, t)).bool(), -1e9)


@wrong("causal mask after the softmax")
class CausalLate(Base):
    def weigh(self, scores):
        return torch.softmax(scores, dim=-1).tril()


@wrong("mask multiplied into the scores")
class CausalByZeros(Base):
    causal = True

    def hide(self, scores):
        return scores.tril()


@wrong("no softmax")
class Linear(Base):
    def weigh(self, scores):
        return scores


@wrong("softmax applied twice")
class Twice(Base):
    def weigh(self, scores):
        return torch.softmax(torch.softmax(scores, dim=-1), dim=-1)


@wrong("results that differ between two calls")
class AlwaysDropout(Base):
    def weigh(self, scores):
        return F.dropout(torch.softmax(scores, dim=-1), 0.3)


class Fused(nn.Module):
    """nanoGPT's order; the slips change the arrays."""

    def __init__(self, config):
        super().__init__()
        self.n_head, self.n_embd = config.n_head, config.n_embd
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        size = config.block_size
        self.register_buffer("bias", torch.tril(torch.ones(size, size)).view(1, 1, size, size))

    def arrays(self, q, k, v):
        return q, k, v

    def attend(self, q, k, v):
        t = q.size(-2)
        att = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        att = att.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        return F.softmax(att, dim=-1) @ v

    def forward(self, x):
        B, T, C = x.size()
        parts = self.c_attn(x).split(self.n_embd, dim=2)
        q, k, v = (a.view(B, T, self.n_head, -1).transpose(1, 2) for a in self.arrays(*parts))
        y = self.attend(q, k, v)
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


@wrong("value used as key", "a part of a parameter is never used")
class ValueForKey(Fused):
    def arrays(self, q, k, v):
        return q, v, v


@wrong("key used as value", "a part of a parameter is never used")
class KeyForValue(Fused):
    def arrays(self, q, k, v):
        return q, k, k


@wrong("causal mask ignored")
class BufferUnused(Fused):
    def attend(self, q, k, v):
        return F.softmax(q @ k.transpose(-2, -1) / math.sqrt(k.size(-1)), dim=-1) @ v


@wrong("no scaling")
class FusedUnscaled(Fused):
    def attend(self, q, k, v):
        t = q.size(-2)
        att = (q @ k.transpose(-2, -1)).masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        return F.softmax(att, dim=-1) @ v


class Head(nn.Module):
    """The well-known lecture's slip: the scale is the width of the model."""

    def __init__(self, n_embd, head_size, block_size=32):
        super().__init__()
        self.key = nn.Linear(n_embd, head_size, bias=False)
        self.query = nn.Linear(n_embd, head_size, bias=False)
        self.value = nn.Linear(n_embd, head_size, bias=False)
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        B, T, C = x.shape
        k, q, v = self.key(x), self.query(x), self.value(x)
        wei = q @ k.transpose(-2, -1) * C**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ v


wrong("scaling by the model width")(Head)


@wrong("scaling by the model width")
class HeadsOfTheLecture(nn.Module):
    def __init__(self, num_heads, head_size, n_embd):
        super().__init__()
        self.heads = nn.ModuleList([Head(n_embd, head_size) for _ in range(num_heads)])
        self.proj = nn.Linear(num_heads * head_size, n_embd)

    def forward(self, x):
        return self.proj(torch.cat([h(x) for h in self.heads], dim=-1))


class WithMask(nn.Module):
    """Three inputs and a mask."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.q_linear, self.k_linear, self.v_linear, self.out = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )

    def hide(self, scores, mask):
        return scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)

    def weigh(self, scores, mask):
        if mask is not None:
            scores = self.hide(scores, mask)
        return F.softmax(scores, dim=-1)

    def forward(self, q, k, v, mask=None):
        bs = q.size(0)
        k = self.k_linear(k).view(bs, -1, self.n_heads, self.d_k).transpose(1, 2)
        q = self.q_linear(q).view(bs, -1, self.n_heads, self.d_k).transpose(1, 2)
        v = self.v_linear(v).view(bs, -1, self.n_heads, self.d_k).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_k)
        output = torch.matmul(self.weigh(scores, mask), v)
        return self.out(output.transpose(1, 2).contiguous().view(bs, -1, self.n_heads * self.d_k))


@wrong("mask ignored")
class MaskNotAssigned(WithMask):
    def hide(self, scores, mask):
        scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        return scores


@wrong("boolean mask inverted")
class MaskInverted(WithMask):
    """mask: True where a query may look."""

    def hide(self, scores, mask):
        return scores.masked_fill(mask.unsqueeze(1) == 1, -1e9)


@wrong("mask after the softmax")
class MaskLate(WithMask):
    def weigh(self, scores, mask):
        w = F.softmax(scores, dim=-1)
        return w if mask is None else w.masked_fill(mask.unsqueeze(1) == 0, 0)


@wrong("mask multiplied into the scores")
class MaskMultiplied(WithMask):
    def hide(self, scores, mask):
        return scores * mask.unsqueeze(1)


@wrong("mask added as a small finite number", "mask multiplied into the scores")
class MaskWeak(WithMask):
    def hide(self, scores, mask):
        return scores.masked_fill(mask.unsqueeze(1) == 0, -1e-9)


@wrong("causal mask ignored")
class AttentionWithFlag(nn.Module):
    def __init__(self, dim, heads=3):
        super().__init__()
        self.heads = heads
        self.to_qkv, self.to_out = nn.Linear(dim, dim * 3, bias=False), nn.Linear(dim, dim)

    def forward(self, x, causal=False):
        b, n, e = x.shape
        q, k, v = (
            a.view(b, n, self.heads, -1).transpose(1, 2) for a in self.to_qkv(x).chunk(3, dim=-1)
        )
        return self.to_out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, e))


@wrong("grouped heads tiled instead of interleaved")
class GroupedTiled(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.d = n_heads, n_kv_heads, d_model // n_heads
        self.q_proj = nn.Linear(d_model, n_heads * self.d, bias=False)
        self.k_proj = nn.Linear(d_model, n_kv_heads * self.d, bias=False)
        self.v_proj = nn.Linear(d_model, n_kv_heads * self.d, bias=False)
        self.o_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x):
        b, t, e = x.shape
        q = self.q_proj(x).view(b, t, self.n_heads, self.d).transpose(1, 2)
        k = self.k_proj(x).view(b, t, self.n_kv_heads, self.d).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.n_kv_heads, self.d).transpose(1, 2)
        n = self.n_heads // self.n_kv_heads
        k, v = k.repeat(1, n, 1, 1), v.repeat(1, n, 1, 1)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.o_proj(out.transpose(1, 2).reshape(b, t, e))


@wrong("no scaling")
class PreNormUnscaled(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm, self.num_heads = nn.LayerNorm(dim), num_heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, e = x.shape
        h = self.norm(x)
        q, k, v = self.qkv(h).reshape(b, n, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        out = (q @ k.transpose(-1, -2)).softmax(-1) @ v
        return x + self.proj(out.transpose(1, 2).reshape(b, n, e))


@wrong("softmax over queries")
class NumpyWrong:
    def __init__(self, d_model):
        rng = np.random.default_rng(0)
        self.W_q, self.W_k, self.W_v = (rng.normal(size=(d_model, d_model)) for _ in range(3))

    def __call__(self, x):
        q, k, v = x @ self.W_q, x @ self.W_k, x @ self.W_v
        s = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        e = np.exp(s - s.max(-2, keepdims=True))
        return e / e.sum(-2, keepdims=True) @ v


@wrong("no scaling")
class NumpyUnscaled:
    def __init__(self, embed_dim, num_heads):
        rng = np.random.default_rng(0)
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (
            rng.normal(size=(embed_dim, embed_dim)) * 0.3 for _ in range(4)
        )

    def forward(self, x):
        b, t, e = x.shape
        q, k, v = (
            (x @ w).reshape(b, t, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)
            for w in (self.Wq, self.Wk, self.Wv)
        )
        s = q @ k.transpose(0, 1, 3, 2)
        e_ = np.exp(s - s.max(-1, keepdims=True))
        out = e_ / e_.sum(-1, keepdims=True) @ v
        return out.transpose(0, 2, 1, 3).reshape(b, t, e) @ self.Wo


@wrong("a parameter is never used")
class OutputLayerUnused(Base):
    def forward(self, x):
        q, k, v = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        return self.join(self.weigh(q @ k.transpose(-2, -1) / self.scale()) @ v)
