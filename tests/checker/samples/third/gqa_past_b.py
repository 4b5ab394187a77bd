import math
import torch


def attend_with_past(q, k, v, past=None):
    """GQA decode step. q [B, H, T, D], k and v [B, G, T, D] for the T new tokens, past a pair of
    [B, G, S, D] for the S tokens before them. New token t sees the whole past and new tokens 0..t.
    Returns ([B, H, T, D], the grown pair)."""
    if past is not None:
        k = torch.cat((past[0], k), 2)
        v = torch.cat((past[1], v), 2)
    B, H, T, D = q.shape
    G, total = k.shape[1], k.shape[2]
    qg = q.reshape(B, G, H // G, T, D)
    att = torch.einsum("bgrtd,bgsd->bgrts", qg, k) / math.sqrt(D)
    row = torch.arange(T, device=q.device)
    col = torch.arange(total, device=q.device)
    att = att.masked_fill(col[None, :] > row[:, None], float("-inf"))
    y = torch.einsum("bgrts,bgsd->bgrtd", att.softmax(dim=-1), v)
    return y.reshape(B, H, T, D), (k, v)
