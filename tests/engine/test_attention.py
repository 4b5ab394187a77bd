"""attention and observe against the specification, fact by fact, for every plan, in float64."""

from typing import Any

import numpy as np
import pytest
from tests.helpers.attention_cases import CASES, Case
from tests.helpers.attention_facts import MAP, TOP, Whole, observed, score_size, whole

from regard.engine.attention import attention
from regard.engine.observe import observe, observe_from_logsumexp

# A score of d <= 16 terms is off by about sqrt(d) / 2 eps times the size of what cancels in it,
# here and in the specification alike: 2 * 2. Its exponential is off by as much, relatively, and so
# is the sum that divides it: 2 * 4. Twice that is allowed for base 2 and for sums over many keys.
ROUNDINGS = 16
EPS, STEP = np.finfo(np.float64).eps, np.finfo(np.float64).smallest_subnormal


def tolerance(case: Case, expected: Whole) -> float:
    """Roundings of a score, in units of its size; nothing here was tuned to what comes out."""
    return ROUNDINGS * EPS * (1 + score_size(*case.arrays()[:2], expected, **case.arguments))


def assert_facts(
    found: dict[str, Any], expected: dict[str, Any], case: Case, allowed: float
) -> None:
    """Every fact, relative to 1 or to itself; the output relative to the values."""
    value = case.arrays()[2]
    # A product with a subnormal value is off by half a step of the subnormals, one for each key.
    output_atol = allowed * np.abs(value).max(initial=0) + value.shape[-2] * STEP
    for name, fact in found.items():
        atol = output_atol if name == "output" else allowed
        np.testing.assert_allclose(fact, expected[name], rtol=allowed, atol=atol, err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_attention_equals_the_specification(case, engine):
    expected = whole(*case.arrays(), **case.arguments)
    output = attention(*case.arrays(), **case.arguments)
    assert output.dtype == np.float64
    assert_facts({"output": output}, expected.facts(), case, tolerance(case, expected))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_observe_equals_the_specification(case, engine):
    expected = whole(*case.arrays(), **case.arguments)
    seen = observe(*case.arrays(), **{"top": TOP, "map": MAP} | engine.asked, **case.arguments)
    found = observed(seen)
    assert_facts(found, expected.facts(), case, tolerance(case, expected))
    assert {fact.dtype for fact in found.values()} == {np.dtype(np.float64)}
    assert seen.cost.plan == engine.plan or not seen.queries


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_best_keys_are_the_ones_with_those_weights(case, engine):
    expected = whole(*case.arrays(), **case.arguments)
    best = observe(*case.arrays(), **{"top": TOP} | engine.asked, **case.arguments).top()
    padded = np.pad(expected.weights, [(0, 0)] * (expected.weights.ndim - 1) + [(0, TOP + 1)])
    at_keys = np.take_along_axis(padded, best.keys, axis=-1)  # key -1 is the last zero
    np.testing.assert_allclose(best.weights, at_keys, atol=tolerance(case, expected))
    in_order = np.sort(np.where(best.keys < 0, -1 - np.arange(TOP), best.keys), axis=-1)
    assert (np.diff(in_order) > 0).all()  # no key twice
    assert ((best.keys >= 0) == (best.weights > 0)).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_observing_from_a_logsumexp_gives_every_fact_but_the_output(case, engine):
    query, key, value = case.arrays()
    expected = whole(query, key, value, **case.arguments)
    asked = {"top": TOP, "map": MAP} | engine.asked | case.arguments
    seen = observe_from_logsumexp(query, key, expected.logsumexp(), **asked)
    found = observed(seen)
    assert "output" not in found
    assert_facts(found, expected.facts(), case, tolerance(case, expected))


@pytest.mark.parametrize("engine_asks", [{}, {"top": 0, "map": 0, "received": False}], ids=str)
@pytest.mark.smoke
def test_the_output_is_the_same_with_and_without_observing(engine_asks):
    case = next(case for case in CASES if case.name == "all together")
    seen = observe(*case.arrays(), **engine_asks, **case.arguments)
    output = attention(*case.arrays(), **case.arguments)
    np.testing.assert_allclose(seen.output, output, atol=8 * EPS)
