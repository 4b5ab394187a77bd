import torch


def freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).double() / dim))
    return torch.outer(torch.arange(end).double(), freqs)


def rotate_pairs(x, ang):
    c, s = ang.cos()[:, None].to(x), ang.sin()[:, None].to(x)
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * c - odd * s, even * s + odd * c], -1).flatten(-2)


def rotate_halves(x, ang):
    c, s = ang.cos()[:, None].to(x), ang.sin()[:, None].to(x)
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, a * s + b * c], -1)


def attention(xq, xk, xv):
    """xq, xk, xv: (bsz, seqlen, n_heads, head_dim). Rotary positions (pairs of
    neighbouring features, as in the original LLaMA checkpoint), no mask."""
    ang = freqs_cis(xq.shape[-1], xq.shape[1])
    xq = rotate_pairs(xq, ang)
    xk = rotate_halves(xk, ang)
    xq, xk, xv = (t.transpose(1, 2) for t in (xq, xk, xv))
    scores = torch.matmul(xq, xk.transpose(2, 3)) * xq.size(-1) ** -0.5
    out = torch.matmul(torch.softmax(scores, -1), xv)
    return out.transpose(1, 2)
