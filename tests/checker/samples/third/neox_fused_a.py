import torch
import torch.nn as nn


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return torch.cat((-x2, x1), dim=-1)


class NeoXAttention(nn.Module):
    def __init__(self, hidden_size, num_attention_heads, rotary_pct=0.25, rotary_emb_base=10000):
        super().__init__()
        self.num_attention_heads = num_attention_heads
        self.head_size = hidden_size // num_attention_heads
        self.rotary_ndims = int(self.head_size * rotary_pct)
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)
        inv = 1.0 / (rotary_emb_base ** (torch.arange(0, self.rotary_ndims, 2) / self.rotary_ndims))
        self.register_buffer("inv_freq", inv, persistent=False)

    def cos_sin(self, length, like):
        t = torch.arange(length, device=like.device, dtype=self.inv_freq.dtype)
        emb = torch.outer(t, self.inv_freq).repeat(1, 2)
        return emb.cos().to(like.dtype), emb.sin().to(like.dtype)

    def forward(self, hidden_states):
        b, n, _ = hidden_states.shape
        qkv = self.query_key_value(hidden_states)
        qkv = qkv.view(b, n, self.num_attention_heads, 3 * self.head_size)
        query = qkv[..., : self.head_size].permute(0, 2, 1, 3)
        key = qkv[..., self.head_size: 2 * self.head_size].permute(0, 2, 1, 3)
        value = qkv[..., 2 * self.head_size:].permute(0, 2, 1, 3)

        query_rot, query_pass = query[..., : self.rotary_ndims], query[..., self.rotary_ndims:]
        key_rot, key_pass = key[..., : self.rotary_ndims], key[..., self.rotary_ndims:]
        cos, sin = self.cos_sin(n, query)
        query_rot = query_rot * cos + rotate_half(query_rot) * sin
        key_rot = key_rot * cos + rotate_half(key_rot) * sin
        query = torch.cat((query_rot, query_pass), dim=-1)
        key = torch.cat((key_rot, key_pass), dim=-1)

        mask = torch.tril(torch.ones(n, n, dtype=torch.bool, device=query.device))
        scores = torch.matmul(query, key.transpose(-1, -2)) / self.head_size ** 0.5
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        out = torch.matmul(scores.softmax(-1), value)
        return self.dense(out.permute(0, 2, 1, 3).reshape(b, n, -1))
