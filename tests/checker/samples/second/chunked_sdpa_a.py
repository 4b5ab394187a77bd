import math

import torch


def chunked_attention(q, k, v, chunk=4):
    """Same result as full attention, keys taken a chunk at a time to save memory (Rabe and Staats)."""
    q = q / math.sqrt(q.size(-1))
    outs, sums, tops = [], [], []
    for start in range(0, k.size(-2), chunk):
        s = q @ k[..., start : start + chunk, :].transpose(-1, -2)
        top = s.amax(-1, keepdim=True)
        p = torch.exp(s - top)
        outs.append(p @ v[..., start : start + chunk, :])
        sums.append(p.sum(-1, keepdim=True))
        tops.append(top)
    tops = torch.stack(tops)
    weight = torch.exp(tops - tops.amax(0))
    parts = torch.stack(outs) / torch.stack(sums)
    weight = weight / weight.sum(0)
    return (parts * weight).sum(0)
