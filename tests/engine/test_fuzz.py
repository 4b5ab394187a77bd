"""Random calls of attention and observe against all the weights in float64.

``make fuzz`` runs as many as REGARD_FUZZ_CASES says, from the seed REGARD_FUZZ_SEED on; case n of
seed s is the same call wherever it runs, so that a failure is repeated by its seed alone.
"""

import os

import numpy as np
import pytest
from tests.helpers.attention_facts import MAP, TOP, observed, score_size, whole
from tests.helpers.attention_plans import ENGINES

from regard.engine.attention import attention
from regard.engine.files import load, open_mapped
from regard.engine.observe import observe, observe_from_logsumexp
from regard.engine.tiles.threads import using_threads

CASES = int(os.environ.get("REGARD_FUZZ_CASES", "160"))
SEED = int(os.environ.get("REGARD_FUZZ_SEED", "0"))
BATCH = 20  # cases in one test, so that a failure names a short range
LEADING = ((), (1,), (4,), (2, 4), (3, 2), (2, 1, 6), (0, 2))
# As in test_invariants: a sum over at most 40 keys and 40 queries, a few roundings in each weight.
ROUNDINGS = 64


def draw_arrays(random):
    """Query, key and value in any layout: C, Fortran, strided or reversed."""
    leading = LEADING[random.integers(len(LEADING))]
    group = random.choice([n for n in (1, 2, 4) if leading and leading[-1] % n == 0] or [1])
    shared = (*leading[:-1], leading[-1] // group) if leading else ()
    queries, keys = (int(n) for n in random.integers(0, 41, 2))
    width, value_width = (int(n) for n in random.integers(1, 9, 2))
    if random.random() < 0.5:
        keys = queries
    dtype = random.choice([np.float16, np.float32, np.float64])
    shapes = (*leading, queries, width), (*shared, keys, width), (*shared, keys, value_width)
    size = random.choice([0.1, 1.0, 4.0])
    return [laid_out(random, (random.standard_normal(x) * size).astype(dtype)) for x in shapes]


def laid_out(random, array):
    """The same numbers in another memory layout."""
    kind = random.integers(4)
    if kind == 1:
        return np.asfortranarray(array)
    if kind == 2:
        return np.repeat(array, 2, axis=-2)[..., ::2, :]
    if kind == 3:
        return np.ascontiguousarray(array[..., ::-1, :])[..., ::-1, :]
    return array


def draw_options(random, query, key):
    """Any options that these arrays can have."""
    leading, queries, keys = query.shape[:-2], query.shape[-2], key.shape[-2]

    def side():
        return None if random.random() < 0.3 else int(random.integers(0, 45))

    options = {
        "offset": int(random.integers(-20, 21)),
        "causal": bool(random.random() < 0.5),
        "window": (side(), side()) if random.random() < 0.4 else None,
        "softcap": random.choice([None, 0.5, 30.0]),
        "scale": random.choice([None, 0.1, 2.0]),
        "mask": draw_mask(random, (*leading, queries, keys)),
    }
    if random.random() < 0.3:
        options["lengths"] = random.integers(0, keys + 1, leading[:-1])
    return options


def draw_mask(random, full):
    """No mask, or one of six kinds."""
    shape = (full, full[-2:], full[-1:], (full[-2], 1))[random.integers(4)]
    visible = random.random(shape) < random.choice([0.1, 0.9])
    bias = random.standard_normal(shape) * 5
    far = int(random.integers(1, 10))
    kinds = (
        None,
        visible,
        bias,
        np.where(visible, bias, -np.inf),
        np.where(visible, 0, -1e4),
        np.where(visible, bias, -1e9).astype(np.float32),
        lambda at_q, at_k: (at_q + at_k) % far != 0,
    )
    return kinds[random.integers(len(kinds))]


def compare(facts, expected, tolerance):
    for name, fact in facts.items():
        right = expected[name]
        size = np.abs(right, where=np.isfinite(right), out=np.zeros(np.shape(right)))
        allowed = tolerance * (1 + size.max(initial=0))
        if fact.dtype == np.float16:
            allowed += np.finfo(np.float16).eps * size.max(initial=0)
        np.testing.assert_allclose(fact, right, rtol=0, atol=allowed, err_msg=name)


def check_case(number, path):
    random = np.random.default_rng((SEED, number))
    arrays = draw_arrays(random)
    query, key = arrays[:2]
    options = draw_options(random, query, key)
    engine = ENGINES[random.integers(len(ENGINES))]
    expected = whole(*arrays, **options)
    eps = np.finfo(np.result_type(query, np.float32)).eps
    tolerance = ROUNDINGS * eps * (1 + score_size(query, key, expected, **options))
    requested = {"top": TOP, "map": MAP} | engine.asked
    with engine.in_use(), using_threads(int(random.integers(1, 3))):
        seen = observe(*arrays, **requested, **options)
        np.testing.assert_array_equal(attention(*arrays, **options).shape, seen.output.shape)
        compare({"output": attention(*arrays, **options)}, expected.facts(), tolerance)
        again = observe_from_logsumexp(query, key, seen.logsumexp, **requested, **options)
    for one in (seen, again):
        compare(observed(one), expected.facts(), tolerance)
    seen.save(path, query_and_key=not callable(options["mask"]))
    for stored in (load(path), open_mapped(path, verify=True)):
        compare(observed_without_parts(stored), expected.facts(), tolerance)


def observed_without_parts(seen):
    """The facts of a file; what needs query and key where it has them."""
    if seen.parts:
        return observed(seen)
    return {name: np.asarray(seen.facts[name]) for name in ("output", "logsumexp")}


@pytest.mark.parametrize("start", range(0, CASES, BATCH))
def test_random_calls_equal_the_specification(tmp_path, start):
    for number in range(start, min(start + BATCH, CASES)):
        try:
            check_case(number, tmp_path / "x.regard")
        except Exception as error:
            raise AssertionError(f"case {number} of seed {SEED}: {error}") from error
