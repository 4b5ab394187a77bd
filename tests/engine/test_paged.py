"""Facts from a paged cache are those of the same keys in one piece."""

import numpy as np
import pytest
import torch

import regard
from regard.errors import ArgumentError

HEADS, KV_HEADS, WIDTH = 4, 2, 8
LENGTHS, QUERIES = [11, 5, 1], [3, 5, 1]  # a prompt that goes on, a whole prompt, a decode step


def paged(size, kind=np.asarray):
    """A cache with blocks in random order, its table, dense keys, and queries."""
    rng = np.random.default_rng(0)
    keys = [rng.standard_normal((n, KV_HEADS, WIDTH)) for n in LENGTHS]
    counts = [-(-n // size) for n in LENGTHS]
    free = iter(rng.permutation(sum(counts) + 3))
    cache = np.full((sum(counts) + 3, size, KV_HEADS, WIDTH), np.nan)  # nothing else is read
    table = np.full((len(LENGTHS), max(counts) + 1), -1)
    for number, own in enumerate(keys):
        for block in range(counts[number]):
            table[number, block] = next(free)
            part = own[block * size : (block + 1) * size]
            cache[table[number, block], : len(part)] = part
    query = rng.standard_normal((sum(QUERIES), HEADS, WIDTH))
    starts = np.cumsum([0, *QUERIES])
    return kind(query), kind(cache), table, starts, keys


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
@pytest.mark.parametrize("size", [1, 4])
@pytest.mark.parametrize("from_logsumexp", [False, True])
def test_paged_facts_are_those_of_a_dense_cache(size, kind, from_logsumexp):
    query, cache, table, starts, keys = paged(size, kind)
    options = {"window": (6, 0), "scale": 0.3, "top": 3, "map": 4}
    dense, sums = [], []
    for number, own in enumerate(keys):
        rows = np.asarray(query)[starts[number] : starts[number + 1]].swapaxes(0, 1)
        key = own.swapaxes(0, 1)
        offset = LENGTHS[number] - QUERIES[number]
        dense.append(regard.observe(rows, key, key, causal=True, offset=offset, **options))
        sums.append(dense[-1].logsumexp.T)
    given = {"logsumexp": kind(np.concatenate(sums))} if from_logsumexp else {}
    cache = cache[:, 0] if size == 1 else cache  # slots
    seen = regard.observe_paged(query, cache, table, LENGTHS, starts=starts, **given, **options)
    for one, other in zip(seen, dense, strict=True):
        for name in ("logsumexp", "entropy", "received", "map"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), 1e-12, 1e-15)
        np.testing.assert_array_equal(one.top(3).keys, other.top(3).keys)


def test_decoding_has_one_query_a_sequence():
    query, cache, table, _, keys = paged(4)
    seen = regard.observe_paged(query[:3], cache, table, LENGTHS)
    assert [(x.queries, x.keys) for x in seen] == [(1, n) for n in LENGTHS]
    shared = np.repeat(keys[0], 2, axis=1)
    scores = np.einsum("hd,khd->hk", query[0], shared) / np.sqrt(WIDTH)
    weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
    np.testing.assert_allclose(seen[0].received, weights, rtol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query": np.ones((9, 8))}, "query must be"),
        ({"block_table": [[0.5]] * 3}, "block_table must be whole numbers, got float64."),
        ({"block_table": [[0], [1], [2]]}, "block_table must have 3 blocks of 4 for 11 keys"),
        ({"block_table": [[0, 1, 99]] * 3}, "block_table must name blocks from 0 to 8."),
        ({"lengths": [11, 5]}, "block_table must be"),
        ({"lengths": [11, 4, 1]}, "starts must rise from 0 to 9"),
        ({"starts": [0, 3, 8, 8]}, "starts must rise from 0 to 9"),
    ],
)
def test_what_does_not_fit_is_said(changes, message):
    query, cache, table, starts, _ = paged(4)
    given = {"query": query, "key_cache": cache, "block_table": table, "lengths": LENGTHS}
    with pytest.raises(ArgumentError) as error:
        regard.observe_paged(**(given | {"starts": starts} | changes))
    assert str(error.value).startswith(message)
