"""float32 and float16: no fact is much further from the truth than plain float32 NumPy would be."""

import numpy as np
import pytest
from tests.helpers.attention_cases import CASES, Case
from tests.helpers.attention_facts import (
    MAP,
    TOP,
    observed,
    plain_of,
    score_size,
    specification,
    specified,
)

from regard.engine.attention import attention
from regard.engine.observe import observe

# The worst entry of a fact may be off by four times the plain computation's worst, or, where that
# one was lucky, by eight roundings of the fact itself.
TIMES_PLAIN, ROUNDINGS = 4, 8
EPS = np.finfo(np.float32).eps
LARGEST = {np.float32: 1e31, np.float16: 6e4}
WIDE = {"logsumexp": np.float64}  # weights are recomputed from it


def cases(dtype: type) -> list[Case]:
    """The cases whose numbers this dtype can hold."""
    return [case for case in CASES if _largest(case) < LARGEST[dtype]]


def _largest(case: Case) -> float:
    return max(np.abs(array).max(initial=0) for array in case.arrays())


def worst(actual: np.ndarray, expected: np.ndarray) -> float:
    """How far a fact is off at most; equal infinities are no error, a plain NaN no excuse."""
    same = actual == expected
    error = np.where(same, 0, actual.astype(np.float64) - np.where(same, 0, expected))
    return float(np.nan_to_num(np.abs(error), nan=0).max(initial=0))


def allowed(name: str, expected: np.ndarray, plain_fact: np.ndarray, score_size: float) -> float:
    """What a fact may be off by.

    A tile's scores are computed once more on demand, perhaps in another order of summation, so
    they differ from those in the log-sum-exp by a rounding of their size. Entropy is what the
    log-sum-exp exceeds the mean score by: two numbers of the scores' size, each rounded.
    """
    size = np.abs(expected, where=np.isfinite(expected), out=np.zeros_like(expected)).max(initial=0)
    again = score_size if name in ("tile", "row", "entropy") else 0
    floor = (ROUNDINGS * max(1, size) + again) * EPS
    if name == "output":
        floor = ROUNDINGS * size * np.finfo(plain_fact.dtype).eps
    return TIMES_PLAIN * worst(plain_fact, expected) + floor


@pytest.mark.parametrize(
    ("case", "dtype"), [(case, dtype) for dtype in LARGEST for case in cases(dtype)], ids=str
)
def test_floats_are_about_as_exact_as_plain_float32(case, dtype, engine):
    arrays, arguments = case.arrays(dtype), case.arguments
    true = specified(case, dtype)
    expected = true.facts()
    with np.errstate(all="ignore"):  # plain float32 overflows where it must
        plain_facts = plain_of(case, dtype).facts()
    plain_facts["output"] = plain_facts["output"].astype(arrays[0].dtype)
    actual = observed(observe(*arrays, **{"top": TOP, "map": MAP} | engine.asked, **arguments))
    size = score_size(*arrays[:2], true, **arguments)
    for name, fact in actual.items():
        limit = allowed(name, expected[name], plain_facts[name], size)
        assert np.isfinite(fact[np.isfinite(expected[name])]).all(), name
        assert worst(fact, expected[name]) <= limit, name


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_statistics_are_never_narrower_than_float32(dtype):
    arrays = CASES[0].arrays(dtype)
    facts = observed(observe(*arrays))
    assert facts.pop("output").dtype == dtype == attention(*arrays).dtype
    assert {x: fact.dtype for x, fact in facts.items()} == {
        x: WIDE.get(x, np.float32) for x in facts
    }


def test_mixed_dtypes_give_the_widest():
    query, key, value = CASES[0].arrays()
    output = attention(query.astype(np.float16), key, value.astype(np.float32))
    assert output.dtype == np.float64
    expected = specification(query.astype(np.float16), key, value.astype(np.float32)).output
    np.testing.assert_allclose(output, expected, atol=1e-14)


def test_values_near_the_end_of_float32_do_not_overflow():
    ones = np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(attention(ones, ones, 3e38 * ones), 3e38 * ones)
