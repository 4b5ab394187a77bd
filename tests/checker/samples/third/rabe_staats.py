"""Self-attention does not need O(n^2) memory (Rabe & Staats, 2021)."""
import math

import torch


def _summarize_chunk(query, key, value):
    scores = torch.einsum("bqhd,bkhd->bqhk", query, key)
    max_score = scores.amax(dim=-1, keepdim=True).detach()
    exp_weights = torch.exp(scores - max_score)
    exp_values = torch.einsum("bkhf,bqhk->bqhf", value, exp_weights)
    return exp_values, exp_weights.sum(dim=-1), max_score.squeeze(-1)


def chunked_kv_attention(query, key, value, key_chunk_size=4096):
    """query (b, q, h, d), key (b, k, h, d), value (b, k, h, f) -> (b, q, h, f)"""
    query = query / math.sqrt(query.shape[-1])
    pieces = [
        _summarize_chunk(query, k, v)
        for k, v in zip(key.split(key_chunk_size, dim=1), value.split(key_chunk_size, dim=1))
    ]
    chunk_values, chunk_weights, chunk_max = (torch.stack(t) for t in zip(*pieces))

    global_max = chunk_max.amax(dim=0, keepdim=True)
    max_diffs = torch.exp(chunk_max - global_max)
    chunk_values = chunk_values * max_diffs.unsqueeze(-1)
    chunk_weights = chunk_weights * max_diffs

    all_values = chunk_values.sum(dim=0)
    all_weights = chunk_weights.unsqueeze(-1).sum(dim=0)
    return all_values / all_weights
