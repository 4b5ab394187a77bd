import torch


def get_slopes(heads):
    start = 2.0 ** (-8.0 / heads)
    return torch.tensor([start ** (i + 1) for i in range(heads)])


def alibi_attention(q, k, v):
    """Encoder form: the bias is minus slope times the distance, in both directions."""
    heads, n = q.shape[1], q.shape[2]
    pos = torch.arange(n)
    distance = (pos[:, None] - pos[None, :]).abs().to(q.dtype)
    bias = -get_slopes(heads).to(q.dtype)[:, None, None] * distance
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
