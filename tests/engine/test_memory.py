"""Memory grows with n: nothing near n x n is ever held, whatever the plan."""

import tracemalloc

import numpy as np
import pytest
from tests.helpers.attention_plans import Engine

from regard.engine.attention import attention
from regard.engine.observe import observe

TOKENS, MEGABYTE = 16_384, 2**20  # all the weights would be 1,024 MB
X = np.random.default_rng(0).standard_normal((TOKENS, 16)).astype(np.float32)
ENGINES = (
    Engine("panel", {}),
    Engine("two passes", {"PANEL_BYTES": 0}),
)


def peak_megabytes(call) -> float:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_observe_holds_nothing_near_n_times_n(engine):
    with engine.in_use():
        peak = peak_megabytes(lambda: observe(X, X, X, causal=True))
    assert peak < 100


def test_attention_holds_a_few_tiles():
    assert peak_megabytes(lambda: attention(X, X, X)) < 20


def test_a_tile_costs_its_own_size():
    seen = observe(X, X, X, top=0, map=0, received=False, profile=False)
    assert peak_megabytes(lambda: seen.tile(slice(9000, 9100), slice(0, 100))) < 1
    assert peak_megabytes(lambda: seen.row(TOKENS - 1)) < 1


def test_a_function_as_mask_is_never_written_out():
    peak = peak_megabytes(lambda: attention(X, X, X, mask=lambda query, key: key <= query))
    assert peak < 20
