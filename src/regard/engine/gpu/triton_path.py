"""Facts by kernels: the forward pass, then one pass for each kind of fact that was requested."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from regard.engine.call import Requested
from regard.engine.gpu.call import DeviceCall
from regard.engine.gpu.hopper import (
    HopperCall,
    best_keys_on_hopper,
    reasons_against_hopper,
    sum_columns_on_hopper,
    sum_distances_on_hopper,
)
from regard.engine.gpu.kernels.best_keys import (
    SCORE_BITS,
    BestKeys,
    Candidates,
    Rechecks,
    candidates_kernel,
    recheck_kernel,
    refine_kernel,
)
from regard.engine.gpu.kernels.sums import (
    Strides,
    TokenOrder,
    columns_kernel,
    distances_kernel,
    repeats_kernel,
    rows_kernel,
)
from regard.engine.gpu.kernels.tile import Inputs
from regard.engine.gpu.launch import (
    UNBOUNDED,
    CommonArguments,
    FactTensors,
    join_distances,
    map_edges,
    padded_width,
    sum_blocks,
    with_dense_rows,
)
from regard.engine.tensors import Tensor, send


def facts_by_kernels(
    call: DeviceCall, requested: Requested, external_total_hq: Tensor | None, put_off: bool = False
) -> FactTensors:
    """Every requested fact, equal to ``textbook.attend`` on the numbers as they are.

    ``external_total_hq`` is a log-sum-exp that may belong to more keys than the call's. With
    ``put_off`` best keys and distances are left to ``run_remaining``.
    """
    with device_context(call):
        facts = _facts(CommonArguments(call), requested, external_total_hq)
        if not put_off:
            facts.run_remaining()
    return facts


def device_context(call: DeviceCall) -> contextlib.AbstractContextManager[Any]:
    """The call's device as torch's current one."""
    context: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()
    device = call.device
    if device.type == "cuda" and torch.cuda.current_device() != (device.index or 0):
        context = torch.cuda.device(device)
    return context


def _facts(
    common: CommonArguments, requested: Requested, external_total_hq: Tensor | None
) -> FactTensors:
    on_hopper = not reasons_against_hopper(common)
    if external_total_hq is not None and on_hopper and requested.column_facts:
        facts = FactTensors()  # every weight follows from the caller's log-sum-exp: no forward pass
    elif (
        cudnn_serves(common) and external_total_hq is None and (on_hopper or not requested.entropy)
    ):
        facts = forward_by_cudnn(common)
    else:
        facts = forward(common, requested, external_total_hq)
    total_hq = facts.total_hq if external_total_hq is None else external_total_hq
    assert total_hq is not None
    if on_hopper:
        _add_by_hopper(common, requested, facts, total_hq)
    _add_missing(common, requested, facts, total_hq, on_hopper)
    if not requested.entropy:
        facts.entropy_hq = None
    return facts


def cudnn_serves(common: CommonArguments) -> bool:
    """Whether cuDNN's attention computes this call: 16 bits, all keys or a plain causal mask."""
    call = common.call
    available = call.device.type == "cuda" and torch.backends.cudnn.is_available()
    if not (available and common.is_16_bit):
        return False
    widths = common.width == common.value_gkv.shape[-1] and common.width in (64, 128)
    plain = call.visibility.lengths_h is None and call.softcap is None and common.left == UNBOUNDED
    square = common.right == 0 and common.queries == common.keys
    return widths and plain and (square or common.right == UNBOUNDED) and common.queries > 1


@cache
def cudnn_attention() -> Callable[..., Any]:
    """cuDNN's attention by the binding with the least overhead that this torch has."""
    name = "_scaled_dot_product_cudnn_attention"
    operator: Callable[..., Any] = getattr(torch, name, None) or getattr(torch.ops.aten, name)
    return operator


def forward_by_cudnn(common: CommonArguments) -> FactTensors:
    """Output and natural log-sum-exp in float32, from the fastest kernel that torch has."""
    query, key, value = common.query_hqd, common.key_gkd, common.value_gkv
    if common.group > 1:
        key, value = (t.repeat_interleave(common.group, dim=0) for t in (key, value))
    results = cudnn_attention()(
        query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0), None, True, 0.0,
        common.right == 0, False, scale=common.call.scale,
    )  # fmt: skip
    total_hq = results[1].reshape(common.heads, common.queries)
    return FactTensors(total_hq=total_hq, output_hqv=results[0][0])


def forward(
    common: CommonArguments, requested: Requested, external_total_hq: Tensor | None
) -> FactTensors:
    """Output, log-sum-exp in float64, and entropy, by rows_kernel: any mask that is a band."""
    width = int(common.value_gkv.shape[-1])
    total_hq = common.empty(common.queries, dtype=torch.float64)
    entropy_hq = common.empty(common.queries)
    output_hqv = common.empty(common.queries, width, dtype=common.value_gkv.dtype)
    block = 64 if common.padded <= 128 else 32
    rows_kernel[(triton.cdiv(common.queries, block), common.heads)](
        common.inputs, common.value_gkv, output_hqv, total_hq, entropy_hq, common.scalars,
        common.constants, VALUE_WIDTH=width, V=padded_width(width),
        OUTPUT=requested.output and width > 0, BQ=block, BK=block,
    )  # fmt: skip
    facts = FactTensors(total_hq=total_hq, output_hqv=output_hqv if requested.output else None)
    if requested.entropy:
        facts.entropy_hq = entropy_hq
        if external_total_hq is not None:
            facts.entropy_hq = _entropy_share(total_hq, entropy_hq, external_total_hq)
    return facts


def _entropy_share(total_hq: Tensor, entropy_hq: Tensor, external_total_hq: Tensor) -> Tensor:
    """This part's share of an entropy over more keys: its own, and how far its sum lies below."""
    live_hq = total_hq > -torch.inf
    below_hq = torch.where(live_hq, external_total_hq - total_hq, 0).float()
    return torch.where(live_hq, torch.exp(-below_hq) * (entropy_hq + below_hq), 0)


def _add_by_hopper(
    common: CommonArguments, requested: Requested, facts: FactTensors, total_hq: Tensor
) -> None:
    """The facts that the kernels for Hopper compute; _add_missing does the rest."""
    lacks_entropy = requested.entropy and facts.entropy_hq is None
    if not (requested.column_facts or requested.top or requested.profile or lacks_entropy):
        return
    hopper = HopperCall(common, live=common.call.all_live)
    threshold_hq = sum_columns_on_hopper(hopper, requested, facts, total_hq)
    if threshold_hq is not None:
        best = partial(best_keys_on_hopper, hopper, threshold_hq=threshold_hq, top=requested.top)
        facts.remaining.append(best)
    if requested.profile:
        facts.remaining.append(partial(_add_distances, partial(sum_distances_on_hopper, hopper)))


def _add_distances(sum_them: Callable[[], Tensor], facts: FactTensors) -> None:
    facts.distance_hn = sum_them()


def _add_missing(
    common: CommonArguments,
    requested: Requested,
    facts: FactTensors,
    total_hq: Tensor,
    on_hopper: bool,
) -> None:
    """Requested facts that Hopper's kernels do not give, by kernels for any GPU and any band."""
    lacks_columns = requested.column_facts and facts.received_hk is None
    lacks_columns |= bool(requested.map) and facts.map_hrc is None
    lacks_best = bool(requested.top) and not on_hopper
    lacks_distances = requested.profile and not on_hopper
    if not (lacks_columns or lacks_best or lacks_distances):
        return
    finite_hq = _finite(total_hq)
    if lacks_columns:
        sum_columns(common, requested, facts, finite_hq)
    if lacks_best:
        best = partial(best_keys, common, total_hq=finite_hq, top=requested.top)
        facts.remaining.append(best)
    if lacks_distances:
        distances = partial(sum_distances, common, finite_hq)
        facts.remaining.append(partial(_add_distances, distances))


def _finite(total_hq: Tensor) -> Tensor:
    """The log-sum-exp in float64, 0 for queries that see nothing: all their keys are hidden."""
    return torch.where(total_hq > -torch.inf, total_hq, 0).double().contiguous()


MAX_FOLDED_SUMS = 2**28  # sums by block of queries and key in memory at once: 1 GB


def sum_columns(
    common: CommonArguments, requested: Requested, facts: FactTensors, total_hq: Tensor
) -> None:
    """Attention received, and the map; some heads at a time where the map's rows are long."""
    row_edges, column_edges = map_edges(common.call, requested)
    rows = len(row_edges) - 1
    width = common.keys if requested.map else 0
    facts.received_hk = common.empty(common.keys)
    if requested.map:
        facts.map_hrc = common.empty(rows, len(column_edges) - 1)
    heads_at_once = max(1, min(common.heads, MAX_FOLDED_SUMS // max(1, rows * width)))
    for first in range(0, common.heads, heads_at_once):
        heads = slice(first, min(first + heads_at_once, common.heads))
        folded_hrk = torch.zeros((heads.stop - first, rows, width), device=common.call.device)
        _launch_columns(common, first, max(1, int(row_edges[1])), total_hq, facts, folded_hrk)
        facts.note_memory(folded_hrk)
        if facts.map_hrc is not None:
            facts.map_hrc[heads] = sum_blocks(folded_hrk, column_edges)


def _launch_columns(
    common: CommonArguments,
    first_head: int,
    rows_per_block: int,
    total_hq: Tensor,
    facts: FactTensors,
    folded_hrk: Tensor,
) -> None:
    heads, _, width = folded_hrk.shape
    block = 64 if common.padded <= 128 else 32
    columns_kernel[(triton.cdiv(common.keys, block), heads)](
        common.inputs, total_hq, facts.received_hk, folded_hrk, common.scalars, first_head,
        rows_per_block, common.constants, MAP=width > 0, BQ=block, BK=block,
    )  # fmt: skip


REFINED_ROWS_PER_PROGRAM = 4  # queries of a program that refines candidates
MAX_RECHECK_PROGRAMS = 8192  # that share the rows to recheck


@dataclass(frozen=True)
class CandidateLists:
    """Lists of candidate pairs of each query, and the sizes they were made with."""

    tensors: Candidates
    queries: int
    top: int
    block: int

    @classmethod
    def allocate(cls, common: CommonArguments, top: int, block: int) -> CandidateLists:
        """Uninitialised lists: 4 of 8 candidates, or of 16 for more than 8 best keys."""
        queries, count = common.queries, 64 if top > 8 else 32
        tensors = Candidates(
            common.empty(queries, count),
            common.empty(queries, count, dtype=torch.int32),
            common.empty(queries, 4),
        )
        return cls(tensors, queries, top, block)


def best_keys(common: CommonArguments, facts: FactTensors, total_hq: Tensor, top: int) -> None:
    """The best ``top`` keys of each query, for any band."""
    wide = common.padded > 128 or not common.is_16_bit
    rows, columns = (64, 64) if wide else (128, 128)
    lists = CandidateLists.allocate(common, top, columns)
    candidates_kernel[(triton.cdiv(common.queries, rows), common.heads)](
        common.inputs, total_hq, lists.tensors, common.scalars, SCORE_BITS, common.constants,
        DEEP=top > 8, BQ=rows, BK=columns, STAGES=2, num_warps=4 if wide else 8,
    )  # fmt: skip
    refine_candidates(common, facts, total_hq, lists)


def refine_candidates(
    common: CommonArguments, facts: FactTensors, total_hq: Tensor, lists: CandidateLists
) -> None:
    """The best keys from lists of candidates; rows whose lists may lack a key are rechecked."""
    top, deep = lists.top, lists.top > 8
    facts.note_memory(*lists.tensors)
    facts.weights_hqn = common.empty(common.queries, top)
    facts.keys_hqn = common.empty(common.queries, top, dtype=torch.int64)
    best = BestKeys(facts.weights_hqn, facts.keys_hqn)
    rows_hq = common.empty(common.queries, dtype=torch.int64)
    rechecks = Rechecks(rows_hq, torch.zeros(1, dtype=torch.int32, device=rows_hq.device))
    refine_kernel[(triton.cdiv(common.queries, REFINED_ROWS_PER_PROGRAM), common.heads)](
        common.inputs, total_hq, lists.tensors, best, rechecks, common.scalars, lists.queries,
        common.constants, COUNT=64 if deep else 32, TOP=top, PAIRS=16 if deep else 8,
        BK=lists.block, ROWS=REFINED_ROWS_PER_PROGRAM, CHUNK=min(32, common.padded), num_warps=1,
    )  # fmt: skip
    recheck_kernel[(min(MAX_RECHECK_PROGRAMS, rows_hq.numel()),)](
        common.inputs, total_hq, best, rechecks, common.scalars, common.constants, TOP=top,
        PAIRS=16 if deep else 8, BK=lists.block, CHUNK=min(64, common.padded), num_warps=1,
    )  # fmt: skip


DIAGONAL_SEGMENTS = 8  # into which a diagonal is cut


def sum_distances(common: CommonArguments, total_hq: Tensor) -> Tensor:
    """Weights summed by key - query, ascending, (h, queries + keys - 1)."""
    block = 128 if common.padded <= 128 and common.is_16_bit else 64
    row_blocks, column_blocks = triton.cdiv(common.queries, block), triton.cdiv(common.keys, block)
    highest, number = row_blocks - 1, row_blocks + column_blocks - 1
    tiles = max(16, triton.cdiv(row_blocks, DIAGONAL_SEGMENTS))
    segments = triton.cdiv(row_blocks, tiles)
    partial_hsn = common.empty(segments, number, 2 * block)
    distances_kernel[(number, segments, common.heads)](
        common.inputs, total_hq, partial_hsn, common.scalars, highest, tiles, common.constants,
        B=block, num_warps=8,
    )  # fmt: skip
    return join_distances(partial_hsn, highest, common.queries, common.keys)


REPEAT_TILE_QUERIES = 16  # of a tile: most tokens occur few times


def repeats_on_device(call: DeviceCall, total_hq: Tensor, tokens_k: NDArray[np.int64]) -> Tensor:
    """Sums of ``heads.repeats`` on the device: weight, uniform attention's, queries, (h, 2, 3)."""
    visibility = call.visibility
    order = _token_order(tokens_k.tobytes(), visibility.queries, visibility.offset, call.device)
    listed = len(order.rows_i)
    if not listed:
        return torch.zeros((call.heads, 2, 3), dtype=torch.float64, device=call.device)
    common = CommonArguments(call)
    query_hqd, key_gkd = (with_dense_rows(tensor) for tensor in (call.query_hqd, call.key_gkd))
    strides = Strides(*query_hqd.stride()[:2], *key_gkd.stride()[:2])
    keys, warps = (32, 4) if common.is_16_bit else (16, 8)  # no registers spill with these
    blocks = triton.cdiv(listed, REPEAT_TILE_QUERIES)
    partial_h23b = common.empty(2, 3, blocks, dtype=torch.float64)
    inputs = Inputs(query_hqd, key_gkd, common.lengths_h)
    repeats_kernel[(blocks, common.heads, 2)](
        inputs, total_hq.contiguous(), order, partial_h23b, strides, common.scalars, listed,
        visibility.offset, common.constants, BQ=REPEAT_TILE_QUERIES, BK=keys, num_warps=warps,
    )  # fmt: skip
    return partial_h23b.sum(dim=-1)


@lru_cache(maxsize=4)
def _token_order(tokens: bytes, queries: int, offset: int, device: torch.device) -> TokenOrder:
    """The same for all layers of a model, so made and sent once."""
    tokens_k = np.frombuffer(tokens, np.int64)
    positions_k = np.argsort(tokens_k, kind="stable")
    _, begins_t, sizes_t = np.unique(tokens_k[positions_k], return_index=True, return_counts=True)
    token_k = np.repeat(np.arange(len(sizes_t)), sizes_t)
    rows_k = positions_k - offset
    listed = (rows_k >= 0) & (rows_k < queries) & (sizes_t[token_k] > 1)
    begins_i, sizes_i = begins_t[token_k[listed]], sizes_t[token_k[listed]]
    arrays = rows_k[listed], begins_i, begins_i + sizes_i, positions_k
    return TokenOrder(*(send(array.astype(np.int32), device) for array in arrays))
