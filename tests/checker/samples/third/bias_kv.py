import torch
from torch import nn
from torch.nn import functional as F


class BiasKVAttention(nn.Module):
    """Cross-attention with the two options of fairseq's MultiheadAttention:

    a learned key and value at the end of the memory (always), and behind them an all-zero
    key and value (``add_zero_attn``), so that a query can attend to nothing.
    ``key_padding_mask`` is True at padding.
    """

    def __init__(self, embed_dim, num_heads, add_zero_attn=False):
        super().__init__()
        self.num_heads = num_heads
        self.add_zero_attn = add_zero_attn
        self.in_proj_weight = nn.Parameter(torch.empty(3 * embed_dim, embed_dim))
        self.in_proj_bias = nn.Parameter(torch.randn(3 * embed_dim) * 0.1)
        self.bias_k = nn.Parameter(torch.empty(1, 1, embed_dim))
        self.bias_v = nn.Parameter(torch.empty(1, 1, embed_dim))
        self.out_proj = nn.Linear(embed_dim, embed_dim)
        nn.init.xavier_uniform_(self.in_proj_weight)
        nn.init.xavier_normal_(self.bias_k)
        nn.init.xavier_normal_(self.bias_v)

    def forward(self, query, memory, key_padding_mask=None):
        bsz, e = query.shape[0], query.shape[-1]
        wq, wkv = self.in_proj_weight.split([e, 2 * e])
        bq, bkv = self.in_proj_bias.split([e, 2 * e])
        q = F.linear(query, wq, bq)
        k, v = F.linear(memory, wkv, bkv).chunk(2, dim=-1)
        k = torch.cat([k, self.bias_k.expand(bsz, -1, -1)], dim=1)
        v = torch.cat([v, self.bias_v.expand(bsz, -1, -1)], dim=1)
        extra = 1
        if self.add_zero_attn:
            k = F.pad(k, (0, 0, 0, 1))
            v = F.pad(v, (0, 0, 0, 1))
            extra = 2
        q, k, v = (t.reshape(bsz, t.size(1), self.num_heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q.matmul(k.transpose(-2, -1)) * q.size(-1) ** -0.5
        if key_padding_mask is not None:
            hide = F.pad(key_padding_mask, (0, extra), value=False)
            scores = scores.masked_fill(hide[:, None, None], float("-inf"))
        out = scores.softmax(-1).matmul(v).transpose(1, 2).flatten(2)
        return self.out_proj(out)
