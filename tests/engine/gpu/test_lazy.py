"""Facts on a device: copied when they are read, and then released."""

import copy
import pickle
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from regard.engine.call import Requested  # noqa: E402
from regard.engine.gpu.dispatch import observe_on_device  # noqa: E402
from regard.engine.gpu.lazy import release  # noqa: E402
from regard.engine.observe import observe  # noqa: E402
from regard.errors import ArgumentError, NotAskedError  # noqa: E402
from regard.heads.measures import head_measures  # noqa: E402
from regard.textbook.options import DEFAULT_OPTIONS  # noqa: E402

ARRAYS = [np.random.default_rng(0).standard_normal((2, 30, 8)).astype(np.float32) for _ in "qkv"]
TOKENS = np.arange(30) % 7
REQUESTED = Requested(True, True, 0, 4, True, True)
CAUSAL = DEFAULT_OPTIONS | {"causal": True}


def observed():
    return observe_on_device(*(torch.from_numpy(x) for x in ARRAYS), REQUESTED, CAUSAL)


def test_a_fact_that_was_read_is_released():
    facts = observed().facts
    size, tensor = facts.device_bytes, weakref.ref(facts._values["entropy"])
    assert facts["entropy"].shape == (2, 30)
    assert facts.device_bytes == size - 2 * 30 * 4
    assert tensor() is None


def test_shapes_are_known_before_anything_is_read():
    seen = observed()
    size = seen._device_bytes
    assert (seen.queries, seen.head_shape, seen._fact_shape("map")) == (30, (2,), (2, 4, 4))
    assert seen._device_bytes == size


def test_query_and_key_can_be_released_before_facts_are_read():
    seen = observed()
    released, check = release(seen, TOKENS)
    size = released._device_bytes
    assert size > 0
    assert released._on_device
    assert "output" not in released.facts
    tensors = [weakref.ref(x) for x in (seen.parts[0]._call.query_hqd, seen.parts[0]._call.key_gkd)]
    del seen
    assert [x() for x in tensors] == [None, None]
    expected = observe(*ARRAYS, top=0, map=4, causal=True)
    np.testing.assert_allclose(released.map, expected.map, atol=1e-6)
    one, two = head_measures(released, TOKENS), head_measures(expected, TOKENS)
    for name in ("duplicate", "induction", "distance", "first"):
        sums = (getattr(x, name).sum_h for x in (one, two))
        np.testing.assert_allclose(*sums, rtol=0, atol=1e-5)
    assert released._device_bytes < size
    assert check.passed


def test_weights_of_a_released_observation_are_an_error():
    released, _ = release(observed(), TOKENS)
    message = (
        "weights need query and key, and this observation released them on the device: read the "
        "weights before, or keep query and key."
    )
    for ask in (lambda: released.row(0), released.parts[0].on_host):
        with pytest.raises(NotAskedError) as error:
            ask()
        assert str(error.value) == message


def test_a_profile_is_resolved_once_and_its_sums_are_released():
    seen = observed()
    size = seen._profile.device_bytes
    assert size > 0
    assert seen._device_bytes == seen.facts.device_bytes + size
    assert seen.profile is seen.profile
    assert seen._profile.device_bytes == 0


@pytest.mark.parametrize("mask", [np.ones((30, 30), bool), lambda query, key: key <= query])
def test_a_mask_is_asked_while_query_and_key_are_there(mask):
    tensors = [torch.from_numpy(x) for x in ARRAYS]
    masked = observe_on_device(*tensors, REQUESTED, DEFAULT_OPTIONS | {"mask": mask})
    assert release(masked, TOKENS) is None


def test_best_keys_are_int64_as_on_the_host():
    tensors = [torch.from_numpy(x) for x in ARRAYS]
    requested = Requested(False, False, 3, 0, False, False)
    mask = DEFAULT_OPTIONS | {"mask": lambda query, key: key <= query}
    actual = observe_on_device(*tensors, requested, mask).facts["top_keys"]
    expected = observe(*ARRAYS, top=3, causal=True).facts["top_keys"]
    np.testing.assert_array_equal(actual, expected)
    assert actual.dtype == expected.dtype == np.int64


@pytest.mark.parametrize(("position", "name"), [(0, "query"), (1, "key")])
def test_a_tensor_that_was_changed_gives_no_weights_any_more(position, name):
    tensors = [torch.from_numpy(x.copy()) for x in ARRAYS]
    seen = observe_on_device(*tensors, REQUESTED, CAUSAL)
    before = seen.tile(slice(0, 4), slice(0, 4))
    expected = observe(*ARRAYS, causal=True).tile(slice(0, 4), slice(0, 4))
    np.testing.assert_allclose(before, expected, atol=1e-6)
    tensors[2].mul_(5)  # value has no part in weights
    np.testing.assert_array_equal(seen.tile(slice(0, 4), slice(0, 4)), before)
    tensors[position].mul_(5)
    message = (
        f"{name} was changed in place after it was observed, so its weights cannot be computed "
        f"any more: read tiles and rows before, or observe {name}.clone()."
    )
    with pytest.raises(ArgumentError) as error:
        seen.tile(slice(0, 4), slice(0, 4))
    assert str(error.value) == message


def test_deep_copies_and_pickles_are_on_the_host():
    for again in (copy.deepcopy(observed()), pickle.loads(pickle.dumps(observed()))):  # noqa: S301
        seen = observed()
        assert (again._on_device, again._device_bytes) == (False, 0)
        np.testing.assert_array_equal(again.map, seen.map)
        np.testing.assert_array_equal(again.profile.weight, seen.profile.weight)
        np.testing.assert_array_equal(again.tile(0, slice(None)), seen.tile(0, slice(None)))
    assert copy.copy(observed())._on_device
