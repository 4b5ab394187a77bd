"""Invariants of any observation; every fact of random calls is compared in test_fuzz."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.attention_facts import score_size, specification
from tests.helpers.attention_plans import COLUMN_ENGINES, ENGINES
from tests.helpers.attention_strategies import calls

from regard.engine.attention import attention
from regard.engine.call import blocks
from regard.engine.observe import observe, observe_from_logsumexp

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)
# A sum over at most 40 keys and 40 queries, each weight with a few roundings in it.
ROUNDINGS = 64


def observed(call, engine, **asked):
    with engine.in_use():
        return observe(*call.arrays, **asked, **call.arguments)


def sees(call):
    """How many queries of each head see anything, and how many keys each query sees."""
    visible = specification(*call.arrays, **call.arguments).scores > -np.inf
    return visible.any(axis=-1).sum(axis=-1), visible.sum(axis=-1)


def from_sums(call, seen):
    """Weights made from a log-sum-exp are as exact as that is: a float64 of its size."""
    sums = np.abs(
        seen.logsumexp, where=np.isfinite(seen.logsumexp), out=np.zeros(seen.logsumexp.shape)
    )
    return ROUNDINGS * call.eps + 4 * np.finfo(np.float64).eps * sums.max(initial=0)


def slack(call):
    """Roundings of a score that is computed twice, in units of its size."""
    expected = specification(*call.arrays, **call.arguments)
    return ROUNDINGS * call.eps * (1 + score_size(call.query, call.key, expected, **call.arguments))


@pytest.mark.parametrize("engine", COLUMN_ENGINES, ids=str)
@EXAMPLES
@given(call=calls(), side=st.integers(1, 50))
def test_rows_of_the_map_sum_to_1_or_to_0_where_nobody_sees_anything(engine, call, side):
    seen = observed(call, engine, map=side)
    queries, keys = seen.queries, call.key.shape[-2]
    edges = blocks(queries, side)
    live = sees(call)[1] > 0
    expected = [live[..., a:b].any(axis=-1) for a, b in itertools.pairwise(edges)]
    assert seen.map.shape == (*seen.head_shape, len(edges) - 1, len(blocks(keys, side)) - 1)
    sums = np.moveaxis(seen.map.sum(axis=-1), -1, 0)
    np.testing.assert_allclose(sums, expected, atol=from_sums(call, seen))


@pytest.mark.parametrize("engine", COLUMN_ENGINES, ids=str)
@EXAMPLES
@given(call=calls())
def test_shares_by_distance_sum_to_1_or_to_0_where_nobody_sees_anything(engine, call):
    seen = observed(call, engine)
    expected, allowed = (sees(call)[0] > 0).astype(float), from_sums(call, seen)
    np.testing.assert_allclose(seen.profile.weight.sum(axis=-1), expected, atol=allowed)
    histogram = sum(share for *_, share in seen.profile.histogram())
    np.testing.assert_allclose(histogram, expected, atol=allowed)


@pytest.mark.parametrize("engine", COLUMN_ENGINES, ids=str)
@EXAMPLES
@given(call=calls(), where=st.integers(0, 40))
def test_parts_of_the_keys_stand_side_by_side(engine, call, where):
    keys = call.key.shape[-2]
    where = min(where, keys)
    parts = [call.keys_from(0, where), call.keys_from(where, keys)]
    together = observed(call, engine)
    with engine.in_use():
        sums = [observe(*part.arrays, map=0, **part.arguments).logsumexp for part in parts]
        pieces = [
            observe_from_logsumexp(part.query, part.key, together.logsumexp, **part.arguments)
            for part in parts
        ]
    allowed = slack(call)
    received = np.concatenate([piece.received for piece in pieces], axis=-1)
    np.testing.assert_allclose(np.logaddexp(*sums), together.logsumexp, rtol=allowed, atol=allowed)
    np.testing.assert_allclose(received, together.received, rtol=allowed, atol=allowed)
    entropy = sum(piece.entropy for piece in pieces)
    np.testing.assert_allclose(entropy, together.entropy, rtol=allowed, atol=allowed)


def test_a_part_that_sees_nothing_has_no_weight_however_low_the_sum_of_all_lies():
    x = np.full((3, 1), 1e2)
    seen = observe_from_logsumexp(x, -x[:0], np.full(3, -1e4))
    assert (seen.entropy == 0).all()
    assert seen.received.shape == (0,)


@pytest.mark.parametrize("engine", COLUMN_ENGINES, ids=str)
@EXAMPLES
@given(call=calls(bands=False, masks=False), seed=st.integers(0, 2**32 - 1))
def test_permuting_keys_permutes_what_they_receive(engine, call, seed):
    order = np.random.default_rng(seed).permutation(call.key.shape[-2])
    seen = observed(call, engine)
    with engine.in_use():
        moved = observe(
            call.query, call.key[..., order, :], call.value[..., order, :], **call.arguments
        )
    allowed = slack(call)
    size = np.abs(call.value).max(initial=0)
    eps = float(np.finfo(seen.output.dtype).eps)
    np.testing.assert_allclose(moved.received, seen.received[..., order], atol=40 * allowed)
    np.testing.assert_allclose(moved.entropy, seen.entropy, rtol=allowed, atol=allowed)
    np.testing.assert_allclose(moved.output, seen.output, atol=(allowed + eps) * float(size))


@EXAMPLES
@given(call=calls(masks=False), seed=st.integers(0, 2**32 - 1))
def test_a_constant_added_to_a_row_of_scores_changes_no_weight(call, seed):
    shift = np.random.default_rng(seed).uniform(-100, 100, (call.query.shape[-2], 1))
    seen = observe(*call.arrays, **call.arguments)
    moved = observe(*call.arrays, **call.arguments, mask=shift)
    allowed = slack(call) + ROUNDINGS * call.eps * 100
    np.testing.assert_allclose(moved.received, seen.received, rtol=allowed, atol=40 * allowed)
    live = np.isfinite(seen.logsumexp)
    moved_by = np.where(live, moved.logsumexp - np.where(live, seen.logsumexp, 0), shift[:, 0])
    np.testing.assert_allclose(moved_by, np.broadcast_to(shift[:, 0], live.shape), atol=allowed)


@pytest.mark.parametrize("engine", ENGINES, ids=str)
@EXAMPLES
@given(call=calls(bands=False, masks=False), data=st.data())
def test_causal_output_does_not_depend_on_later_keys(engine, call, data):
    keys = call.key.shape[-2]
    now = data.draw(st.integers(0, keys))
    arguments = call.arguments | {"causal": True}
    key, value = call.key.copy(), call.value.copy()
    key[..., now:, :], value[..., now:, :] = 7, -3
    with engine.in_use():
        before, after = (attention(call.query, *x, **arguments)
                         for x in ((call.key, call.value), (key, value)))  # fmt: skip
    size = max(float(np.abs(call.value).max(initial=0)), 3.0)
    allowed = (slack(call) + float(np.finfo(before.dtype).eps)) * size
    np.testing.assert_allclose(after[..., :now, :], before[..., :now, :], rtol=0, atol=allowed)


@pytest.mark.parametrize("engine", ENGINES, ids=str)
@EXAMPLES
@given(call=calls(), number=st.integers(1, 50))
def test_best_weights_are_the_largest_of_the_row_and_stand_at_their_keys(engine, call, number):
    seen = observed(call, engine, top=number, **engine.asked)
    best, allowed = seen.top(), slack(call)
    rows = np.pad(
        seen.tile(slice(None), slice(None)), [(0, 0)] * len(seen.head_shape) + [(0, 0), (0, 1)]
    )
    np.testing.assert_allclose(
        best.weights, np.take_along_axis(rows, best.keys, axis=-1), atol=allowed
    )
    available = min(number, call.key.shape[-2])
    largest = -np.sort(-rows[..., :-1], axis=-1)[..., :available]
    np.testing.assert_allclose(best.weights[..., :available], largest, atol=allowed)
    assert (best.keys[..., available:] == -1).all()
