"""Drop-in for xformers.ops.memory_efficient_attention on machines without xformers."""
import torch


def memory_efficient_attention(query, key, value, attn_bias=None, p=0.0, scale=None):
    """
    :param query, key, value: [B, M, H, K] (BMHK layout)
    :param attn_bias: additive, broadcastable to [B, H, M, M]
    :return: [B, M, H, K] in the input's type, computed in at least its precision
    """
    scale = scale if scale is not None else 1.0 / query.shape[-1] ** 0.5
    query, key, value = (t.permute(0, 2, 1, 3) for t in (query, key, value))
    attn = torch.matmul(query, key.transpose(-2, -1)) * scale
    if attn_bias is not None:
        attn = attn + attn_bias
    attn = attn.softmax(-1)
    if p:
        attn = torch.nn.functional.dropout(attn, p)
    return (attn @ value).permute(0, 2, 1, 3).contiguous()
