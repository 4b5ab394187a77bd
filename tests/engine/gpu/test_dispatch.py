"""Every path for tensors on a device against the specification, on the CPU: chunks and kernels."""

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.attention_cases import CASES, Case
from tests.helpers.attention_facts import (
    MAP,
    TOP,
    DenseFacts,
    observed,
    score_size,
    specification,
    specified,
)

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from regard.engine.call import Requested  # noqa: E402
from regard.engine.gpu.call import device_call, reasons_against_kernels  # noqa: E402
from regard.engine.gpu.dispatch import build_observation  # noqa: E402
from regard.engine.gpu.torch_path import facts_in_chunks  # noqa: E402
from regard.engine.gpu.triton_path import facts_by_kernels  # noqa: E402
from regard.engine.observe import observe  # noqa: E402
from regard.engine.pairs import sums_by_span  # noqa: E402
from regard.heads.measures import head_measures  # noqa: E402
from regard.textbook.options import DEFAULT_OPTIONS  # noqa: E402

EVERYTHING = Requested(True, True, TOP, MAP, True, True)
# As in test_attention: 16 roundings of a score, in units of its size, of whichever dtype.
ROUNDINGS = 16
# The interpreter takes a second for a head's best keys: they are found in these cases only.
WITH_BEST = ("2-D", "causal, the last queries", "window, offset", "length of 2-D", "one key")
SLOW = ("one query, many keys", "more tiles than one span", "three batch axes", "two batch axes",
        "one batch axis", "one key head for all", "grouped heads in one unit")  # fmt: skip


def call_of(case: Case, dtype):
    tensors = [torch.from_numpy(np.ascontiguousarray(array)) for array in case.arrays(dtype)]
    return device_call(*tensors, DEFAULT_OPTIONS | case.arguments)


def allowed(case: Case, expected: DenseFacts, dtype) -> float:
    size = score_size(*case.arrays()[:2], expected, **case.arguments)
    return ROUNDINGS * np.finfo(dtype).eps * (1 + size)


def assert_equal(seen, expected: DenseFacts, case: Case, dtype) -> None:
    rough = allowed(case, expected, dtype)
    value = np.abs(case.arrays()[2]).max(initial=0)
    tiny = case.arrays()[2].shape[-2] * np.finfo(dtype).smallest_subnormal
    for name, fact in observed(seen).items():
        atol = rough * value + tiny if name == "output" else rough
        exact = expected.facts()[name]
        np.testing.assert_allclose(np.asarray(fact), exact, rtol=rough, atol=atol, err_msg=name)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_chunks_equal_the_specification(case):
    call = call_of(case, np.float64)
    expected = specified(case)
    seen = build_observation(call, EVERYTHING, facts_in_chunks(call, EVERYTHING), "chunks", None)
    assert_equal(seen, expected, case, np.float64)


def served(case: Case) -> bool:
    quiet = "1e4" not in case.name and "1e6" not in case.name and case.name not in SLOW
    return quiet and not reasons_against_kernels(call_of(case, np.float32), EVERYTHING)


@pytest.mark.parametrize("case", [case for case in CASES if served(case)], ids=str)
def test_kernels_equal_the_specification(case):
    call = call_of(case, np.float32)
    expected = specified(case, np.float32)
    requested = EVERYTHING if case.name in WITH_BEST else replace(EVERYTHING, top=0)
    actual = facts_by_kernels(call, requested, None)
    seen = build_observation(call, requested, actual, "kernels", None)
    assert_equal(seen, expected, case, np.float32)


@pytest.mark.parametrize("find", [facts_in_chunks, facts_by_kernels])
def test_a_part_from_the_logsumexp_of_the_whole(find):
    random = np.random.default_rng(0)
    query, key = (random.standard_normal((2, n, 8)).astype(np.float32) for n in (20, 40))
    full = specification(query, key, key)
    total_hq = torch.from_numpy(full.logsumexp())
    requested = Requested(False, True, 0, 0, True, False)
    tensors = [torch.from_numpy(x) for x in (query, key[:, :15].copy())]
    call = device_call(tensors[0], tensors[1], tensors[1][..., :0], DEFAULT_OPTIONS)
    actual = find(call, requested, total_hq)
    weights = full.weights[..., :15]
    share = -(weights * np.log(weights)).sum(axis=-1)
    np.testing.assert_allclose(actual.entropy_hq.numpy(), share, atol=1e-5)
    np.testing.assert_allclose(actual.received_hk.numpy(), weights.sum(axis=1), rtol=1e-5)


def test_rows_whose_candidates_may_lack_a_key_are_rechecked():
    """Five best keys in one group of a tile: two are kept of it, the others found afterwards."""
    random = np.random.default_rng(1)
    key = random.standard_normal((1, 64, 16)).astype(np.float32)
    query = random.standard_normal((1, 4, 16)).astype(np.float32)
    near = [0, 1, 8, 9, 16]  # columns 8 j + b: one thread's
    key[0, near] = 2 * query[0, 0] + 0.1 * random.standard_normal((5, 16))
    expected = specification(query, key, key)
    call = device_call(*(torch.from_numpy(x) for x in (query, key, key)), DEFAULT_OPTIONS)
    actual = facts_by_kernels(call, Requested(False, False, 6, 0, False, False), None)
    best = np.argsort(-expected.weights, axis=-1)[..., :6]
    np.testing.assert_array_equal(actual.keys_hqn.numpy(), best)
    assert set(near) <= set(best[0, 0].tolist())


@pytest.mark.parametrize("softcap", [None, 2.0])
def test_measures_of_heads_come_from_where_query_and_key_lie(softcap, monkeypatch):
    """Tokens that repeat, heads that share keys; sums of float32 weights, a few roundings off."""
    monkeypatch.delenv("TRITON_INTERPRET")  # as on a device that has no kernels
    random = np.random.default_rng(4)
    query, key = (random.standard_normal((h, 60, 8)).astype(np.float32) for h in (4, 2))
    tokens = random.integers(0, 9, 60)
    arguments = {"causal": True, "softcap": softcap}
    expected = head_measures(observe(query, key, key, map=8, **arguments), tokens)
    call = device_call(
        *(torch.from_numpy(x) for x in (query, key, key)), DEFAULT_OPTIONS | arguments
    )
    requested = Requested(False, True, 0, 8, True, True)
    seen = build_observation(call, requested, facts_in_chunks(call, requested), "chunks", None)
    seen.parts[0].on_host = None  # nothing is to come from the host's copy
    actual = head_measures(seen, tokens)
    for name in ("duplicate", "induction"):
        one, other = getattr(actual, name), getattr(expected, name)
        np.testing.assert_allclose(one.sum_h, other.sum_h, rtol=1e-5)
        np.testing.assert_array_equal(one.uniform_h, other.uniform_h)
    edges = np.array([0, 7, 31, 60])
    total_hq = seen.logsumexp.reshape(4, -1)
    sums = sums_by_span(seen.parts[0], total_hq, edges, edges)
    host = sums_by_span(observe(query, key, key, **arguments).parts[0], total_hq, edges, edges)
    np.testing.assert_allclose(sums, host, rtol=1e-5, atol=1e-7)


def test_a_key_that_gets_no_weight_is_no_best_key():
    """Scores of 400 and 0: weights of 1 and of e^-400, which is 0 in float32."""
    query, key = np.full((1, 2, 16), 10, np.float32), np.zeros((1, 40, 16), np.float32)
    key[0, 7] = 10
    call = device_call(*(torch.from_numpy(x) for x in (query, key, key)), DEFAULT_OPTIONS)
    actual = facts_by_kernels(call, Requested(False, False, 3, 0, False, False), None)
    np.testing.assert_array_equal(actual.weights_hqn.numpy(), [[[1, 0, 0]] * 2])
    np.testing.assert_array_equal(actual.keys_hqn.numpy(), [[[7, -1, -1]] * 2])


def test_sixteen_best_keys():
    random = np.random.default_rng(2)
    query, key = (random.standard_normal((1, n, 16)).astype(np.float16) for n in (3, 70))
    expected = specification(query, key, key)
    call = device_call(*(torch.from_numpy(x) for x in (query, key, key)), DEFAULT_OPTIONS)
    actual = facts_by_kernels(call, Requested(False, False, 16, 0, False, False), None)
    best = np.argsort(-expected.weights, axis=-1)[..., :16]
    np.testing.assert_array_equal(actual.keys_hqn.numpy(), best)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"mask": np.ones((3, 3), bool)}, "a mask is given"),
        ({"mask": lambda q, k: k <= q}, "a mask is given"),
        ({"scale": 1e-12}, "scale or softcap is outside 1e-9 to 1e9"),
    ],
)
def test_what_kernels_cannot_serve_goes_to_chunks(arguments, reason):
    x = torch.ones(1, 3, 16)
    call = device_call(x, x, x, DEFAULT_OPTIONS | arguments)
    assert reasons_against_kernels(call, EVERYTHING)[0].startswith(reason)
