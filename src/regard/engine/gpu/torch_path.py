"""Facts by plain torch operations on chunks of full rows: exact, any mask, any device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch

from regard.engine.call import LOG2_E, Requested
from regard.engine.gpu.call import DeviceCall
from regard.engine.gpu.launch import FactTensors, map_edges, sum_blocks
from regard.engine.pairs import Block
from regard.engine.tensors import Tensor
from regard.engine.tiles.columns import cut
from regard.typing import Array


def listed_on_device(call: DeviceCall, logsumexp_hq: Array, block: Block) -> Tensor:
    """The weights of a block of listed queries and keys, (h, m, a, b), hidden pairs included.

    Equals the host's ``pairs.listed_weights`` before its mask.
    """

    def send(array: Array) -> Tensor:
        return torch.as_tensor(array, device=call.device)

    dtype, group = call.compute_dtype, call.group
    factor = call.scale / call.softcap if call.softcap else call.scale * LOG2_E
    query_hmad = call.query_hqd[:, send(block.rows_ma)].to(dtype) * factor
    # Column -1 means no key; the caller leaves it out of every sum.
    key_gmbd = call.key_gkd[:, send(block.columns_mb).clamp(min=0)].to(dtype)
    shared = (len(key_gmbd), group, *query_hmad.shape[1:])
    t_ghmab = query_hmad.reshape(shared) @ key_gmbd[:, None].transpose(-1, -2)
    t_hmab = t_ghmab.reshape(call.heads, *t_ghmab.shape[2:])
    if call.softcap:
        t_hmab = torch.tanh(t_hmab) * (call.softcap * LOG2_E)
    total_hma = send(logsumexp_hq[:, block.rows_ma]) * LOG2_E
    total_hma = torch.where(total_hma.isfinite(), total_hma, torch.inf).to(dtype)
    weights_hmab: Tensor = torch.exp2((t_hmab - total_hma[..., None]).clamp(max=0))
    return weights_hmab


CHUNK_WEIGHTS = 2**26  # weights in memory at once: 256 MB in float32


def facts_in_chunks(
    call: DeviceCall, requested: Requested, total_hq: Tensor | None = None
) -> FactTensors:
    """Every requested fact, equal to ``textbook.attend``; ``total_hq`` may be of more keys."""
    facts = _allocate(call, requested)
    for heads, rows in _chunks(call):
        scores_hqk = _scores(call, heads, rows)
        facts.note_memory(scores_hqk, scores_hqk, scores_hqk)  # scores, their logs, weights
        block_total_hq = torch.logsumexp(scores_hqk, dim=-1)
        _write(facts.total_hq, heads, rows, block_total_hq)
        final_total_hq = (
            block_total_hq if total_hq is None else total_hq[heads, rows].to(block_total_hq.dtype)
        )
        safe_hq1 = torch.where(final_total_hq > -math.inf, final_total_hq, 0)[..., None]
        log_hqk = scores_hqk - safe_hq1
        weights_hqk = torch.exp(log_hqk)
        _write_rows(call, facts, heads, rows, weights_hqk, log_hqk)
        _add_columns(call, requested, facts, heads, rows, weights_hqk)
    return facts


def _write(fact: Tensor | None, heads: slice, rows: slice, part: Tensor) -> None:
    if fact is not None:  # it was requested
        fact[heads, rows] = part.to(fact.dtype)


def _allocate(call: DeviceCall, requested: Requested) -> FactTensors:
    queries, keys = call.visibility.queries, call.visibility.keys

    def zeros(*shape: int, dtype: torch.dtype = call.compute_dtype) -> Tensor:
        return torch.zeros((call.heads, *shape), dtype=dtype, device=call.device)

    facts = FactTensors(total_hq=zeros(queries))
    if requested.output:
        facts.output_hqv = zeros(queries, call.value_gkv.shape[-1], dtype=call.value_gkv.dtype)
    if requested.entropy:
        facts.entropy_hq = zeros(queries)
    if requested.top:
        facts.weights_hqn = zeros(queries, requested.top)
        facts.keys_hqn = zeros(queries, requested.top, dtype=torch.int64) - 1
    if requested.received or requested.profile:
        facts.received_hk = zeros(keys, dtype=torch.float64)
    if requested.map:
        row_edges, column_edges = map_edges(call, requested)
        facts.map_hrc = zeros(len(row_edges) - 1, len(column_edges) - 1, dtype=torch.float64)
    if requested.profile:
        facts.distance_hn = zeros(max(0, queries + keys - 1), dtype=torch.float64)
    return facts


def _chunks(call: DeviceCall) -> Iterator[tuple[slice, slice]]:
    """Slices of heads and of queries, as many as fit into a chunk."""
    queries, keys = call.visibility.queries, max(1, call.visibility.keys)
    rows = max(1, min(queries, CHUNK_WEIGHTS // keys))
    heads = max(1, min(call.heads, CHUNK_WEIGHTS // (rows * keys)))
    for h in range(0, call.heads, heads):
        for q in range(0, queries, rows):
            yield slice(h, min(h + heads, call.heads)), slice(q, min(q + rows, queries))


def _scores(call: DeviceCall, heads: slice, rows: slice) -> Tensor:
    """Scores of full rows after scale, softcap and mask; -inf where a key is hidden."""
    dtype = call.compute_dtype
    query_hqd = call.query_hqd[heads, rows].to(dtype)
    key_hkd = call.key_gkd[call.key_heads(heads)].to(dtype)
    scores_hqk = _exact_product(query_hqd, key_hkd.transpose(-1, -2)) * call.scale
    if call.softcap:
        scores_hqk = call.softcap * torch.tanh(scores_hqk / call.softcap)
    columns = slice(0, call.visibility.keys)
    visible = call.visibility.visible(heads, rows, columns)
    if call.mask is not None:
        mask_hqk = call.mask_tile(heads, rows, columns)
        if mask_hqk.dtype == torch.bool:
            scores_hqk = scores_hqk.masked_fill(~mask_hqk, -math.inf)
        else:
            scores_hqk = scores_hqk + mask_hqk.to(dtype)
    if visible is not None:
        hidden = torch.as_tensor(~np.asarray(visible), device=call.device)
        scores_hqk = scores_hqk.masked_fill(hidden, -math.inf)
    return scores_hqk


def _exact_product(left: Tensor, right: Tensor) -> Tensor:
    """A product in full float32, whatever the process allows elsewhere (TF32 keeps 10 bits)."""
    allowed = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        return left @ right
    finally:
        torch.set_float32_matmul_precision(allowed)


def _write_rows(
    call: DeviceCall,
    facts: FactTensors,
    heads: slice,
    rows: slice,
    weights_hqk: Tensor,
    log_hqk: Tensor,
) -> None:
    if facts.output_hqv is not None:
        value_hkv = call.value_gkv[call.key_heads(heads)].to(weights_hqk.dtype)
        _write(facts.output_hqv, heads, rows, _exact_product(weights_hqk, value_hkv))
    if facts.entropy_hq is not None:
        parts_hqk = weights_hqk * torch.where(weights_hqk > 0, log_hqk, 0)
        _write(facts.entropy_hq, heads, rows, -parts_hqk.sum(dim=-1))
    if facts.weights_hqn is not None and facts.keys_hqn is not None:
        number = min(facts.weights_hqn.shape[-1], call.visibility.keys)
        best = torch.topk(weights_hqk, number, dim=-1)
        facts.weights_hqn[heads, rows, :number] = best.values
        facts.keys_hqn[heads, rows, :number] = torch.where(best.values > 0, best.indices, -1)


def _add_columns(
    call: DeviceCall,
    requested: Requested,
    facts: FactTensors,
    heads: slice,
    rows: slice,
    weights_hqk: Tensor,
) -> None:
    if facts.received_hk is not None:
        facts.received_hk[heads] += weights_hqk.sum(dim=1, dtype=torch.float64)
    if facts.map_hrc is not None:
        row_edges, column_edges = map_edges(call, requested)
        inside, touched = cut(row_edges, rows)
        sums = [weights_hqk[:, a:b].sum(dim=1, dtype=torch.float64) for a, b in pairwise(inside)]
        facts.map_hrc[heads, touched] += sum_blocks(torch.stack(sums, dim=1), column_edges)
    if facts.distance_hn is not None:
        start = call.visibility.queries - rows.stop
        sums_hn = _by_distance(weights_hqk)
        facts.distance_hn[heads, start : start + sums_hn.shape[-1]] += sums_hn


def _by_distance(weights_hqk: Tensor) -> Tensor:
    """Sums over equal key - query, from the most negative up.

    Reshaping with rows one element longer moves each row by one column: columns are distances then.
    """
    heads, queries, keys = weights_hqk.shape
    padded = torch.nn.functional.pad(weights_hqk.flip(1), (0, queries))
    flat = padded.reshape(heads, queries * (keys + queries))[:, : queries * (keys + queries - 1)]
    skewed = flat.reshape(heads, queries, keys + queries - 1)
    return skewed.sum(dim=1, dtype=torch.float64)
