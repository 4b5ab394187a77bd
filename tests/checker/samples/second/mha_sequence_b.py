import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head, attn_dropout=0.1):
        super().__init__()
        self.n_head = n_head
        self.attn_dropout = attn_dropout
        self.w_qs = nn.Linear(d_model, d_model, bias=False)
        self.w_ks = nn.Linear(d_model, d_model, bias=False)
        self.w_vs = nn.Linear(d_model, d_model, bias=False)
        self.fc = nn.Linear(d_model, d_model, bias=False)

    def forward(self, q, k, v):
        b, n, c = q.shape
        q, k, v = (
            w(t).view(b, t.size(1), self.n_head, -1).transpose(1, 2)
            for w, t in ((self.w_qs, q), (self.w_ks, k), (self.w_vs, v))
        )
        attn = F.softmax(torch.matmul(q, k.transpose(2, 3)) / math.sqrt(q.size(-1)), dim=-1)
        attn = F.dropout(attn, self.attn_dropout)
        return self.fc(torch.matmul(attn, v).transpose(1, 2).reshape(b, n, c))
