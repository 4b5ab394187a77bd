import torch
from torch import nn


class PrefixAttention(nn.Module):
    """Prefix tuning (Li & Liang 2021): n_prefix trained keys and values, made by a small MLP
    from trained embeddings, stand before those of the sequence in every head."""

    def __init__(self, embed_dim, num_heads, n_prefix=10, mid=16):
        super().__init__()
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.n_prefix = n_prefix
        self.c_attn = nn.Linear(embed_dim, 3 * embed_dim)
        self.c_proj = nn.Linear(embed_dim, embed_dim)
        self.prefix = nn.Embedding(n_prefix, embed_dim)
        self.control = nn.Sequential(nn.Linear(embed_dim, mid), nn.Tanh(), nn.Linear(mid, 2 * embed_dim))

    def split_heads(self, t):
        return t.view(t.size(0), t.size(1), self.num_heads, -1).permute(0, 2, 1, 3)

    def get_prompt(self, bsz):
        tokens = torch.arange(self.n_prefix, device=self.prefix.weight.device)
        kv = self.control(self.prefix(tokens)).unsqueeze(0).expand(bsz, -1, -1)
        pk, pv = kv.chunk(2, dim=-1)
        return self.split_heads(pk), self.split_heads(pv)

    def forward(self, x):
        q, k, v = self.c_attn(x).split(self.embed_dim, dim=2)
        q, k, v = self.split_heads(q), self.split_heads(k), self.split_heads(v)
        pk, pv = self.get_prompt(x.size(0))
        k = torch.cat((pk, k), dim=2)
        v = torch.cat((pv, v), dim=2)
        w = torch.matmul(q, k.transpose(-1, -2)) / (v.size(-1) ** 0.5)
        w = torch.softmax(w, dim=-1)
        a = torch.matmul(w, v).permute(0, 2, 1, 3).contiguous()
        return self.c_proj(a.view(x.size()))
