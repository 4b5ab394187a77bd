"""attention and observe against the specification, fact by fact, for every plan, in float64.

PyTorch is the outside oracle: its fused attention, and its gradient as what keys receive.
"""

from typing import Any

import numpy as np
import pytest
from tests.helpers.attention_cases import CASES, Case
from tests.helpers.attention_facts import MAP, TOP, DenseFacts, observed, score_size, specified

from regard.engine.attention import attention
from regard.engine.observe import observe, observe_from_logsumexp

# A score of d <= 16 terms is off by about sqrt(d) / 2 eps times the size of what cancels in it,
# here and in the specification alike: 2 * 2. Its exponential is off by as much, relatively, and so
# is the sum that divides it: 2 * 4. Twice that is allowed for base 2 and for sums over many keys.
ROUNDINGS = 16
EPS, STEP = np.finfo(np.float64).eps, np.finfo(np.float64).smallest_subnormal


def tolerance(case: Case, expected: DenseFacts) -> float:
    """Roundings of a score, in units of its size; nothing here was tuned to what comes out."""
    return ROUNDINGS * EPS * (1 + score_size(*case.arrays()[:2], expected, **case.arguments))


def assert_facts(
    actual: dict[str, Any], expected: dict[str, Any], case: Case, allowed: float
) -> None:
    """Every fact, relative to 1 or to itself; the output relative to the values."""
    value = case.arrays()[2]
    # A product with a subnormal value is off by half a step of the subnormals, one for each key.
    output_atol = allowed * np.abs(value).max(initial=0) + value.shape[-2] * STEP
    for name, fact in actual.items():
        atol = output_atol if name == "output" else allowed
        np.testing.assert_allclose(fact, expected[name], rtol=allowed, atol=atol, err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_attention_equals_the_specification(case, engine):
    expected = specified(case)
    output = attention(*case.arrays(), **case.arguments)
    assert output.dtype == np.float64
    assert_facts({"output": output}, expected.facts(), case, tolerance(case, expected))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_observe_equals_the_specification(case, engine):
    expected = specified(case)
    seen = observe(*case.arrays(), **{"top": TOP, "map": MAP} | engine.asked, **case.arguments)
    actual = observed(seen)
    assert_facts(actual, expected.facts(), case, tolerance(case, expected))
    assert {fact.dtype for fact in actual.values()} == {np.dtype(np.float64)}
    assert seen.cost.plan == engine.plan or not seen.queries


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_best_keys_are_the_ones_with_those_weights(case, engine):
    expected = specified(case)
    best = observe(*case.arrays(), **{"top": TOP} | engine.asked, **case.arguments).top()
    padded = np.pad(expected.weights, [(0, 0)] * (expected.weights.ndim - 1) + [(0, TOP + 1)])
    at_keys = np.take_along_axis(padded, best.keys, axis=-1)  # key -1 is the last zero
    np.testing.assert_allclose(best.weights, at_keys, atol=tolerance(case, expected))
    in_order = np.sort(np.where(best.keys < 0, -1 - np.arange(TOP), best.keys), axis=-1)
    assert (np.diff(in_order) > 0).all()  # no key twice
    assert ((best.keys >= 0) == (best.weights > 0)).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_observing_from_a_logsumexp_gives_every_fact_but_the_output(case, engine):
    query, key, _ = case.arrays()
    expected = specified(case)
    asked = {"top": TOP, "map": MAP} | engine.asked | case.arguments
    seen = observe_from_logsumexp(query, key, expected.logsumexp(), **asked)
    actual = observed(seen)
    assert "output" not in actual
    assert_facts(actual, expected.facts(), case, tolerance(case, expected))


@pytest.mark.parametrize("engine_asks", [{}, {"top": 0, "map": 0, "received": False}], ids=str)
@pytest.mark.smoke
def test_the_output_is_the_same_with_and_without_observing(engine_asks):
    case = next(case for case in CASES if case.name == "all together")
    seen = observe(*case.arrays(), **engine_asks, **case.arguments)
    output = attention(*case.arrays(), **case.arguments)
    np.testing.assert_allclose(seen.output, output, atol=8 * EPS)


RANDOM = np.random.default_rng(0)
BIAS = np.where(RANDOM.random((50, 70)) < 0.3, -np.inf, RANDOM.standard_normal((50, 70)))
BIAS[:, 0] = 0  # PyTorch gives NaN to a row that sees nothing
ORACLE_CASES = {
    "plain": {},
    "scale": {"scale": 0.3},
    "bool mask": {"mask": np.isfinite(BIAS)},
    "float mask": {"mask": BIAS},
    "mask of heads": {"mask": np.stack([BIAS > -1, BIAS > 0, BIAS > -2, BIAS > -3]) | (BIAS == 0)},
}
# Both sum d = 16 and k = 70 terms, in whatever order: sqrt(70) roundings each, of numbers up to 4.
ALLOWED = {np.float64: 64 * np.finfo(np.float64).eps, np.float32: 64 * np.finfo(np.float32).eps}


@pytest.fixture
def torch():
    """PyTorch with one thread: those that wait by spinning starve the others on a busy machine."""
    torch = pytest.importorskip("torch", reason="torch, the outside oracle, is not installed")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(before)


def arrays(dtype, heads=4, queries=50, keys=70):
    shapes = (2, 4, queries, 16), (2, heads, keys, 16), (2, heads, keys, 24)
    random = np.random.default_rng(1)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def fused(torch, query, key, value, *, mask=None, scale=None, causal=False):
    """PyTorch's own, key heads repeated by hand."""
    group = query.shape[-3] // key.shape[-3]
    tensors = [
        torch.from_numpy(x) for x in (query, *(np.repeat(x, group, -3) for x in (key, value)))
    ]
    if mask is not None:
        mask = torch.from_numpy(mask if mask.dtype == bool else mask.astype(query.dtype))
    return torch.nn.functional.scaled_dot_product_attention(
        *tensors, attn_mask=mask, scale=scale, is_causal=causal
    ).numpy()


@pytest.mark.parametrize("dtype", ALLOWED, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("heads", [4, 2, 1])
@pytest.mark.parametrize("name", ORACLE_CASES)
def test_output_equals_pytorch(torch, name, heads, dtype):
    inputs = arrays(dtype, heads)
    expected = fused(torch, *inputs, **ORACLE_CASES[name])
    np.testing.assert_allclose(
        attention(*inputs, **ORACLE_CASES[name]), expected, atol=ALLOWED[dtype]
    )


@pytest.mark.parametrize("dtype", ALLOWED, ids=lambda dtype: dtype.__name__)
def test_causal_output_equals_pytorch(torch, dtype):
    inputs = arrays(dtype, queries=70)
    expected = fused(torch, *inputs, causal=True)
    np.testing.assert_allclose(attention(*inputs, causal=True), expected, atol=ALLOWED[dtype])


@pytest.mark.parametrize("causal", [False, True], ids=["everywhere", "causal"])
def test_received_is_the_gradient_of_the_output_with_respect_to_value(torch, causal):
    """At 8,192 tokens all the weights would be 268 MB; neither side ever holds them."""
    tokens = 8192
    query, key = (RANDOM.standard_normal((1, 1, tokens, 16)).astype(np.float32) for _ in range(2))
    value = torch.zeros((1, 1, tokens, 16), requires_grad=True)
    output = torch.nn.functional.scaled_dot_product_attention(
        torch.from_numpy(query), torch.from_numpy(key), value, is_causal=causal
    )
    output[..., 0].sum().backward()
    seen = observe(query, key, np.zeros((1, 1, tokens, 1), np.float32), causal=causal)
    # Each sum of up to 8,192 float32 weights is off by sqrt(8192) = 90 roundings, on both sides.
    eps = np.finfo(np.float32).eps
    np.testing.assert_allclose(
        seen.received, value.grad[..., 0].numpy(), rtol=180 * eps, atol=180 * eps
    )
    assert abs(seen.received.sum(dtype=np.float64) - tokens) < tokens * 8 * eps
    could_see = np.arange(1, tokens + 1) if causal else np.full(tokens, tokens)
    assert (seen.entropy >= 0).all()
    assert (seen.entropy <= np.log(could_see) + 64 * eps).all()
    np.testing.assert_allclose(seen.map.sum(axis=-1), 1, atol=64 * eps)
