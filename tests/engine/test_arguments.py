"""Arguments at the edge: numbers near overflow, arrays that change, kinds that are refused."""

import numpy as np
import pytest

from regard.engine.attention import attention
from regard.engine.merge import merge
from regard.engine.observe import observe, observe_from_logsumexp
from regard.errors import ArgumentError
from regard.textbook.steps import self_attention

ONES = np.ones((1, 1, 2), np.float32)
TWO = np.array([[[0.0], [1.0]]], np.float32)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ([1e30, 2e30], 1.0),
        ([-1e30, -3e38], 0.0),
        ([0.0, np.finfo(np.float32).min], 0.0),
        ([1e30, 0.0], 0.0),
        ([2e38, 3e38], 1.0),
    ],
)
def test_a_huge_mask_decides_as_it_should(mask, expected):
    row = np.array(mask, np.float32).reshape(1, 1, 2)
    key = np.ones((1, 2, 2), np.float32)
    assert attention(ONES, key, TWO, mask=row).item() == expected
    seen = observe(ONES, key, TWO, mask=row)
    assert seen.output.item() == expected
    np.testing.assert_array_equal(seen.row(0, head=0), [1 - expected, expected])


def test_a_mask_beyond_float64_is_refused():
    with pytest.raises(ArgumentError, match=r"^mask has numbers beyond 1e300: to hide a key"):
        attention(ONES, np.ones((1, 2, 2)), TWO, mask=np.array([1e305, 2e305]))


@pytest.mark.parametrize("size", [1.7e308, np.finfo(np.float64).max, -1.7e308])
def test_values_at_the_end_of_float64_do_not_overflow(size):
    same = np.ones((1, 3, 2))
    value = np.full((1, 3, 1), size)
    np.testing.assert_allclose(attention(same, same, value), size, rtol=1e-15)
    np.testing.assert_allclose(observe(same, same, value).output, size, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_observation_does_not_change_with_the_arrays_it_was_made_of(dtype):
    rng = np.random.default_rng(0)
    query, key = rng.standard_normal((2, 2, 6, 4)).astype(dtype)
    mask, lengths = np.tri(6, dtype=bool), np.array(5)
    seen = observe(query, key, key, mask=mask, lengths=lengths)
    again = observe_from_logsumexp(query, key, seen.logsumexp, mask=mask, lengths=lengths)
    before = seen.tile(slice(None), slice(None)), seen.received_mean
    for array in (query, key):
        array *= 5
    mask[:], lengths[...] = True, 1
    for one in (seen, again):
        np.testing.assert_array_equal(one.tile(slice(None), slice(None)), before[0])
    np.testing.assert_array_equal(seen.received_mean, before[1])


def test_an_observation_does_not_change_with_the_tensors_it_was_made_of():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.randn(1, 6, 4)
    seen = observe(tensor, tensor, tensor)
    before = seen.tile(slice(None), slice(None))
    tensor *= 5
    np.testing.assert_array_equal(seen.tile(slice(None), slice(None)), before)


def test_a_broadcast_mask_is_copied_once():
    mask = np.broadcast_to(np.ones((4, 4), bool), (3, 4, 4))
    array = np.ones((3, 4, 2))
    seen = observe(array, array, array, mask=mask)
    assert seen.parts[0].visibility.mask.strides[0] == 0


@pytest.mark.parametrize("name", ["query", "key", "value", "mask", "lengths"])
def test_a_masked_array_is_refused(name):
    arrays = {x: np.ones((1, 2, 2)) for x in ("query", "key", "value")}
    arrays[name] = np.ma.masked_array(np.ones((1, 2, 2)), mask=False)
    with pytest.raises(ArgumentError) as error:
        attention(**arrays)
    assert str(error.value) == (
        f"{name} is a NumPy masked array, and its mask would be lost: write {name}.filled(0), "
        "and hide keys with mask or lengths."
    )


def test_the_textbook_refuses_masked_and_complex_numbers():
    with pytest.raises(ArgumentError, match=r"^x is a NumPy masked array"):
        self_attention(np.ma.masked_array(np.eye(2), mask=False), np.eye(2), np.eye(2), np.eye(2))
    with pytest.raises(ArgumentError, match=r"^x needs real numbers, but it has complex ones\.$"):
        self_attention(np.eye(2) * 1j, np.eye(2), np.eye(2), np.eye(2))


@pytest.mark.parametrize("causal", ["no", 1, None, np.array([True])])
def test_causal_is_true_or_false(causal):
    array = np.ones((1, 2, 2))
    with pytest.raises(ArgumentError) as error:
        attention(array, array, array, causal=causal)
    assert str(error.value) == f"causal needs True or False, but it is {causal!r}."


def test_complex_query_is_refused():
    array = np.ones((1, 2, 2))
    with pytest.raises(ArgumentError, match=r"^query needs float16, float32 or float64 values"):
        attention(array * 1j, array, array)


def test_an_unknown_option_is_named():
    array = np.ones((1, 2, 2))
    with pytest.raises(TypeError) as error:
        observe(array, array, array, casual=True)
    assert str(error.value) == (
        "attention has no argument 'casual': beside query, key and value it takes mask, causal, "
        "offset, window, softcap, scale, lengths."
    )


def test_merge_refuses_other_queries_and_scales():
    array = np.random.default_rng(1).standard_normal((1, 3, 2))
    one = observe(array, array, array)
    with pytest.raises(ArgumentError) as error:
        merge(one, observe(array + 1, array, array))
    assert str(error.value) == (
        "merge needs two observations of the same queries, but their queries differ."
    )
    with pytest.raises(ArgumentError) as error:
        merge(one, observe(array, array, array, scale=2.0))
    assert str(error.value) == (
        "merge needs two observations with the same scale and softcap, but one has 0.707107 and "
        "None, the other 2 and None."
    )
