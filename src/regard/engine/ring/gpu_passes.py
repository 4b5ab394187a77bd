"""Passes of a ring on a GPU, by the device's own attention.

The facts of a row over each rank's keys (log-sum-exp, output, entropy, best keys) are merged as
``regard.merge`` does it; only sums over columns are copied to the host at every step.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from regard.engine.call import LOG2_E, Requested
from regard.engine.gpu.dispatch import compute_facts
from regard.engine.gpu.launch import FactTensors, sum_blocks
from regard.engine.ring.layout import Chunk
from regard.engine.ring.passes import RankColumns
from regard.engine.ring.rank_slice import DeviceRankSlice, RankSlice
from regard.engine.ring.transport import Transport, ring_pass
from regard.engine.tensors import Tensor, as_array
from regard.engine.tiles.columns import cut
from regard.typing import Array


def device_row_pass(
    rank_slice: DeviceRankSlice, requested: Requested, transport: Transport
) -> dict[str, Array]:
    """As row_pass; the facts are copied to the host once, at the end."""
    call: Any = rank_slice.problem
    step_request = Requested(requested.output, requested.entropy, requested.top)
    rows = {x.local.start: DeviceRows(call, x, step_request) for x in rank_slice.chunks}

    def visit(source: int, tensors: list[Any]) -> None:
        key_gkd, value_gkv = (tensor.to(call.device) for tensor in tensors)
        for chunk, columns in rank_slice.visible_chunks(rank_slice.rank, source):
            part = rank_slice.subproblem(chunk, columns, call.query_hqd, key_gkd, value_gkv)
            facts, _ = compute_facts(part, step_request, None)
            rows[chunk.local.start].merge(facts, columns.sequence.start)

    ring_pass(rank_slice, transport, [call.key_gkd, call.value_gkv], rank_slice.keys, visit)
    return _join_rows(call, step_request, list(rows.values()))


class DeviceRows:
    """Facts of one chunk of queries over the keys of the ranks so far, on the device."""

    def __init__(self, call: Any, chunk: Chunk, requested: Requested) -> None:
        shape = (call.heads, chunk.local.stop - chunk.local.start)
        blank = torch.zeros(shape, dtype=call.compute_dtype, device=call.device)
        self.requested = requested
        self.total_hq = torch.full_like(blank, -torch.inf, dtype=torch.float64)
        self.output_hqv = blank.new_zeros((*shape, call.value_gkv.shape[-1]))
        self.entropy_hq = blank
        self.weights_hqn = blank.new_zeros((*shape, requested.top))
        self.keys_hqn = torch.full_like(self.weights_hqn, -1, dtype=torch.int64)

    def merge(self, part: FactTensors, first: int) -> None:
        """Merge the facts over further keys; ``first`` is the position of the first of them."""
        part_hq: Any = part.total_hq
        total_hq = torch.logaddexp(self.total_hq, part_hq.double())
        old_hq, new_hq = (_weight_share(x, total_hq) for x in (self.total_hq, part_hq.double()))
        self.total_hq = total_hq
        old, new = (x.to(self.entropy_hq.dtype) for x in (old_hq, new_hq))
        if part.output_hqv is not None:
            self.output_hqv = old[..., None] * self.output_hqv + new[..., None] * part.output_hqv
        if part.entropy_hq is not None:
            self.entropy_hq = _entropy_part(old, self.entropy_hq) + _entropy_part(
                new, part.entropy_hq
            )
        if part.weights_hqn is not None and part.keys_hqn is not None:
            keys_hqn = torch.where(part.keys_hqn >= 0, part.keys_hqn + first, -1)
            weights = old[..., None] * self.weights_hqn, new[..., None] * part.weights_hqn
            best = torch.cat(weights, dim=-1).topk(self.requested.top, dim=-1)
            keys = torch.cat((self.keys_hqn, keys_hqn), dim=-1).gather(-1, best.indices)
            self.weights_hqn, self.keys_hqn = best.values, torch.where(best.values > 0, keys, -1)


def _weight_share(part_hq: Tensor, total_hq: Tensor) -> Tensor:
    """The share of each row's weight in a part; 0 where nothing is visible."""
    live = part_hq > -torch.inf
    return torch.where(live, torch.exp(part_hq - torch.where(live, total_hq, 0)), 0)


def _entropy_part(share_hq: Tensor, entropy_hq: Tensor) -> Tensor:
    """A part's contribution to the entropy: its own, and that of choosing the part."""
    return share_hq * (entropy_hq - torch.log(torch.where(share_hq > 0, share_hq, 1)))


def _join_rows(call: Any, requested: Requested, rows: list[DeviceRows]) -> dict[str, Array]:
    rows = rows or [DeviceRows(call, Chunk(slice(0, 0), slice(0, 0)), requested)]

    def joined(name: str) -> Any:
        return torch.cat([getattr(row, name) for row in rows], dim=1)

    facts = {"log2_total": as_array(joined("total_hq")) * LOG2_E}
    if requested.output:
        facts["output"] = joined("output_hqv").to(call.value_gkv.dtype)
    if requested.entropy:
        facts["entropy"] = as_array(joined("entropy_hq")).clip(0)
    if requested.top:
        facts["top_weights"] = as_array(joined("weights_hqn"))
        facts["top_keys"] = as_array(joined("keys_hqn"))
    return facts


def natural_total(rank_slice: RankSlice, log2_total_hq: Array) -> Tensor:
    """A natural log-sum-exp on the device, from one in base 2."""
    call: Any = rank_slice.problem
    return torch.as_tensor(log2_total_hq / LOG2_E, device=call.device)


class DeviceColumns(RankColumns):
    """As RankColumns, of a DeviceRankSlice; sums are copied to the host at every step."""

    def arrived(self, array: Any) -> Any:
        call: Any = self.rank_slice.problem
        return array.to(call.device)

    def add(self, rows: Chunk, columns: Chunk, *arrays: Any) -> Array | None:
        """Add one chunk of queries for one chunk of keys, cut at the edges of the map's blocks."""
        rank_slice: Any = self.rank_slice
        call, requested = rank_slice.problem, self.requested
        query_hqd, total_hq = arrays
        row_edges, blocks = cut(self.edges[0], rows.sequence)
        column_edges, column_blocks = cut(self.edges[1], columns.sequence)
        queries = rows.local.stop - rows.local.start
        if self.map_hrc is None:
            row_edges, blocks = np.array([0, queries]), slice(0, 1)
        step_request = Requested(output=False, received=True, profile=requested.profile)
        span = queries + columns.local.stop - columns.local.start - 1
        distance_hn = np.zeros((call.heads, span)) if requested.profile else None
        for block, (start, stop) in zip(
            range(blocks.start, blocks.stop), pairwise(row_edges), strict=True
        ):
            both = rows.local, rows.sequence
            some = Chunk(*(slice(x.start + start, x.start + stop) for x in both))
            part = rank_slice.subproblem(
                some, columns, query_hqd, call.key_gkd, rank_slice.empty_value()
            )
            facts, _ = compute_facts(part, step_request, total_hq[:, some.local])
            received_hk: Any = facts.received_hk
            self.received_hk[:, columns.local] += as_array(received_hk).astype(np.float64)
            if self.map_hrc is not None:
                row_hc = sum_blocks(received_hk[:, None].double(), column_edges)[:, 0]
                self.map_hrc[:, block, column_blocks] += as_array(row_hc)
            if distance_hn is not None:
                weight_hn = as_array(facts.distance_hn).astype(np.float64)
                first = queries - int(stop)
                distance_hn[:, first : first + weight_hn.shape[1]] += weight_hn
        return distance_hn
