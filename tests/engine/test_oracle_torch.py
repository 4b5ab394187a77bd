"""PyTorch as the outside oracle: its fused attention, and its gradient as what keys receive."""

import numpy as np
import pytest

from regard.engine.attention import attention
from regard.engine.observe import observe

torch = pytest.importorskip("torch", reason="torch, the outside oracle, is not installed")

RANDOM = np.random.default_rng(0)
BIAS = np.where(RANDOM.random((50, 70)) < 0.3, -np.inf, RANDOM.standard_normal((50, 70)))
BIAS[:, 0] = 0  # PyTorch gives NaN to a row that sees nothing
CASES = {
    "plain": {},
    "scale": {"scale": 0.3},
    "bool mask": {"mask": np.isfinite(BIAS)},
    "float mask": {"mask": BIAS},
    "mask of heads": {"mask": np.stack([BIAS > -1, BIAS > 0, BIAS > -2, BIAS > -3]) | (BIAS == 0)},
}
# Both sum d = 16 and k = 70 terms, in whatever order: sqrt(70) roundings each, of numbers up to 4.
ALLOWED = {np.float64: 64 * np.finfo(np.float64).eps, np.float32: 64 * np.finfo(np.float32).eps}


@pytest.fixture(autouse=True)
def one_torch_thread():
    """Threads that wait by spinning starve the others on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def arrays(dtype, heads=4, queries=50, keys=70):
    shapes = (2, 4, queries, 16), (2, heads, keys, 16), (2, heads, keys, 24)
    random = np.random.default_rng(1)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def fused(query, key, value, *, mask=None, scale=None, causal=False):
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
@pytest.mark.parametrize("name", CASES)
def test_output_equals_pytorch(name, heads, dtype):
    inputs = arrays(dtype, heads)
    expected = fused(*inputs, **CASES[name])
    np.testing.assert_allclose(attention(*inputs, **CASES[name]), expected, atol=ALLOWED[dtype])


@pytest.mark.parametrize("dtype", ALLOWED, ids=lambda dtype: dtype.__name__)
def test_causal_output_equals_pytorch(dtype):
    inputs = arrays(dtype, queries=70)
    expected = fused(*inputs, causal=True)
    np.testing.assert_allclose(attention(*inputs, causal=True), expected, atol=ALLOWED[dtype])


@pytest.mark.parametrize("causal", [False, True], ids=["everywhere", "causal"])
def test_received_is_the_gradient_of_the_output_with_respect_to_value(causal):
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
