"""Right attention modules, second part: blocks, positions, other orders of axes, other makers."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.checker.samples.wild.registry import right, unless_empty


@right
class PreNormAttention(nn.Module):
    """A norm before, and what came in added at the end."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.heads = num_heads
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, e = x.shape
        q, k, v = self.to_qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (a.view(b, n, self.heads, -1).transpose(1, 2) for a in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v)
        return x + self.to_out(out.transpose(1, 2).reshape(b, n, e))


@right
class NormOnly(nn.Module):
    """A norm before; nothing added."""

    def __init__(self, dim, num_heads):
        super().__init__()
        self.norm, self.num_heads = nn.LayerNorm(dim), num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        b, n, e = x.shape
        x = self.norm(x)
        q, k, v = (
            p(x).view(b, n, self.num_heads, -1).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        a = (q @ k.transpose(-2, -1) / math.sqrt(e // self.num_heads)).softmax(-1)
        return self.o_proj((a @ v).transpose(1, 2).reshape(b, n, e))


@right
class SequenceFirst(nn.Module):
    """(tokens, batch, embed), as older translation models have it."""

    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(embed_dim, embed_dim) for _ in range(4)
        )

    def forward(self, x):
        tgt_len, bsz, embed_dim = x.size()
        q = self.q_proj(x) * self.head_dim**-0.5
        k, v = self.k_proj(x), self.v_proj(x)
        q, k, v = (
            a.contiguous().view(tgt_len, bsz * self.num_heads, self.head_dim).transpose(0, 1)
            for a in (q, k, v)
        )
        weights = F.softmax(torch.bmm(q, k.transpose(1, 2)), dim=-1)
        attn = torch.bmm(weights, v).transpose(0, 1).contiguous().view(tgt_len, bsz, embed_dim)
        return self.out_proj(attn)


def library_module():
    torch.manual_seed(0)
    return nn.MultiheadAttention(12, 3, batch_first=True).eval()


right(library_module())
right(nn.MultiheadAttention(12, 3).eval())
right(nn.MultiheadAttention(embed_dim=12, num_heads=2, bias=False).eval())


@unless_empty
class TemperatureModule(nn.Module):
    """ScaledDotProductAttention(temperature) of a well-known port."""

    def __init__(self, temperature, attn_dropout=0.1):
        super().__init__()
        self.temperature, self.dropout = temperature, nn.Dropout(attn_dropout)

    def forward(self, q, k, v, mask=None):
        attn = torch.matmul(q / self.temperature, k.transpose(2, 3))
        if mask is not None:
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = self.dropout(F.softmax(attn, dim=-1))
        return torch.matmul(attn, v), attn


@unless_empty
class NoParameters(nn.Module):
    def forward(self, Q, K, V, mask=None):
        scores = torch.matmul(Q, K.transpose(-1, -2)) / math.sqrt(Q.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attn = torch.softmax(scores, dim=-1)
        return torch.matmul(attn, V), attn


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


@right
class RotaryAttention(nn.Module):
    """Rotary positions inside, halves turned; causal; as current language models have it."""

    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, hidden_size // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(hidden_size, hidden_size, bias=False) for _ in range(4)
        )
        freq = 1.0 / (10000 ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim))
        self.register_buffer("inv_freq", freq)

    def forward(self, hidden_states):
        b, t, _ = hidden_states.shape
        q, k, v = (
            p(hidden_states).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        angle = torch.outer(torch.arange(t).float(), self.inv_freq)
        angle = torch.cat((angle, angle), dim=-1)
        cos, sin = angle.cos(), angle.sin()
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(out.transpose(1, 2).reshape(b, t, -1))


@right
class InterleavedRotary(nn.Module):
    """Rotary positions by complex numbers, neighbours turned; causal."""

    def __init__(self, dim, n_heads):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def _turn(self, x, freqs_cis):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs_cis[None, :, None]).flatten(3).type_as(x)

    def forward(self, x):
        b, t, _ = x.shape
        xq, xk, xv = (
            w(x).view(b, t, self.n_heads, self.head_dim) for w in (self.wq, self.wk, self.wv)
        )
        freqs = 1.0 / (10000.0 ** (torch.arange(0, self.head_dim, 2).float() / self.head_dim))
        angles = torch.outer(torch.arange(t).float(), freqs)
        freqs_cis = torch.polar(torch.ones_like(angles), angles)
        xq, xk = self._turn(xq, freqs_cis), self._turn(xk, freqs_cis)
        xq, xk, xv = (a.transpose(1, 2) for a in (xq, xk, xv))
        scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(self.head_dim)
        scores = scores + torch.full((t, t), float("-inf")).triu(1)
        out = torch.matmul(F.softmax(scores, dim=-1), xv)
        return self.wo(out.transpose(1, 2).reshape(b, t, -1))


@unless_empty
class EncoderSelfAttention(nn.Module):
    """hidden_size, num_attention_heads in a config; an additive attention_mask; no output layer."""

    def __init__(self, config):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.attention_head_size = config.hidden_size // config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, config.hidden_size)
        self.key = nn.Linear(config.hidden_size, config.hidden_size)
        self.value = nn.Linear(config.hidden_size, config.hidden_size)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def _heads(self, x):
        shape = (*x.size()[:-1], self.num_attention_heads, self.attention_head_size)
        return x.view(shape).permute(0, 2, 1, 3)

    def forward(self, hidden_states, attention_mask=None):
        q, k, v = (self._heads(m(hidden_states)) for m in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.attention_head_size)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        context = torch.matmul(probs, v).permute(0, 2, 1, 3).contiguous()
        return context.view(*context.size()[:-2], -1)


@right
class WithoutHeads(nn.Module):
    """The first class of many introductions: one head, nn.Linear, softmax(dim=-1)."""

    def __init__(self, embed_size):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(embed_size, embed_size) for _ in range(3))
        self.scale = embed_size**0.5

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        return torch.softmax(q @ k.transpose(-2, -1) / self.scale, dim=-1) @ v


@right
class ParametersOfMatrices(nn.Module):
    """nn.Parameter matrices multiplied from the right."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        keys, queries, values = x @ self.W_key, x @ self.W_query, x @ self.W_value
        scores = queries @ keys.transpose(-2, -1)
        return torch.softmax(scores / keys.shape[-1] ** 0.5, dim=-1) @ values


@unless_empty
class VideoTransformer(nn.Module):
    """values, keys, query, mask; einsum; energy; fc_out."""

    def __init__(self, embed_size, heads):
        super().__init__()
        self.embed_size, self.heads, self.head_dim = embed_size, heads, embed_size // heads
        self.values = nn.Linear(embed_size, embed_size)
        self.keys = nn.Linear(embed_size, embed_size)
        self.queries = nn.Linear(embed_size, embed_size)
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask):
        N = query.shape[0]
        v_len, k_len, q_len = values.shape[1], keys.shape[1], query.shape[1]
        values = self.values(values).reshape(N, v_len, self.heads, self.head_dim)
        keys = self.keys(keys).reshape(N, k_len, self.heads, self.head_dim)
        queries = self.queries(query).reshape(N, q_len, self.heads, self.head_dim)
        energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        attention = torch.softmax(energy / (self.head_dim ** (1 / 2)), dim=3)
        out = torch.einsum("nhql,nlhd->nqhd", [attention, values])
        return self.fc_out(out.reshape(N, q_len, self.heads * self.head_dim))


@right
class TransformerBlock(nn.Module):
    """Attention and feed-forward, both with a norm before and the input added."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.n_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )
        self.mlp = nn.Sequential(nn.Linear(d_model, 24), nn.GELU(), nn.Linear(24, d_model))

    def attend(self, x):
        b, t, e = x.shape
        q, k, v = (
            p(x).view(b, t, self.n_heads, -1).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(y.transpose(1, 2).reshape(b, t, e))

    def forward(self, x):
        x = x + self.attend(self.ln1(x))
        return x + self.mlp(self.ln2(x))


@right
class MultiQueryAttention(nn.Module):
    """One key head for all query heads."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj, self.v_proj = nn.Linear(d_model, self.d_k), nn.Linear(d_model, self.d_k)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        b, t, e = x.shape
        q = self.q_proj(x).view(b, t, self.num_heads, self.d_k).transpose(1, 2)
        k, v = self.k_proj(x).unsqueeze(1), self.v_proj(x).unsqueeze(1)
        a = (q @ k.transpose(-1, -2) / self.d_k**0.5).softmax(-1)
        return self.out_proj((a @ v).transpose(1, 2).reshape(b, t, e))
