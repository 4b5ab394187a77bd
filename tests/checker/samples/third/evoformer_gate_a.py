import math
from typing import List, Optional

import torch
import torch.nn as nn


class GatedAttention(nn.Module):
    """
    Standard multi-head attention using AlphaFold's default layer
    initialization, with additive biases and a sigmoid gate on the output.
    """

    def __init__(self, c_q: int, c_kv: int, c_hidden: int, no_heads: int, gating: bool = True):
        super().__init__()
        self.c_hidden = c_hidden
        self.no_heads = no_heads
        self.linear_q = nn.Linear(c_q, c_hidden * no_heads, bias=False)
        self.linear_k = nn.Linear(c_kv, c_hidden * no_heads, bias=False)
        self.linear_v = nn.Linear(c_kv, c_hidden * no_heads, bias=False)
        self.linear_o = nn.Linear(c_hidden * no_heads, c_q)
        self.linear_g = nn.Linear(c_q, c_hidden * no_heads) if gating else None
        self.sigmoid = nn.Sigmoid()

    def forward(self, q_x: torch.Tensor, kv_x: torch.Tensor,
                biases: Optional[List[torch.Tensor]] = None) -> torch.Tensor:
        # [*, H, Q/K, C_hidden]
        q = self.linear_q(q_x).view(q_x.shape[:-1] + (self.no_heads, -1)).transpose(-2, -3)
        k = self.linear_k(kv_x).view(kv_x.shape[:-1] + (self.no_heads, -1)).transpose(-2, -3)
        v = self.linear_v(kv_x).view(kv_x.shape[:-1] + (self.no_heads, -1)).transpose(-2, -3)
        q = q / math.sqrt(self.c_hidden)

        # [*, H, Q, K]
        a = torch.matmul(q, k.transpose(-1, -2))
        for b in biases or []:
            a = a + b
        a = torch.nn.functional.softmax(a, dim=-1)

        # [*, Q, H, C_hidden]
        o = torch.matmul(a, v).transpose(-2, -3)
        if self.linear_g is not None:
            g = self.sigmoid(self.linear_g(q_x))
            g = g.view(g.shape[:-1] + (self.no_heads, -1))
            o = o * g
        o = o.reshape(o.shape[:-2] + (-1,))
        return self.linear_o(o)
