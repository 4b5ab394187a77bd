"""Facts by kernels: forward, then as few passes as what was asked for takes."""

import contextlib

import torch

from regard.self_attention.backends.device.best import find_best
from regard.self_attention.backends.device.call import Call, Tensor
from regard.self_attention.backends.device.columns import sum_columns
from regard.self_attention.backends.device.common import Common
from regard.self_attention.backends.device.distances import sum_distances
from regard.self_attention.backends.device.forward import by_cudnn, by_rows, cudnn_serves
from regard.self_attention.backends.device.hopper import Hopper, reasons_against_hopper
from regard.self_attention.backends.device.hopper_best import find_best_on_hopper
from regard.self_attention.backends.device.hopper_columns import sum_columns_on_hopper
from regard.self_attention.backends.device.hopper_distances import sum_distances_on_hopper
from regard.self_attention.backends.device.sums import Found
from regard.self_attention.tiles.rows import Wanted


def find_with_kernels(call: Call, wanted: Wanted, given_hq: Tensor | None) -> Found:
    """Every fact asked for, equal to ``steps`` on the numbers as they are."""
    on_gpu = call.device.type == "cuda"
    with torch.cuda.device(call.device) if on_gpu else contextlib.nullcontext():
        return _find(Common(call), wanted, given_hq)


def _find(common: Common, wanted: Wanted, given_hq: Tensor | None) -> Found:
    on_hopper = not reasons_against_hopper(common)
    if cudnn_serves(common) and given_hq is None and (on_hopper or not wanted.entropy):
        found = by_cudnn(common)
    else:
        found = by_rows(common, wanted, given_hq)
    total_hq = found.total_hq if given_hq is None else given_hq
    assert total_hq is not None
    if on_hopper:
        _on_hopper(common, wanted, found, total_hq, given_hq is None)
    _elsewhere(common, wanted, found, total_hq)
    if not wanted.entropy:
        found.entropy_hq = None
    return found


def _on_hopper(common: Common, wanted: Wanted, found: Found, total_hq: Tensor, own: bool) -> None:
    """What the kernels for Hopper do; what they leave is done elsewhere."""
    lacks_entropy = wanted.entropy and found.entropy_hq is None
    if not (wanted.columns or wanted.top or wanted.profile or lacks_entropy):
        return
    hopper = Hopper(common, live=own and common.call.all_live)
    groups = sum_columns_on_hopper(hopper, wanted, found, total_hq)
    if wanted.top:
        find_best_on_hopper(hopper, found, groups)
    if wanted.profile:
        found.distance_hn = sum_distances_on_hopper(hopper)


def _elsewhere(common: Common, wanted: Wanted, found: Found, total_hq: Tensor) -> None:
    """What is still missing, by kernels for any GPU and any band."""
    lacks_columns = wanted.columns and found.received_hk is None
    lacks_columns |= bool(wanted.map) and found.map_hrc is None
    lacks_best = bool(wanted.top) and found.weights_hqn is None
    lacks_distances = wanted.profile and found.distance_hn is None
    if not (lacks_columns or lacks_best or lacks_distances):
        return
    known_hq = _known(total_hq)
    if lacks_columns:
        sum_columns(common, wanted, found, known_hq)
    if lacks_best:
        find_best(common, found, known_hq, wanted.top)
    if lacks_distances:
        found.distance_hn = sum_distances(common, known_hq)


def _known(total_hq: Tensor) -> Tensor:
    """The log-sum-exp in float64; where nothing is seen any number will do, all is hidden."""
    return torch.where(total_hq > -torch.inf, total_hq, 0).double().contiguous()
