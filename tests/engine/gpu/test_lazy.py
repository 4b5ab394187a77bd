"""Facts that lie on a device: read when asked for, and then let go."""

import weakref
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from regard.engine.gpu.dispatch import NOTHING, observe_on_device  # noqa: E402
from regard.engine.gpu.lazy import held, let_go  # noqa: E402
from regard.engine.observe import observe  # noqa: E402
from regard.engine.tiles.rows import Wanted  # noqa: E402
from regard.heads.measures import head_measures  # noqa: E402

ARRAYS = [np.random.default_rng(0).standard_normal((2, 30, 8)).astype(np.float32) for _ in "qkv"]
TOKENS = np.arange(30) % 7
WANTED = Wanted(True, True, 0, 4, True, True)
CAUSAL = NOTHING | {"causal": True}


def observed():
    return observe_on_device(*(torch.from_numpy(x) for x in ARRAYS), WANTED, CAUSAL)


def test_a_fact_that_was_read_is_let_go():
    facts = observed().facts
    size, there = facts.held, weakref.ref(facts._held["entropy"])
    assert facts["entropy"].shape == (2, 30)
    assert facts.held == size - 2 * 30 * 4
    assert there() is None


def test_shapes_are_known_before_anything_is_read():
    seen = observed()
    size = seen.facts.held
    assert (seen.queries, seen.leading, seen.shape_of("map")) == (30, (2,), (2, 4, 4))
    assert seen.facts.held == size


def test_query_and_key_can_be_let_go_before_it_is_read():
    seen = observed()
    left = let_go(seen, TOKENS)
    assert left is not None
    size, check = held(left)
    assert size > 0
    assert "output" not in left.facts
    tensors = [weakref.ref(x) for x in (seen.parts[0]._call.query_hqd, seen.parts[0]._call.key_gkd)]
    del seen
    assert [x() for x in tensors] == [None, None]
    expected = observe(*ARRAYS, top=0, map=4, causal=True)
    np.testing.assert_allclose(left.map, expected.map, atol=1e-6)
    one, two = head_measures(left, TOKENS), head_measures(expected, TOKENS)
    for name in ("duplicate", "induction", "distance", "first"):
        sums = (getattr(x, name).sum_h for x in (one, two))
        np.testing.assert_allclose(*sums, rtol=0, atol=1e-5)
    assert held(replace(left, _profile=None))[0] < size
    assert check.passed


@pytest.mark.parametrize("mask", [np.ones((30, 30), bool), lambda query, key: key <= query])
def test_a_mask_is_asked_while_query_and_key_are_there(mask):
    tensors = [torch.from_numpy(x) for x in ARRAYS]
    masked = observe_on_device(*tensors, WANTED, NOTHING | {"mask": mask})
    assert let_go(masked, TOKENS) is None


def test_best_keys_are_int64_as_on_the_host():
    tensors = [torch.from_numpy(x) for x in ARRAYS]
    wanted = Wanted(False, False, 3, 0, False, False)
    mask = NOTHING | {"mask": lambda query, key: key <= query}
    found = observe_on_device(*tensors, wanted, mask).facts["top_keys"]
    expected = observe(*ARRAYS, top=3, causal=True).facts["top_keys"]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype == np.int64
