import torch
from torch import nn


def repeat_kv(x, n_rep):
    b, h, n, d = x.shape
    return x[:, :, None].expand(b, h, n_rep, n, d).reshape(b, h * n_rep, n, d)


class GemmaAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, num_kv_heads, head_dim, softcap=5.0):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_dim, self.softcap = num_heads, num_kv_heads, head_dim, softcap
        self.q_proj = nn.Linear(hidden_size, num_heads * head_dim, bias=False)
        self.k_proj = nn.Linear(hidden_size, num_kv_heads * head_dim, bias=False)
        self.v_proj = nn.Linear(hidden_size, num_kv_heads * head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * head_dim, hidden_size, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.num_kv_heads, self.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.num_kv_heads, self.head_dim).transpose(1, 2)
        rep = self.num_heads // self.num_kv_heads
        k, v = repeat_kv(k, rep), repeat_kv(v, rep)
        w = q @ k.transpose(2, 3) * self.head_dim ** -0.5
        w = torch.tanh(w / self.softcap) * self.softcap
        w = w.masked_fill(torch.ones(n, n, dtype=torch.bool).triu(1), torch.finfo(w.dtype).min)
        out = w.softmax(-1) @ v
        return self.o_proj(out.transpose(1, 2).reshape(b, n, -1))
