"""Both passes where the tensors lie on a GPU: the same moves, by the device's own attention.

What a visitor's keys add to a row is merged from finished parts, (log-sum-exp, output, entropy,
best keys), as ``regard.merge`` does it; only sums that belong to columns leave the device.
"""

from itertools import pairwise
from typing import Any

import numpy as np
import torch

from regard.engine.gpu.dispatch import compute_facts
from regard.engine.gpu.launch import FactTensors, sum_blocks
from regard.engine.ring.passes import RankColumns
from regard.engine.ring.shares import DeviceShare
from regard.engine.ring.token_layout import Chunk
from regard.engine.ring.transport import Post, around
from regard.engine.tensors import Tensor, as_array
from regard.engine.tiles.columns import cut
from regard.engine.tiles.problem import LOG2_E
from regard.engine.tiles.rows import Requested
from regard.typing import Array


def device_row_pass(share: DeviceShare, requested: Requested, post: Post) -> dict[str, Array]:
    """As row_pass; the facts are moved to the CPU once, at the end."""
    call: Any = share.problem
    asked = Requested(requested.output, requested.entropy, requested.top)
    rows = {x.here.start: DeviceRows(call, x, asked) for x in share.chunks}

    def work(visitor: int, tensors: list[Any]) -> None:
        key_gkd, value_gkv = (tensor.to(call.device) for tensor in tensors)
        for chunk, columns in share.meetings(share.rank, visitor):
            part = share.part(chunk, columns, call.query_hqd, key_gkd, value_gkv)
            rows[chunk.here.start].take(compute_facts(part, asked, None)[0], columns.there.start)

    around(share, post, [call.key_gkd, call.value_gkv], share.keys, work)
    return _joined(call, asked, list(rows.values()))


class DeviceRows:
    """What is known of one chunk of queries so far, on the device."""

    def __init__(self, call: Any, chunk: Chunk, requested: Requested) -> None:
        shape = (call.heads, chunk.here.stop - chunk.here.start)
        blank = torch.zeros(shape, dtype=call.compute_dtype, device=call.device)
        self.requested = requested
        self.total_hq = torch.full_like(blank, -torch.inf, dtype=torch.float64)
        self.output_hqv = blank.new_zeros((*shape, call.value_gkv.shape[-1]))
        self.entropy_hq = blank
        self.weights_hqn = blank.new_zeros((*shape, requested.top))
        self.keys_hqn = torch.full_like(self.weights_hqn, -1, dtype=torch.int64)

    def take(self, found: FactTensors, first: int) -> None:
        """Merge a part over further keys, of which the first stands at this position."""
        part_hq: Any = found.total_hq
        total_hq = torch.logaddexp(self.total_hq, part_hq.double())
        old_hq, new_hq = (_share(x, total_hq) for x in (self.total_hq, part_hq.double()))
        self.total_hq = total_hq
        old, new = (x.to(self.entropy_hq.dtype) for x in (old_hq, new_hq))
        if found.output_hqv is not None:
            self.output_hqv = old[..., None] * self.output_hqv + new[..., None] * found.output_hqv
        if found.entropy_hq is not None:
            self.entropy_hq = _mixed(old, self.entropy_hq) + _mixed(new, found.entropy_hq)
        if found.weights_hqn is not None and found.keys_hqn is not None:
            keys_hqn = torch.where(found.keys_hqn >= 0, found.keys_hqn + first, -1)
            weights = old[..., None] * self.weights_hqn, new[..., None] * found.weights_hqn
            best = torch.cat(weights, dim=-1).topk(self.requested.top, dim=-1)
            keys = torch.cat((self.keys_hqn, keys_hqn), dim=-1).gather(-1, best.indices)
            self.weights_hqn, self.keys_hqn = best.values, torch.where(best.values > 0, keys, -1)


def _share(part_hq: Tensor, total_hq: Tensor) -> Tensor:
    """How much of each row's weight lies in a part; 0 where nothing was seen at all."""
    seen = part_hq > -torch.inf
    return torch.where(seen, torch.exp(part_hq - torch.where(seen, total_hq, 0)), 0)


def _mixed(share_hq: Tensor, entropy_hq: Tensor) -> Tensor:
    """A part's entropy, and what choosing that part adds."""
    return share_hq * (entropy_hq - torch.log(torch.where(share_hq > 0, share_hq, 1)))


def _joined(call: Any, requested: Requested, rows: list[DeviceRows]) -> dict[str, Array]:
    def whole(name: str) -> Any:
        parts = [getattr(row, name) for row in rows]
        return torch.cat(parts, dim=1) if parts else getattr(_no_rows(call, requested), name)

    facts = {"log2_total": as_array(whole("total_hq")) * LOG2_E}
    if requested.output:
        facts["output"] = whole("output_hqv").to(call.value_gkv.dtype)
    if requested.entropy:
        facts["entropy"] = as_array(whole("entropy_hq")).clip(0)
    if requested.top:
        facts["top_weights"] = as_array(whole("weights_hqn"))
        facts["top_keys"] = as_array(whole("keys_hqn"))
    return facts


def _no_rows(call: Any, requested: Requested) -> DeviceRows:
    return DeviceRows(call, Chunk(slice(0, 0), slice(0, 0)), requested)


def device_column_pass(
    share: DeviceShare, requested: Requested, log2_total_hq: Array, post: Post
) -> RankColumns:
    """As column_pass."""
    call: Any = share.problem
    columns = RankColumns(share, requested)
    total_hq = torch.as_tensor(log2_total_hq / LOG2_E, device=call.device)

    def work(visitor: int, tensors: list[Any]) -> None:
        query_hqd, known_hq = (tensor.to(call.device) for tensor in tensors)
        found = [
            _take(columns, *chunks, query_hqd, known_hq)
            for chunks in share.meetings(visitor, share.rank)
        ]
        if columns.distances is not None:
            columns.distances.hand_out(post, visitor, found)

    around(share, post, [call.query_hqd, total_hq], share.queries, work)
    if columns.distances is not None:
        columns.distances.all_here(post)
    return columns


def _take(
    columns: RankColumns, rows: Chunk, held: Chunk, query_hqd: Tensor, total_hq: Tensor
) -> Array | None:
    """Add one chunk of queries, cut where the blocks of the map end."""
    share: Any = columns.share
    call, requested = share.problem, columns.requested
    row_edges, blocks = cut(columns.edges[0], rows.there)
    column_edges, places = cut(columns.edges[1], held.there)
    if columns.map_hrc is None:
        row_edges, blocks = np.array([0, rows.here.stop - rows.here.start]), slice(0, 1)
    asked = Requested(output=False, received=True, profile=requested.profile)
    span = rows.here.stop - rows.here.start + held.here.stop - held.here.start - 1
    distance_hn = np.zeros((call.heads, span)) if requested.profile else None
    for block, (start, stop) in zip(
        range(blocks.start, blocks.stop), pairwise(row_edges), strict=True
    ):
        some = Chunk(*(slice(x.start + start, x.start + stop) for x in (rows.here, rows.there)))
        part = share.part(some, held, query_hqd, call.key_gkd, share.without_value())
        found, _ = compute_facts(part, asked, total_hq[:, some.here])
        received_hk: Any = found.received_hk
        columns.received_hk[:, held.here] += as_array(received_hk).astype(np.float64)
        if columns.map_hrc is not None:
            row_hc = sum_blocks(received_hk[:, None].double(), column_edges)[:, 0]
            columns.map_hrc[:, block, places] += as_array(row_hc)
        if distance_hn is not None:
            weight_hn = as_array(found.distance_hn).astype(np.float64)
            first = rows.here.stop - rows.here.start - int(stop)
            distance_hn[:, first : first + weight_hn.shape[1]] += weight_hn
    return distance_hn
