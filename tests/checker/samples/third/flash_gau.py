import torch
import torch.nn.functional as F
from torch import nn, einsum


class OffsetScale(nn.Module):
    def __init__(self, dim, heads = 1):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(heads, dim))
        self.beta = nn.Parameter(torch.zeros(heads, dim))
        nn.init.normal_(self.gamma, std = 0.5)

    def forward(self, x):
        out = einsum('... d, h d -> ... h d', x, self.gamma) + self.beta
        return out.unbind(dim = -2)


class GAU(nn.Module):
    """ gated attention unit (Hua et al. 2022): one head, relu squared over the length, causal """

    def __init__(self, dim, *, query_key_dim = 128, expansion_factor = 2., add_residual = True):
        super().__init__()
        hidden_dim = int(expansion_factor * dim)
        self.norm = nn.LayerNorm(dim)
        self.to_hidden = nn.Sequential(nn.Linear(dim, hidden_dim * 2), nn.SiLU())
        self.to_qk = nn.Sequential(nn.Linear(dim, query_key_dim), nn.SiLU())
        self.offsetscale = OffsetScale(query_key_dim, heads = 2)
        self.to_out = nn.Linear(hidden_dim, dim)
        self.add_residual = add_residual

    def forward(self, x):
        seq_len = x.shape[-2]
        normed_x = self.norm(x)
        v, gate = self.to_hidden(normed_x).chunk(2, dim = -1)
        qk = self.to_qk(normed_x)
        q, k = self.offsetscale(qk)

        sim = einsum('b i d, b j d -> b i j', q, k)
        attn = F.relu(sim / seq_len) ** 2
        causal_mask = torch.ones((seq_len, seq_len), dtype = torch.bool, device = x.device).triu(1)
        attn = attn.masked_fill(causal_mask, 0.)

        out = einsum('b i j, b j d -> b i d', attn, v)
        out = out * gate
        out = self.to_out(out)
        return out + x if self.add_residual else out
