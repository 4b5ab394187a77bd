"""The best keys of each query on Hopper GPUs: those that reach its threshold, and second looks."""

import ctypes

import torch

from regard.self_attention.backends.device.cuda.driver import structure
from regard.self_attention.backends.device.hopper import (
    BLOCK,
    THREADS,
    Hopper,
    addresses,
    cdiv,
    processors,
)
from regard.self_attention.backends.device.hopper_columns import Groups
from regard.self_attention.backends.device.sums import Found

LISTS = BLOCK * 4 * 16 * 8  # bytes of the candidates of a block of queries
LOOKING = 512  # threads that take a second look together
Best = structure(
    maps="query key", pointers="minus threshold weights keys_found doubt number",
    ints="queries keys heads group right", floats="factor",
)  # fmt: skip
Doubtful = structure(
    pointers="query key minus weights keys_found doubt number", ints="queries keys group right",
    floats="factor",
)  # fmt: skip


def find_best_on_hopper(hopper: Hopper, found: Found, groups: Groups) -> None:
    """The best keys of each query, by the thresholds that sum_columns_on_hopper left."""
    common, shared = hopper.common, LISTS + hopper.tiles(3) + 2**10
    found.weights_hqn = common.empty(common.queries, groups.top)
    found.keys_hqn = common.empty(common.queries, groups.top, dtype=torch.int64)
    number = groups.doubt.data_ptr()
    results = (*addresses(found.weights_hqn, found.keys_hqn), number + 4, number)
    best = hopper.kernels("best", TOP=groups.top, SHARED=shared, BEST=ctypes.sizeof(Best))
    best.start("best", (cdiv(common.queries, BLOCK) * common.heads, 1), THREADS, Best(
        *hopper.maps, *addresses(hopper.minus_hq, groups.threshold_hq), *results,
        common.queries, common.keys, common.heads, common.group, hopper.right, common.factor,
    ), shared=shared)  # fmt: skip
    again = hopper.kernels(
        "doubtful", TOP=groups.top, THREADS=LOOKING, DOUBTFUL=ctypes.sizeof(Doubtful)
    )
    again.start("doubtful", (4 * processors(hopper.index), 1), LOOKING, Doubtful(
        *addresses(hopper.query_hqd, hopper.key_gkd, hopper.minus_hq), *results,
        common.queries, common.keys, common.group, hopper.right, common.factor,
    ))  # fmt: skip
