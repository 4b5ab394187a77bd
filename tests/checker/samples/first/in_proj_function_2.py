import torch
import torch.nn.functional as F


def multi_head_forward(x, in_proj_weight, in_proj_bias, out_weight, out_bias, num_heads):
    w_q, w_k, w_v = in_proj_weight.chunk(3)
    b_q, b_k, b_v = in_proj_bias.chunk(3)
    q = F.linear(x, w_q, b_k)
    k = F.linear(x, w_k, b_k)
    v = F.linear(x, w_v, b_v)
    q, k, v = (t.unflatten(-1, (num_heads, -1)).transpose(-3, -2) for t in (q, k, v))
    attn = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1)
    return F.linear((attn @ v).transpose(-3, -2).flatten(-2), out_weight, out_bias)
