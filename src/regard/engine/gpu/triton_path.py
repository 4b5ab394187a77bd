"""Statistics by Triton kernels: the forward pass, then the passes that the call asks for."""

import contextlib

import torch
import triton

from regard.engine.gpu.call import DeviceCall
from regard.engine.gpu.hopper import (
    Hopper,
    find_best_on_hopper,
    reasons_against_hopper,
    sum_columns_on_hopper,
    sum_distances_on_hopper,
)
from regard.engine.gpu.kernels.sums import rows_kernel
from regard.engine.gpu.launch import FAR, Common, Found
from regard.engine.gpu.triton_facts import find_best, sum_columns, sum_distances
from regard.engine.tensors import Tensor
from regard.engine.tiles.rows import Requested


def cudnn_serves(common: Common) -> bool:
    """Whether cuDNN's attention computes this call: 16 bits, all keys or a plain causal mask."""
    call = common.call
    if call.device.type != "cuda" or not torch.backends.cudnn.is_available() or not common.short:
        return False
    widths = common.width == common.value_gkv.shape[-1] and common.width in (64, 128)
    plain = call.visibility.lengths_h is None and call.softcap is None and common.left == FAR
    square = common.right == 0 and common.queries == common.keys
    return widths and plain and (square or common.right == FAR) and common.queries > 1


def by_cudnn(common: Common) -> Found:
    """Output and natural log-sum-exp in float32, from the fastest kernel that torch has."""
    query, key, value = common.query_hqd, common.key_gkd, common.value_gkv
    if common.group > 1:
        key, value = (t.repeat_interleave(common.group, dim=0) for t in (key, value))
    made = torch.ops.aten._scaled_dot_product_cudnn_attention(
        query[None], key[None], value[None], None, True, 0.0, common.right == 0, False,
        scale=common.call.scale,
    )  # fmt: skip
    return Found(total_hq=made[1].reshape(common.heads, common.queries), output_hqv=made[0][0])


def by_rows(common: Common, requested: Requested, given_hq: Tensor | None) -> Found:
    """Output, log-sum-exp in float64, and entropy, from our own kernel: any mask that is a band."""
    width = int(common.value_gkv.shape[-1])
    total_hq = common.empty(common.queries, dtype=torch.float64)
    entropy_hq = common.empty(common.queries)
    output_hqv = common.empty(common.queries, width, dtype=common.value_gkv.dtype)
    block = 64 if common.padded <= 128 else 32
    rows_kernel[(triton.cdiv(common.queries, block), common.heads)](
        common.query_hqd, common.key_gkd, common.value_gkv, output_hqv, total_hq, entropy_hq,
        common.lengths_h, *common.sizes(), VALUE_WIDTH=width,
        V=max(16, triton.next_power_of_2(max(1, width))), OUTPUT=requested.output and width > 0,
        BQ=block, BK=block, **common.limits(),
    )  # fmt: skip
    found = Found(total_hq=total_hq, output_hqv=output_hqv if requested.output else None)
    if requested.entropy:
        found.entropy_hq = entropy_hq
        if given_hq is not None:
            found.entropy_hq = _share(total_hq, entropy_hq, given_hq)
    return found


def _share(own_hq: Tensor, entropy_hq: Tensor, given_hq: Tensor) -> Tensor:
    """This part's share of an entropy over more keys: its own, and how far its sum lies below."""
    live_hq = own_hq > -torch.inf
    below_hq = torch.where(live_hq, given_hq - own_hq, 0).float()
    return torch.where(live_hq, torch.exp(-below_hq) * (entropy_hq + below_hq), 0)


def find_with_kernels(call: DeviceCall, requested: Requested, given_hq: Tensor | None) -> Found:
    """Every fact asked for, equal to ``steps`` on the numbers as they are."""
    on_gpu = call.device.type == "cuda"
    with torch.cuda.device(call.device) if on_gpu else contextlib.nullcontext():
        return _find(Common(call), requested, given_hq)


def _find(common: Common, requested: Requested, given_hq: Tensor | None) -> Found:
    on_hopper = not reasons_against_hopper(common)
    if cudnn_serves(common) and given_hq is None and (on_hopper or not requested.entropy):
        found = by_cudnn(common)
    else:
        found = by_rows(common, requested, given_hq)
    total_hq = found.total_hq if given_hq is None else given_hq
    assert total_hq is not None
    if on_hopper:
        _on_hopper(common, requested, found, total_hq, given_hq is None)
    _elsewhere(common, requested, found, total_hq)
    if not requested.entropy:
        found.entropy_hq = None
    return found


def _on_hopper(
    common: Common, requested: Requested, found: Found, total_hq: Tensor, own: bool
) -> None:
    """What the kernels for Hopper do; what they leave is done elsewhere."""
    lacks_entropy = requested.entropy and found.entropy_hq is None
    if not (requested.column_facts or requested.top or requested.profile or lacks_entropy):
        return
    hopper = Hopper(common, live=own and common.call.all_live)
    groups = sum_columns_on_hopper(hopper, requested, found, total_hq)
    if requested.top:
        find_best_on_hopper(hopper, found, groups)
    if requested.profile:
        found.distance_hn = sum_distances_on_hopper(hopper)


def _elsewhere(common: Common, requested: Requested, found: Found, total_hq: Tensor) -> None:
    """What is still missing, by kernels for any GPU and any band."""
    lacks_columns = requested.column_facts and found.received_hk is None
    lacks_columns |= bool(requested.map) and found.map_hrc is None
    lacks_best = bool(requested.top) and found.weights_hqn is None
    lacks_distances = requested.profile and found.distance_hn is None
    if not (lacks_columns or lacks_best or lacks_distances):
        return
    known_hq = _known(total_hq)
    if lacks_columns:
        sum_columns(common, requested, found, known_hq)
    if lacks_best:
        find_best(common, found, known_hq, requested.top)
    if lacks_distances:
        found.distance_hn = sum_distances(common, known_hq)


def _known(total_hq: Tensor) -> Tensor:
    """The log-sum-exp in float64; where nothing is seen any number will do, all is hidden."""
    return torch.where(total_hq > -torch.inf, total_hq, 0).double().contiguous()
