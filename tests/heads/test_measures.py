"""What heads are measured to do, against every weight counted one by one."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from regard.engine.observe import observe
from regard.engine.pairs import Block, listed_weights, sums_by_span
from regard.errors import ArgumentError, NotAskedError
from regard.heads.measures import BANDS, entropy, head_measures

KEYS = 23
RANDOM = np.random.default_rng(0)
CASES = {
    "everything": {},
    "causal": {"causal": True},
    "later queries": {"causal": True, "offset": 9},
    "window": {"window": (5, 2)},
    "causal window": {"causal": True, "window": (4, None)},
    "lengths": {"lengths": 17},
    "bool mask": {"mask": np.random.default_rng(1).random((2, KEYS, KEYS)) < 0.6},
    "shared mask": {"mask": np.random.default_rng(1).random((KEYS, KEYS)) < 0.6},
    "bias": {"mask": np.random.default_rng(1).standard_normal((2, KEYS, KEYS))},
    "rule": {"mask": lambda query, key: (query + key) % 3 > 0},
    "softcap": {"causal": True, "softcap": 2.0},
}


def observed(arguments, **facts):
    queries = KEYS - (arguments.get("offset") or 0)
    random = np.random.default_rng(2)
    arrays = (random.standard_normal((2, n, 8)) for n in (queries, KEYS, KEYS))
    return observe(*arrays, **arguments, **facts)


def visible(seen):
    visibility = seen.parts[0].visibility
    shape = (2, seen.queries, seen.keys)
    found = visibility.visible(slice(0, 2), slice(0, seen.queries), slice(0, seen.keys))
    return np.broadcast_to(True if found is None else found, shape)


def places(seen, tokens, name, query):
    """The keys that count for one query, by the definition in words."""
    own = query + seen.parts[0].visibility.offset
    after = {"duplicate": 0, "induction": 1}[name]
    same = [k for k in range(seen.keys) if tokens[k] == tokens[own] and k != own]
    return [k + after for k in same if k + after < seen.keys and k + after != own]


@pytest.mark.parametrize("blocks", [256, 5], ids=["every weight", "blocks"])
@pytest.mark.parametrize("case", CASES)
def test_repeats(case, blocks):
    seen = observed(CASES[case], map=blocks)
    tokens = RANDOM.integers(0, 6, KEYS)
    weights, seeing = seen.tile(slice(None), slice(None)), visible(seen)
    measures = head_measures(seen, tokens)
    for name in ("duplicate", "induction"):
        expected = np.zeros((3, 2))
        for head in range(2):
            for query in range(seen.queries):
                keys = [k for k in places(seen, tokens, name, query) if seeing[head, query, k]]
                if keys:
                    share = len(keys) / seeing[head, query].sum()
                    expected[:, head] += weights[head, query, keys].sum(), share, 1
        found = getattr(measures, name)
        sums = found.sum_h, found.uniform_h, found.queries_h
        # Sums of at most 23 x 23 weights in float64.
        np.testing.assert_allclose(sums, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_positions_and_uniform_baseline(case):
    seen = observed(CASES[case])
    weights, seeing = seen.tile(slice(None), slice(None)), visible(seen)
    even = seeing / np.maximum(seeing.sum(axis=-1, keepdims=True), 1)
    measures = head_measures(seen)
    own = np.arange(seen.queries)[:, None] + seen.parts[0].visibility.offset
    back = own - np.arange(KEYS)
    at = {"itself": back == 0, "previous": back == 1, "next": back == -1,
          "first": np.broadcast_to(np.arange(KEYS) == 0, back.shape)}  # fmt: skip
    for name, there in at.items():
        found = getattr(measures, name)
        np.testing.assert_allclose(found.sum_h, (weights * there).sum(axis=(1, 2)), atol=1e-12)
        np.testing.assert_allclose(found.uniform_h, (even * there).sum(axis=(1, 2)), atol=1e-12)
    logs = np.log(np.maximum(seeing.sum(axis=-1), 1)).sum(axis=-1)
    np.testing.assert_allclose(measures.entropy.uniform_h, logs, atol=1e-12)
    for band, (near, far) in enumerate(BANDS):
        there = (back >= min(near, far)) & (back <= max(near, far))
        sums = (weights * there).sum(axis=(1, 2)), (even * there).sum(axis=(1, 2))
        found = measures.distance.sum_h[:, band], measures.distance.uniform_h[:, band]
        np.testing.assert_allclose(found, sums, atol=1e-12)


def test_parts_of_a_text_add_up():
    whole = observed({"causal": True})
    part = whole.parts[0]
    tokens = RANDOM.integers(0, 5, KEYS)
    cuts = []
    for start, stop in ((0, 15), (15, KEYS)):
        query, key = part.query_hqd[:, start:stop], part.key_gkd[:, :stop]
        seen = observe(query, key, key, causal=True, offset=start)
        cuts.append(head_measures(seen, tokens[:stop]))
    both, expected = cuts[0] + cuts[1], head_measures(whole, tokens)
    for name in ("entropy", "first", "previous", "duplicate", "induction", "distance"):
        np.testing.assert_allclose(getattr(both, name).mean_h, getattr(expected, name).mean_h)


@pytest.mark.parametrize("case", CASES)
def test_listed_weights_are_those_of_the_tile(case, monkeypatch):
    monkeypatch.setattr(sys.modules["regard.engine.pairs"], "CHUNK", 30)
    seen = observed(CASES[case])
    part, weights = seen.parts[0], seen.tile(slice(None), slice(None))
    rows, columns = np.array([[0, 3, 9], [1, 1, 2]]), np.array([[5, 0], [22, 7]])
    found = np.zeros((2, 2, 3, 2))
    for listed in listed_weights(part, seen.logsumexp, Block(rows, columns)):
        for m, (some, keys) in enumerate(zip(*listed.block, strict=True)):
            place = next(i for i in range(2) if (columns[i] == keys).all())
            for a, row in enumerate(some):
                found[:, place, rows[place] == row] = listed.weights_hmab[:, m, a][:, None]
    expected = np.stack([weights[:, rows[m]][:, :, columns[m]] for m in range(2)], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_sums_by_span(case):
    seen = observed(CASES[case])
    weights = seen.tile(slice(None), slice(None))
    rows, columns = np.array([0, 4, 4, 11]), np.array([2, 9, 20, 20, 23])
    sums = sums_by_span(seen.parts[0], seen.logsumexp, rows, columns)
    for r in range(3):
        for c in range(4):
            block = weights[:, rows[r] : rows[r + 1], columns[c] : columns[c + 1]]
            np.testing.assert_allclose(sums[:, r, c], block.sum(axis=(1, 2)), atol=1e-12)


def test_a_long_text_of_one_token_never_holds_all_pairs(monkeypatch):
    monkeypatch.setattr(sys.modules["regard.engine.pairs"], "CHUNK", 2**12)
    random = np.random.default_rng(3)
    query, key = (random.standard_normal((1, 300, 4), dtype=np.float32) for _ in range(2))
    seen = observe(query, key, key, causal=True, map=8)
    measures = head_measures(seen, np.zeros(300, int))
    # All weight that is not on the token itself goes to the same token elsewhere.
    elsewhere = 300 - measures.itself.sum_h
    np.testing.assert_allclose(measures.duplicate.sum_h, elsewhere, rtol=1e-4)


def test_errors():
    seen = observed({})
    with pytest.raises(ArgumentError) as error:
        head_measures(seen, ["a"])
    assert str(error.value) == "tokens must be one token for each of the 23 keys, got shape (1,)."
    with pytest.raises(NotAskedError) as missing:
        head_measures(replace(seen, parts=()))
    assert str(missing.value) == (
        "head_measures needs query and key, and this observation does not hold them: measure "
        "when it is made, or keep them."
    )


def test_entropy_of_certain_and_even_weights():
    weights = np.array([[[[1.0, 0.0], [0.5, 0.5]]]], np.float32)
    np.testing.assert_allclose(entropy(weights)[0, 0], [0, np.log(2)], atol=1e-7)
