"""A packed (varlen) kernel: sequences end to end, with their start offsets."""

import numpy as np
from tiled_kernel import tiled_attention


def packed_attention(
    query, key, value, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, *, scale=None
):
    """Attention of (tokens, heads, width), each sequence over its own keys."""
    output = np.zeros((*query.shape[:-1], value.shape[-1]), query.dtype)
    for i in range(len(cu_seqlens_q) - 1):
        queries = slice(cu_seqlens_q[i], cu_seqlens_q[i + 1])
        keys = slice(cu_seqlens_k[i], cu_seqlens_k[i + 1])
        heads = (a.swapaxes(0, 1)[None] for a in (query[queries], key[keys], value[keys]))
        output[queries] = tiled_attention(*heads, scale=scale)[0][0].swapaxes(0, 1)
    return output
