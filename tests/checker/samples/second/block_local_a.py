import torch
import torch.nn.functional as F


def block_local_attention(q, k, v, block):
    """Each block of queries sees its own and the previous block, any length. (b, h, n, d)."""
    b, h, n, d = q.shape
    pad = -n % block
    q, k, v = (F.pad(t, (0, 0, 0, pad)) for t in (q, k, v))
    c = q.shape[2] // block
    q = q.view(b, h, c, block, d)
    k = F.pad(k.view(b, h, c, block, d), (0, 0, 0, 0, 1, 0))
    v = F.pad(v.view(b, h, c, block, d), (0, 0, 0, 0, 1, 0))
    k = torch.cat([k[:, :, :-1], k[:, :, 1:]], dim=3)
    v = torch.cat([v[:, :, :-1], v[:, :, 1:]], dim=3)
    scores = q @ k.transpose(-1, -2) * d**-0.5
    pos = torch.arange(-block, c * block).view(c + 1, block)
    pos = torch.cat([pos[:-1], pos[1:]], dim=1)
    real = (pos >= 0) & (pos < n)
    scores = scores.masked_fill(~real[:, None, :], torch.finfo(q.dtype).min)
    out = torch.softmax(scores, dim=-1) @ v
    return out.reshape(b, h, c * block, d)[:, :, :n]
