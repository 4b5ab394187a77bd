import torch


def document_ids(cu_seqlens, total):
    """cu_seqlens [0, n1, n1 + n2, ...] -> for every token the number of its document."""
    ends = cu_seqlens[1:].to(torch.long)
    return torch.searchsorted(ends, torch.arange(total, device=ends.device), right=True)


def packed_attention(q, k, v, cu_seqlens, softmax_scale=None):
    """Causal attention over packed documents, as flash_attn_varlen_func(..., causal=True).

    q, k, v: (total, nheads, headdim). Document i owns the rows cu_seqlens[i]:cu_seqlens[i + 1];
    documents do not see each other.
    """
    total, nheads, headdim = q.shape
    if softmax_scale is None:
        softmax_scale = headdim ** (-0.5)
    doc = document_ids(cu_seqlens, total)
    pos = torch.arange(total, device=q.device)
    allowed = (doc[:, None] >= doc[None, :]) & (pos[:, None] >= pos[None, :])
    scores = torch.einsum("thd,shd->hts", q * softmax_scale, k)
    scores.masked_fill_(~allowed.unsqueeze(0), float("-inf"))
    return torch.einsum("hts,shd->thd", torch.softmax(scores, dim=-1), v)
