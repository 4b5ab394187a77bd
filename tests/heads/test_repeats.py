"""Repeated tokens: pairs by the definition, and sums that no other text changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.engine.observe import observe
from regard.heads import repeats
from regard.heads.measures import uniform_baseline
from regard.heads.repeats import (
    SHIFTS,
    pair_sums,
    repeat_pairs,
    repeat_sums,
    repeat_sums_from_weights,
)

TEXTS = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def counts(tokens, name, position, key):
    """Whether a key counts for the query at a position, in words: the same token elsewhere, or
    what follows it there, but neither the query itself nor what follows the query."""
    shift = SHIFTS[name]
    same = key - shift >= 0 and key - shift != position and tokens[key - shift] == tokens[position]
    return same and key != position


@settings(max_examples=40, deadline=None)
@given(TEXTS, st.integers(0, 4))
def test_pairs_by_definition(tokens, offset):
    queries = max(0, len(tokens) - offset)
    pairs = repeat_pairs(np.array([tokens]), queries, offset)
    for name in SHIFTS:
        expected = {
            (q, k)
            for q in range(queries)
            for k in range(len(tokens))
            if counts(tokens, name, q + offset, k)
        }
        listed = list(zip(pairs[name].query_p.tolist(), pairs[name].key_p.tolist(), strict=True))
        assert len(listed) == len(set(listed))
        assert set(listed) == expected


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_sums_by_definition_and_alone(length, texts, seed):
    random = np.random.default_rng(seed)
    tokens_bt = random.integers(0, 4, (texts, length))
    visible_qk = np.tri(length, dtype=bool) if seed % 2 else None
    seen_qk = np.ones((length, length), bool) if visible_qk is None else visible_qk
    weights_bhqk = (random.random((texts, 3, length, length)) * seen_qk).astype(np.float32)
    pairs = repeat_pairs(tokens_bt, length)
    for name in SHIFTS:
        sums_bh, uniform_b1, queries_b1 = pair_sums(weights_bhqk, pairs[name], visible_qk)
        for b in range(texts):
            mark_qk = np.array(
                [[counts(tokens_bt[b], name, q, k) for k in range(length)] for q in range(length)]
            )
            number_q = (mark_qk & seen_qk).sum(axis=1)
            # At most 144 weights in float64.
            expected_h = (weights_bhqk[b].astype(np.float64) * mark_qk).sum(axis=(1, 2))
            np.testing.assert_allclose(sums_bh[b], expected_h, atol=1e-13)
            uniform = (number_q / seen_qk.sum(axis=1)).sum()
            np.testing.assert_allclose(uniform_b1[b], uniform, atol=1e-13)
            assert queries_b1[b] == (number_q > 0).sum()
            own = repeat_pairs(tokens_bt[b : b + 1], length)[name]
            alone_1h, _, _ = pair_sums(weights_bhqk[b : b + 1], own, visible_qk)
            np.testing.assert_array_equal(alone_1h[0], sums_bh[b])


@pytest.mark.parametrize(
    "options", [{}, {"causal": True}, {"window": (5, 2)}, {"causal": True, "softcap": 3.0}], ids=str
)
@pytest.mark.parametrize("factor", [1.0, 90.0])  # the second is too large for sums without a shift
def test_all_implementations_agree(options, factor, monkeypatch):
    random = np.random.default_rng(3)
    query, key = random.standard_normal((4, 30, 8)) * factor, random.standard_normal((2, 36, 8))
    tokens = random.integers(0, 9, 36)
    query, key = query.astype(np.float32), key.astype(np.float32)
    seen = observe(query, key, key, map=40, offset=6, **options)
    problem, total = seen.parts[0], seen.logsumexp
    choices = uniform_baseline(problem).choices_hq
    ways = [repeat_sums_from_weights(seen.map, problem, tokens)]
    for most, at_once in ((2**23, 2**16), (2**23, 5), (0, 1)):
        monkeypatch.setattr(repeats, "MAX_CACHED_PAIRS", most)
        monkeypatch.setattr(repeats, "PAIRS_PER_UNIT", at_once)
        repeats._repeated_tokens.cache_clear()
        ways.append(repeat_sums(problem, total, tokens, choices))
    repeats._repeated_tokens.cache_clear()
    eps = np.finfo(np.float32).eps
    for way in ways[:-1]:
        for name in SHIFTS:
            for actual, expected in zip(way[name], ways[-1][name], strict=True):
                # A score of up to 8 * 90 * 3 * 4 is rounded, and so is a sum of 30 rows.
                np.testing.assert_allclose(actual, expected, atol=30 * 64 * factor * eps)
