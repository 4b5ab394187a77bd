import torch
import torch.nn as nn


class Gemma2Attention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads, query_pre_attn_scalar=16, softcap=50.0):
        super().__init__()
        self.n_heads, self.n_kv = n_heads, n_kv_heads
        self.hd = dim // n_heads
        self.scaling = query_pre_attn_scalar**-0.5
        self.softcap = softcap
        self.q_proj = nn.Linear(dim, n_heads * self.hd, bias=False)
        self.k_proj = nn.Linear(dim, n_kv_heads * self.hd, bias=False)
        self.v_proj = nn.Linear(dim, n_kv_heads * self.hd, bias=False)
        self.o_proj = nn.Linear(n_heads * self.hd, dim, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q = self.q_proj(x).view(b, t, self.n_heads, self.hd).transpose(1, 2)
        k = self.k_proj(x).view(b, t, self.n_kv, self.hd).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.n_kv, self.hd).transpose(1, 2)
        k = k.repeat_interleave(self.n_heads // self.n_kv, dim=1)
        v = v.repeat_interleave(self.n_heads // self.n_kv, dim=1)
        logits = torch.matmul(q, k.transpose(2, 3)) * self.scaling
        logits = torch.tanh(logits / self.softcap) * self.softcap
        causal = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1)
        logits = logits.masked_fill(causal, float("-inf"))
        out = torch.softmax(logits, dim=-1) @ v
        return self.o_proj(out.transpose(1, 2).reshape(b, t, -1))
