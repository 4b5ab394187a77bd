"""The kernel for repeats against the host's, which is tested weight by weight."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from regard.engine.gpu import triton_facts  # noqa: E402
from regard.engine.gpu.call import device_call  # noqa: E402
from regard.engine.gpu.dispatch import observe_on_device  # noqa: E402
from regard.engine.gpu.lazy import LazyProblem  # noqa: E402
from regard.engine.observe import observe  # noqa: E402
from regard.engine.tensors import as_array  # noqa: E402
from regard.engine.tiles.rows import Requested  # noqa: E402
from regard.heads.measures import head_measures, uniform_baseline  # noqa: E402
from regard.heads.repeats import repeat_sums  # noqa: E402
from regard.textbook.options import DEFAULT_OPTIONS  # noqa: E402

RANDOM = np.random.default_rng(7)
SOME = RANDOM.integers(0, 9, 60)
TOKENS = {
    "some": SOME,
    "all equal": np.full(60, 5),
    "each once": np.arange(60)[::-1].copy(),
    "one twice": np.r_[np.arange(59), 0],
    "before anybody watched": np.where(np.arange(60) < 30, -1, SOME),
}


@dataclass(frozen=True)
class Case:
    """Heads, queries, tokens and arguments; 60 keys of 2 heads."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    tokens: str = "some"
    queries: int = 60
    width: int = 8
    dtype: Any = torch.float32
    batch: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def tensors(self):
        generator = torch.Generator().manual_seed(3)
        leading = (self.batch,) if self.batch else ()
        shapes = (*leading, 4, self.queries, self.width), (*leading, 2, 60, self.width)
        return [torch.randn(x, generator=generator).to(self.dtype) for x in shapes]


CAUSAL = {"causal": True}
CASES = (
    Case("causal", CAUSAL),
    Case("not causal"),
    Case("the last queries", CAUSAL | {"offset": 37}, queries=23),
    Case("queries in the middle", CAUSAL | {"offset": 11}, queries=20),
    Case("queries before the first key", {"offset": -7, "causal": True}),
    Case("queries after the last key", {"offset": 50}, queries=30),
    Case("window", {"window": (9, 2)}),
    Case("window of equal tokens", {"window": (3, 0)}, "all equal"),
    Case("causal window, offset", CAUSAL | {"window": (6, None), "offset": 20}, queries=40),
    Case("one length", CAUSAL | {"lengths": 41}),
    Case("lengths", {"lengths": np.array([60, 17, 0])}, batch=3),
    Case("softcap", CAUSAL | {"softcap": 2.0}),
    Case("scale", CAUSAL | {"scale": 0.05}),
    Case("all tokens equal", CAUSAL, "all equal"),
    Case("no token twice", CAUSAL, "each once"),
    Case("one token twice", CAUSAL, "one twice"),
    Case("tokens nobody knows", CAUSAL, "before anybody watched"),
    Case("odd width", CAUSAL, width=21),
    Case("float16", CAUSAL, dtype=torch.float16),  # bfloat16 the interpreter has not
    Case("one query", CAUSAL | {"offset": 59}, queries=1),
)


def assert_equal(actual, expected) -> None:
    for name, sums in expected.items():
        # 60 queries whose weights are float32, of scores below 16: 16 roundings of each.
        allowed = 60 * 16 * 2.0**-24 * 16
        np.testing.assert_allclose(actual[name][0], sums[0], rtol=0, atol=allowed)
        np.testing.assert_allclose(actual[name][1], sums[1], rtol=1e-13)
        np.testing.assert_array_equal(actual[name][2], sums[2])


def on_host(case: Case):
    query, key = (as_array(x) for x in case.tensors)
    seen = observe(query, key, key, top=0, map=0, **case.arguments)
    problem = seen.parts[0]
    total_hq = seen.logsumexp.reshape(problem.heads, -1)
    return repeat_sums(
        problem, total_hq, TOKENS[case.tokens], uniform_baseline(problem).choices_hq
    ), total_hq


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_kernel_equals_the_host(case):
    expected, total_hq = on_host(case)
    query, key = case.tensors
    call = device_call(query, key, key, DEFAULT_OPTIONS | case.arguments)
    problem = LazyProblem(call, torch.from_numpy(total_hq))
    actual = repeat_sums(
        problem, total_hq, TOKENS[case.tokens], uniform_baseline(problem).choices_hq
    )
    assert_equal(actual, expected)


def test_rows_are_read_where_they_lie():
    """As models lay them out: positions first, then heads; and float32 totals, as cuDNN's."""
    case = CASES[0]
    expected, total_hq = on_host(case)
    query, key = (x.transpose(0, 1).contiguous().transpose(0, 1) for x in case.tensors)
    assert not query.is_contiguous()
    call = device_call(query, key, key, DEFAULT_OPTIONS | case.arguments)
    problem = LazyProblem(call, torch.from_numpy(total_hq).float())
    assert_equal(
        repeat_sums(problem, total_hq, SOME, uniform_baseline(problem).choices_hq), expected
    )


def test_tokens_are_sorted_and_sent_once_for_all_layers():
    triton_facts._token_order.cache_clear()
    query, key = CASES[0].tensors
    call = device_call(query, key, key, DEFAULT_OPTIONS | CAUSAL)
    total_hq = torch.zeros(4, 60)
    for _ in range(3):
        triton_facts.repeats_on_device(call, total_hq, SOME)
    assert triton_facts._token_order.cache_info().misses == 1


def test_measures_of_an_observation_on_a_device_use_the_kernel(monkeypatch):
    query, key = CASES[0].tensors
    requested = Requested(False, True, 0, 8, True, True)
    seen = observe_on_device(query, key, key, requested, DEFAULT_OPTIONS | CAUSAL)
    monkeypatch.setattr(LazyProblem, "device_weights", None)
    monkeypatch.setattr(LazyProblem, "on_host", None)
    expected, _ = on_host(CASES[0])
    measures = head_measures(seen, SOME)
    actual = {x: tuple(vars(getattr(measures, x)).values()) for x in expected}
    assert_equal(actual, expected)
