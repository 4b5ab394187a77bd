import torch
from torch import nn


class ScalableSoftmaxAttention(nn.Module):
    """Causal attention with scalable softmax (Nakanishi 2025).

    The logits of a row that sees n keys are multiplied by s_h * log(n), s_h learned per head;
    the first row sees one key and attends to it with weight 1 whatever its logit.
    """

    def __init__(self, dim, n_head):
        super().__init__()
        self.n_head = n_head
        self.c_attn = nn.Linear(dim, 3 * dim, bias=False)
        self.c_proj = nn.Linear(dim, dim, bias=False)
        self.seq_scale = nn.Parameter(torch.full((n_head,), 0.43))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        n_visible = torch.arange(1, T + 1, device=x.device, dtype=x.dtype)
        q = q * (self.seq_scale.view(1, -1, 1, 1) * n_visible.log().view(1, 1, T, 1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)
