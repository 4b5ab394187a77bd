"""Facts by kernels: the forward pass, then one pass for each kind of fact that was requested."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
import triton

from regard.engine.gpu.call import DeviceCall
from regard.engine.gpu.hopper import (
    HopperCall,
    best_keys_on_hopper,
    reasons_against_hopper,
    sum_distances_on_hopper,
)
from regard.engine.gpu.hopper_columns import sum_columns_on_hopper
from regard.engine.gpu.kernels.sums import rows_kernel
from regard.engine.gpu.launch import FAR, CommonArguments, FactTensors, padded_width
from regard.engine.gpu.triton_facts import best_keys, sum_columns, sum_distances
from regard.engine.tensors import Tensor
from regard.engine.tiles.rows import Requested


def facts_by_kernels(
    call: DeviceCall,
    requested: Requested,
    external_total_hq: Tensor | None,
    put_off: bool = False,
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
    plain = call.visibility.lengths_h is None and call.softcap is None and common.left == FAR
    square = common.right == 0 and common.queries == common.keys
    return widths and plain and (square or common.right == FAR) and common.queries > 1


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
    common: CommonArguments,
    requested: Requested,
    facts: FactTensors,
    total_hq: Tensor,
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
