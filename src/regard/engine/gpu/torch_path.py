"""Every statistic by plain torch operations on chunks of full rows: exact, any mask, any device."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from regard.engine.gpu.call import DeviceCall
from regard.engine.gpu.launch import Found, edges, sum_blocks
from regard.engine.pairs import Block
from regard.engine.tensors import Tensor
from regard.engine.tiles.columns import cut
from regard.engine.tiles.problem import LOG2_E
from regard.engine.tiles.rows import Requested
from regard.typing import Array


def listed_on_device(call: DeviceCall, logsumexp_hq: Array, block: Block) -> Tensor:
    """As pairs._weights: (h, m, a, b); whether one may look there is not asked."""

    def there(array: Array) -> Any:
        return torch.as_tensor(array, device=call.device)

    dtype, group = call.compute_dtype, call.group
    factor = call.scale / call.softcap if call.softcap else call.scale * LOG2_E
    query_hmad = call.query_hqd[:, there(block.rows_ma)].to(dtype) * factor
    # A place that is -1 stands for no key; whoever lists it leaves it out of every sum.
    key_gmbd = call.key_gkd[:, there(block.columns_mb).clamp(min=0)].to(dtype)
    shared = (len(key_gmbd), group, *query_hmad.shape[1:])
    t_ghmab = query_hmad.reshape(shared) @ key_gmbd[:, None].transpose(-1, -2)
    t_hmab = t_ghmab.reshape(call.heads, *t_ghmab.shape[2:])
    if call.softcap:
        t_hmab = torch.tanh(t_hmab) * (call.softcap * LOG2_E)
    known_hma = there(logsumexp_hq[:, block.rows_ma]) * LOG2_E
    known_hma = torch.where(known_hma.isfinite(), known_hma, torch.inf).to(dtype)
    weights_hmab: Tensor = torch.exp2((t_hmab - known_hma[..., None]).clamp(max=0))
    return weights_hmab


CHUNK = 2**26  # weights held at once: 256 MB in float32


def find_in_chunks(call: DeviceCall, requested: Requested, total_hq: Tensor | None = None) -> Found:
    """Every fact asked for, equal to ``steps``; a log-sum-exp given is that of more keys."""
    found = _blank(call, requested)
    for heads, rows in _chunks(call):
        scores_hqk = _scores(call, heads, rows)
        found.hold(scores_hqk, scores_hqk, scores_hqk)  # scores, their logs, weights
        own_hq = torch.logsumexp(scores_hqk, dim=-1)
        put(found.total_hq, heads, rows, own_hq)
        given_hq = own_hq if total_hq is None else total_hq[heads, rows].to(own_hq.dtype)
        safe_hq1 = torch.where(given_hq > -math.inf, given_hq, 0)[..., None]
        log_hqk = scores_hqk - safe_hq1
        weights_hqk = torch.exp(log_hqk)
        _put_rows(call, found, heads, rows, weights_hqk, log_hqk)
        _add_columns(call, requested, found, heads, rows, weights_hqk)
    return found


def put(whole: Tensor | None, heads: slice, rows: slice, part: Tensor) -> None:
    """Write a part to its place, if it was asked for."""
    if whole is not None:
        whole[heads, rows] = part.to(whole.dtype)


def _blank(call: DeviceCall, requested: Requested) -> Found:
    queries, keys = call.visibility.queries, call.visibility.keys

    def zeros(*shape: int, dtype: torch.dtype = call.compute_dtype) -> Tensor:
        return torch.zeros((call.heads, *shape), dtype=dtype, device=call.device)

    found = Found(total_hq=zeros(queries))
    if requested.output:
        found.output_hqv = zeros(queries, call.value_gkv.shape[-1], dtype=call.value_gkv.dtype)
    if requested.entropy:
        found.entropy_hq = zeros(queries)
    if requested.top:
        found.weights_hqn = zeros(queries, requested.top)
        found.keys_hqn = zeros(queries, requested.top, dtype=torch.int64) - 1
    if requested.received or requested.profile:
        found.received_hk = zeros(keys, dtype=torch.float64)
    if requested.map:
        row_edges, column_edges = edges(call, requested)
        found.map_hrc = zeros(len(row_edges) - 1, len(column_edges) - 1, dtype=torch.float64)
    if requested.profile:
        found.distance_hn = zeros(max(0, queries + keys - 1), dtype=torch.float64)
    return found


def _chunks(call: DeviceCall) -> Iterator[tuple[slice, slice]]:
    """Some heads, some queries: as many as fit."""
    queries, keys = call.visibility.queries, max(1, call.visibility.keys)
    rows = max(1, min(queries, CHUNK // keys))
    heads = max(1, min(call.heads, CHUNK // (rows * keys)))
    for h in range(0, call.heads, heads):
        for q in range(0, queries, rows):
            yield slice(h, min(h + heads, call.heads)), slice(q, min(q + rows, queries))


def _scores(call: DeviceCall, heads: slice, rows: slice) -> Tensor:
    """Scores of full rows after scale, softcap and mask; -inf where one may not look."""
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


def _put_rows(
    call: DeviceCall, found: Found, heads: slice, rows: slice, weights_hqk: Tensor, log_hqk: Tensor
) -> None:
    if found.output_hqv is not None:
        value_hkv = call.value_gkv[call.key_heads(heads)].to(weights_hqk.dtype)
        put(found.output_hqv, heads, rows, _exact_product(weights_hqk, value_hkv))
    if found.entropy_hq is not None:
        parts_hqk = weights_hqk * torch.where(weights_hqk > 0, log_hqk, 0)
        put(found.entropy_hq, heads, rows, -parts_hqk.sum(dim=-1))
    if found.weights_hqn is not None and found.keys_hqn is not None:
        number = min(found.weights_hqn.shape[-1], call.visibility.keys)
        best = torch.topk(weights_hqk, number, dim=-1)
        found.weights_hqn[heads, rows, :number] = best.values
        found.keys_hqn[heads, rows, :number] = torch.where(best.values > 0, best.indices, -1)


def _add_columns(
    call: DeviceCall,
    requested: Requested,
    found: Found,
    heads: slice,
    rows: slice,
    weights_hqk: Tensor,
) -> None:
    if found.received_hk is not None:
        found.received_hk[heads] += weights_hqk.sum(dim=1, dtype=torch.float64)
    if found.map_hrc is not None:
        row_edges, column_edges = edges(call, requested)
        inside, touched = cut(row_edges, rows)
        sums = [weights_hqk[:, a:b].sum(dim=1, dtype=torch.float64) for a, b in pairwise(inside)]
        found.map_hrc[heads, touched] += sum_blocks(torch.stack(sums, dim=1), column_edges)
    if found.distance_hn is not None:
        start = call.visibility.queries - rows.stop
        sums_hn = _by_distance(weights_hqk)
        found.distance_hn[heads, start : start + sums_hn.shape[-1]] += sums_hn


def _by_distance(weights_hqk: Tensor) -> Tensor:
    """Sums over equal key - query, from the most negative up.

    Rows written one column apart, a matter of reshaping: then columns are distances.
    """
    heads, queries, keys = weights_hqk.shape
    padded = torch.nn.functional.pad(weights_hqk.flip(1), (0, queries))
    flat = padded.reshape(heads, queries * (keys + queries))[:, : queries * (keys + queries - 1)]
    skewed = flat.reshape(heads, queries, keys + queries - 1)
    return skewed.sum(dim=1, dtype=torch.float64)
