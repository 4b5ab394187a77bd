import torch


def tiled_attention(q, k, v, block=4):
    """Exact attention with the softmax computed block by block. Shapes (b, h, n, d)."""
    scale = q.shape[-1] ** -0.5
    o = torch.zeros_like(q)
    l = q.new_zeros(q.shape[:-1] + (1,))
    m = torch.full_like(l, -float("inf"))
    for kb, vb in zip(k.split(block, dim=2), v.split(block, dim=2)):
        s = q @ kb.transpose(-1, -2) * scale
        m_new = torch.maximum(m, s.max(dim=-1, keepdim=True).values)
        p = torch.exp(s - m_new)
        alpha = torch.exp(m - m_new)
        l = l * alpha + p.sum(dim=-1, keepdim=True)
        o = o + p @ vb
        m = m_new
    return o / l
