import torch


def paged_attention(q, key_cache, value_cache, block_tables, context_lens):
    """One query per sequence over keys kept in blocks.

    q: (seqs, heads, d), caches: (blocks, block_size, heads, d),
    block_tables[i] lists the blocks of sequence i in order.
    """
    block_size = key_cache.shape[1]
    out = torch.empty_like(q)
    for i, length in enumerate(context_lens):
        keys, values = [], []
        for pos in range(length):
            block = block_tables[i][pos // block_size]
            keys.append(key_cache[block, pos % block_size])
            values.append(value_cache[block, pos % block_size])
        k, v = torch.stack(keys), torch.stack(values)
        scores = torch.einsum("hd,thd->ht", q[i], k) * q.shape[-1] ** -0.5
        out[i] = torch.einsum("ht,thd->hd", scores.softmax(-1), v)
    return out
