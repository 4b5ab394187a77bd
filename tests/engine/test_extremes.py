"""Numbers at the ends of their range: huge masks, softcaps and offsets, and unusual memory."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
from tests.helpers.attention_plans import ENGINES

import regard
from regard.engine.native.library import levels, native_squares, using_level
from regard.engine.pairs import Block, listed_weights
from regard.errors import ArgumentError

LEVELS = (*levels(), "off")


@pytest.fixture(params=LEVELS)
def level(request):
    with using_level(request.param):
        yield request.param


def softmax_output(query, key, value):
    query, key, value = (np.asarray(x, np.float64) for x in (query, key, value))
    e = np.exp(query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1]))
    return e / e.sum(-1, keepdims=True) @ value


def normal(shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def record_field(number):
    """A field of packed records: 33 bytes from one row to the next."""
    records = np.zeros(number, [("x", "f4", (8,)), ("flag", "u1")])
    records["x"] = normal((number, 8), seed=number)
    return records["x"]


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1), slice(None, None, 3)])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_fields_of_packed_records(level, which, order):
    arrays = [normal((333, 8), seed=seed) for seed in range(3)]
    field = record_field(333)[order]
    arrays = [array[: len(field)] for array in arrays]
    arrays[which] = field
    expected = softmax_output(*arrays)
    np.testing.assert_allclose(regard.attention(*arrays), expected, atol=2e-5)
    np.testing.assert_allclose(regard.observe(*arrays).output, expected, atol=2e-5)


def test_a_mask_that_is_a_field_of_packed_records(level):
    records = np.zeros((9, 9), [("bias", "f4"), ("flag", "u1")])
    records["bias"] = normal((9, 9))
    x = normal((9, 8))
    for mask in (records["bias"], records["bias"][::-1, ::-2].repeat(2, axis=1)[:, :9]):
        expected = regard.attention(x, x, x, mask=np.ascontiguousarray(mask))
        np.testing.assert_array_equal(regard.attention(x, x, x, mask=mask), expected)


def unaligned(array):
    raw = np.zeros(array.nbytes + 1, "u1")
    moved = raw[1:].view(array.dtype).reshape(array.shape)
    moved[:] = array
    return moved


def test_memory_that_begins_at_an_odd_address(level):
    x, mask = normal((600, 8)), normal((600, 600))
    expected = regard.attention(x, x, x, mask=mask)
    moved = unaligned(x)
    assert native_squares(moved) is None
    with_odd = regard.attention(moved, moved, moved, mask=unaligned(mask))
    np.testing.assert_allclose(with_odd, expected, atol=2e-6)


def test_equal_weights_of_many_keys_do_not_drift(level):
    """One weight added over and over is rounded the same way every time."""
    keys = 100_000
    query, ones = np.full((2, 8), 0.3, "f4"), np.ones((keys, 8), "f4")
    # A sum of 512 keys, then one of all such sums; a rounding is at most eps / 2.
    allowed = (512 + keys / 512) * np.finfo("f4").eps / 2
    np.testing.assert_allclose(regard.attention(query, ones, ones), 1, rtol=0, atol=allowed)
    np.testing.assert_allclose(regard.observe(query, ones, ones).output, 1, rtol=0, atol=allowed)


@pytest.mark.parametrize("softcap", [1.9e8, 3e8, 1e12, 1e30])
def test_the_entropy_with_a_huge_softcap_is_that_without(level, softcap):
    x = normal((4, 8))
    for options in ({}, {"causal": True}):
        plain = regard.observe(x, x, x, **options).entropy
        capped = regard.observe(x, x, x, softcap=softcap, **options).entropy
        np.testing.assert_allclose(capped, plain, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("offset", [2**31, 2**40 - 1, 2**40])
def test_an_offset_beyond_all_keys(level, dtype, offset):
    x = normal((6, 8), dtype)
    for window in (None, (None, 3)):
        seen = regard.observe(x, x, x, causal=window is None, window=window, offset=offset)
        np.testing.assert_allclose(seen.output, softmax_output(x, x, x), atol=1e-5)
        assert seen.profile.back[0] == offset - 5
    for hidden in ({"causal": True, "offset": -offset}, {"window": (3, None), "offset": offset}):
        assert not regard.attention(x, x, x, **hidden).any()


@pytest.mark.parametrize("offset", [2**40 + 1, 2**63, -(2**63), 10**30])
def test_an_offset_beyond_the_limit_is_refused(offset):
    x = normal((6, 8))
    for call in (regard.attention, regard.observe):
        with pytest.raises(ArgumentError) as error:
            call(x, x, x, causal=True, offset=offset)
        assert str(error.value) == f"offset must be from -2**40 to 2**40, got {offset}."


def test_a_window_of_any_integer_type(level):
    x = normal((6, 8))
    for side in (np.uint8(2), np.int64(2), 2):
        np.testing.assert_array_equal(
            regard.attention(x, x, x, window=(side, 0)), regard.attention(x, x, x, window=(2, 0))
        )
    for side in (2**63, 10**30):
        np.testing.assert_array_equal(
            regard.attention(x, x, x, window=(side, 0)), regard.attention(x, x, x, causal=True)
        )


LOWEST = [float(np.finfo("f4").min), -1e30, -1e15, -1e9, -1e4]


@pytest.mark.parametrize("lowest", LOWEST)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_row_of_one_huge_number_sums_to_1(level, dtype, lowest):
    mask = np.zeros((4, 4), dtype)
    mask[1] = lowest
    x = np.ones((4, 8), dtype)
    seen = regard.observe(x, x, x, mask=mask)
    expected = np.full((4, 4), 0.25)
    np.testing.assert_allclose(seen.tile(slice(None), slice(None)), expected, atol=1e-6)
    np.testing.assert_allclose(seen.tile(slice(1, 3), slice(1, 3)), expected[1:3, 1:3], atol=1e-6)
    np.testing.assert_allclose(seen.row(1), expected[1], atol=1e-6)
    sums = np.where(mask[:, 0], lowest, np.sqrt(8) + np.log(4))
    np.testing.assert_allclose(seen.logsumexp, sums, rtol=1e-3)
    again = regard.observe_from_logsumexp(x, x, seen.logsumexp, mask=mask)
    np.testing.assert_allclose(again.map, expected, atol=1e-6)
    np.testing.assert_allclose(again.entropy, np.log(4), rtol=1e-6)
    block = Block(np.array([[0, 1]]), np.array([[3, 1]]))
    listed = next(iter(listed_weights(seen.parts[0], seen.logsumexp.reshape(1, 4), block)))
    np.testing.assert_allclose(listed.weights_hmab, 0.25, atol=1e-6)


def test_the_lowest_float64_as_a_row():
    x = np.ones((3, 8))
    mask = np.zeros((3, 3))
    mask[1] = np.finfo("f8").min
    seen = regard.observe(x, x, x, mask=mask)
    assert seen.logsumexp[1] == np.finfo("f8").min
    np.testing.assert_allclose(seen.row(1), 1 / 3)


@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_every_plan_spreads_a_row_of_the_lowest_number_evenly(engine):
    """torch.finfo.min is a usual mask; it swallows every score, so all keys weigh the same."""
    x, mask = normal((2, 70, 8)), np.zeros((70, 70), "f4")
    mask[7] = np.finfo("f4").min
    with engine.in_use():
        seen = regard.observe(x, x, x, mask=mask, **engine.asked)
    np.testing.assert_allclose(seen.row(7), 1 / 70, rtol=1e-6)
    np.testing.assert_allclose(seen.output[:, 7], x.mean(axis=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(seen.entropy[:, 7], np.log(70), rtol=1e-6)
    np.testing.assert_allclose(seen.top().weights[:, 7], 1 / 70, rtol=1e-6)
    if "received" in seen.facts:
        np.testing.assert_allclose(seen.received.sum(axis=-1), 70, rtol=1e-5)


@pytest.mark.parametrize("size", [1e20, 1e30])
def test_scores_beyond_float32_sum_to_1(level, size):
    x = (normal((5, 8)) * size).astype("f4")
    seen = regard.observe(x, x, x)
    np.testing.assert_allclose(seen.tile(slice(None), slice(None)).sum(-1), 1, atol=1e-6)
    x = normal((5, 8))
    seen = regard.observe(x, x, x, mask=normal((5, 5), "f8") * 1e25)
    np.testing.assert_allclose(seen.tile(slice(None), slice(None)).sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize("softcap", [50, 1000, 1e4, 1e6, 1e12])
def test_tiles_fit_the_logsumexp_with_a_softcap(level, softcap):
    x = (normal((64, 16)) * np.sqrt(softcap) * 4).astype("f4")
    seen = regard.observe(x, x, x, softcap=softcap)
    np.testing.assert_allclose(seen.tile(slice(None), slice(None)).sum(-1), 1, atol=1e-5)
    halves = [seen.tile(slice(0, 9), columns) for columns in (slice(0, 30), slice(30, 64))]
    np.testing.assert_allclose(np.concatenate(halves, axis=-1).sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("call", [regard.attention, partial(regard.observe, map=0, top=0)])
@pytest.mark.parametrize("mask", [np.zeros((1, 1, 900), "f4"), np.zeros((900, 1), "f8")])
def test_a_broadcast_mask_is_not_written_out(call, mask):
    x = np.ones((16, 900, 8), "f4")
    written_out = np.broadcast_to(mask, (16, 900, 900))
    tracemalloc.start()
    call(x, x, x, mask=written_out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < written_out.nbytes / 2


def test_more_best_keys_than_memory_holds_are_refused():
    x = np.ones((4, 8), "f4")
    for call in (
        regard.observe,
        lambda *x, **o: regard.observe_from_logsumexp(*x[:2], np.zeros(4), **o),
    ):
        with pytest.raises(ArgumentError) as error:
            call(x, x, x, top=10**12)
        assert (
            str(error.value) == "top must be at most 4, the number of keys, got 1,000,000,000,000."
        )
