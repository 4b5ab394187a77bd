"""The best keys of each query on Hopper GPUs: what reaches its threshold, then the best of that."""

import ctypes

import torch

from regard.self_attention.backends.device.cuda.driver import structure
from regard.self_attention.backends.device.hopper import BLOCK, THREADS, Hopper, addresses, cdiv
from regard.self_attention.backends.device.hopper_columns import Groups
from regard.self_attention.backends.device.sums import Found

Best = structure(
    maps="query key", pointers="minus threshold weights keys_found",
    ints="queries keys heads group right", floats="factor",
)  # fmt: skip


def find_best_on_hopper(hopper: Hopper, found: Found, groups: Groups) -> None:
    """The best keys of each query, by the thresholds that sum_columns_on_hopper left."""
    common = hopper.common
    found.weights_hqn = common.empty(common.queries, groups.top)
    found.keys_hqn = common.empty(common.queries, groups.top, dtype=torch.int64)
    lists = BLOCK * 4 * groups.top * 8  # of four threads for each query, where queries were before
    shared = max(hopper.tiles(2), lists) + hopper.tiles(3) + 2**10
    kernels = hopper.kernels("best", TOP=groups.top, SHARED=shared, BEST=ctypes.sizeof(Best))
    results = addresses(found.weights_hqn, found.keys_hqn)
    kernels.start("best", (cdiv(common.queries, BLOCK) * common.heads, 1), THREADS, Best(
        *hopper.maps, *addresses(hopper.minus_hq, groups.threshold_hq), *results, common.queries,
        common.keys, common.heads, common.group, hopper.right, common.factor,
    ), shared=shared)  # fmt: skip
