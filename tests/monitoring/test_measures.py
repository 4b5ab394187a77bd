"""Measures of every head against their definitions in float64, from stored scores."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.helpers.small_training import (
    Attention,
    HandwrittenAttention,
    Model,
    Training,
    batch,
    louder,
    reference,
    stored_scores,
)

import regard
from regard.engine.native.library import native_state
from regard.monitoring import health
from regard.monitoring.certificate import Spread, spread_sums, spreads
from regard.monitoring.health import MEASURES
from regard.watcher.seam.call import AttentionCall

# The model computes in float32: a score is a dot product of four features of inputs with an error
# of some 16 roundings, and a measure is a mean of smooth functions of scores.
TOLERANCE = {"rtol": 64 * 2**-24, "atol": 64 * 2**-24}
SEEN_IN_WEIGHTS = set(MEASURES) - {"query_norm", "key_norm"}  # a program keeps no query by hand


def observed(training, *batches, **options):
    """What a monitor tells of one step."""
    seen = []
    with regard.monitor(training.model, to=seen.append, on_error="raise", **options):
        training.step(*batches)
    return seen[0]


@pytest.mark.parametrize("times", [1, 50], ids=["quiet", "loud"])
def test_every_measure_equals_its_definition(times):
    training = Training(louder(Model(), 1, times))
    expected = reference(training.model, batch())
    health = observed(training)
    assert set(expected) == set(health.measures) == set(MEASURES)
    for name, numbers in expected.items():
        # Scores of 50 times the size carry 50 times the error.
        rtol, atol = TOLERANCE["rtol"] * times, TOLERANCE["atol"] * times
        np.testing.assert_allclose(health[name], numbers, rtol=rtol, atol=atol, err_msg=name)


def test_of_queries_that_see_one_key_there_is_no_smallest_entropy():
    maxima, sums = np.full((1, 3), -np.inf), np.zeros((1, len(health.SUMS)))
    assert np.isnan(health.measures(sums, maxima, Spread(*np.zeros((3, 1))))["min_entropy"]).all()
    alone = AttentionCall(query=torch.ones(1, 1, 1, 4), key=torch.ones(1, 1, 1, 4), causal=True)
    assert health.head_sums(alone, None).maxima[0, 1] == -torch.inf


def test_measures_of_attention_written_by_hand():
    training = Training(Model(HandwrittenAttention))
    expected = reference(training.model, batch())
    with_bound = observed(training, batch())
    for name in SEEN_IN_WEIGHTS - {"bound", "score"}:
        np.testing.assert_allclose(with_bound[name], expected[name], **TOLERANCE, err_msg=name)
    for name in set(MEASURES) - SEEN_IN_WEIGHTS:
        assert np.isnan(with_bound[name]).all()


def test_scores_of_attention_written_by_hand_from_the_second_step_on():
    training, seen = Training(Model(HandwrittenAttention)), []
    with regard.monitor(training.model, every=1, to=seen.append, on_error="raise"):
        training.step()
        expected = reference(training.model, batch())
        training.step()
    np.testing.assert_allclose(seen[1]["score"], expected["score"], **TOLERANCE)


@pytest.mark.parametrize("masked", [False, True])
def test_the_spread_of_the_scores_over_queries_and_over_sentences(masked):
    generator = torch.Generator().manual_seed(0)
    parts = [torch.randn(size, 2, 5, generator=generator) for size in (3, 4)]
    live = torch.rand(7, 1, 5, generator=generator) < 0.7 if masked else torch.ones(7, 1, 5) > 0
    found = spreads(
        sum(
            spread_sums(AttentionCall(logsumexp=x), own if masked else None)
            for x, own in zip(parts, live.split([3, 4]), strict=True)
        ).numpy()
    )
    for head in range(2):
        own = [x[:, head].double().numpy() for x in parts]
        seen = [x[:, 0].numpy() for x in live.split([3, 4])]
        counted = np.concatenate([x[y] for x, y in zip(own, seen, strict=True)])
        np.testing.assert_allclose(found.mean[head], counted.mean(), rtol=1e-6)
        np.testing.assert_allclose(found.std[head], counted.std(), rtol=1e-6)
        columns = [x[y[:, q], q] for x, y in zip(own, seen, strict=True) for q in range(5)]
        squares = sum(((x - x.mean()) ** 2).sum() for x in columns if len(x))
        freedom = sum(len(x) - 1 for x in columns if len(x))
        np.testing.assert_allclose(found.within[head], (squares / freedom) ** 0.5, rtol=1e-6)


def test_micro_batches_of_a_step_are_merged():
    training = Training(Model())
    batches = [batch(1), batch(2), batch(3)]
    expected = reference(training.model, torch.cat(batches))
    health = observed(training, *batches)
    for name, numbers in expected.items():
        np.testing.assert_allclose(health[name], numbers, **TOLERANCE, err_msg=name)


def test_a_sample_of_rows_is_seeded_and_counts_those_rows_only():
    model, ids_bt = Model(), batch(tokens=40)
    first, again, other = (
        observed(Training(model, rate=0.0), ids_bt, rows=8, seed=seed) for seed in (3, 3, 4)
    )
    assert np.array_equal(first["entropy"], again["entropy"])
    assert not np.array_equal(first["entropy"], other["entropy"])
    rows = np.sort(np.random.default_rng([3, 0, 40]).choice(40, 8, replace=False))
    weights = [x[0].softmax(-1)[:, :, rows] for x in stored_scores(model, ids_bt)]
    expected = torch.cat([torch.special.entr(x).sum(-1).mean((0, 2)) for x in weights])
    np.testing.assert_allclose(first["entropy"], expected, **TOLERANCE)


def test_the_bound_holds_from_both_sides():
    training = Training(louder(Model(), 0, 20))
    health = observed(training)
    assert (health["score"] <= health["bound"]).all()
    for score, bound in zip(health["score"], health["bound"], strict=True):
        assert bound - np.log(7) <= score


THRESHOLD = 5.0


@pytest.mark.parametrize("attention", [Attention, HandwrittenAttention])
def test_max_scores_equal_the_stored_ones_above_the_threshold(attention):
    training = Training(louder(Model(attention), 1, 60))
    monitor = regard.monitor(
        training.model, every=10**6, step=1, threshold=THRESHOLD, on_alert="log", on_error="raise"
    )
    with monitor:
        training.step()  # the first forward is always observed
        monitor.max_scores()
        expected = np.full(8, -np.inf)
        for number in range(3):
            expected = np.maximum(expected, reference(training.model, batch(number))["score"])
            training.step(batch(number))
        found = monitor.max_scores()
    numbers = torch.cat([found["layers.0"], found["layers.1"]]).numpy()
    loud = expected > THRESHOLD
    assert loud[4:].any()
    assert not loud[:4].any()
    # Scores are 60 times those of the tolerance above.
    np.testing.assert_allclose(numbers[loud], expected[loud], rtol=60 * 64 * 2**-24)
    known = np.isfinite(numbers)  # by hand all scores are there; a fused kernel hides the others
    assert (known == (loud | (attention is HandwrittenAttention))).all()
    np.testing.assert_allclose(numbers[known], expected[known], rtol=60 * 64 * 2**-24)


def test_max_scores_begin_anew_with_every_call():
    training = Training(louder(Model(), 1, 60), rate=0.0)
    monitor = regard.monitor(training.model, threshold=THRESHOLD, on_alert="log", on_error="raise")
    with monitor:
        training.step()
        before = monitor.max_scores()["layers.1"]
        louder(training.model, 1, 1 / 2)
        training.step()
        after = monitor.max_scores()["layers.1"]
        assert (after < before)[after.isfinite()].all()
        assert after.isfinite().any()
        assert monitor.max_scores() == {}


def test_heads_below_the_threshold_cost_nothing(monkeypatch):
    asked, exact = [], health.largest_scores
    monkeypatch.setattr(health, "largest_scores", lambda *x: (asked.append(x[1]), exact(*x))[1])
    training = Training(louder(Model(), 1, 60), rate=0.0)
    with regard.monitor(training.model, threshold=THRESHOLD, on_alert="log", on_error="raise"):
        for _ in range(3):
            training.step()
    loud = np.flatnonzero(reference(training.model, batch())["bound"] > THRESHOLD)
    assert asked == [[head - 4 for head in loud]] * 2  # the first step is observed: all is known


def events(dtype):
    """Attentions with all that a call can have, by name."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return (2 * torch.randn(shape, generator=generator)).to(dtype)

    query, key, few = normal(2, 4, 30, 8), normal(2, 2, 30, 8), normal(2, 2, 11, 8)
    visible = torch.rand((2, 4, 30, 30), generator=generator) < 0.5
    visible[0, 1, 3] = False  # a query that sees nothing
    bias = torch.where(visible, normal(30, 30), -torch.inf)
    lowest = torch.zeros(30, 30, dtype=dtype)
    lowest[:, 20:], lowest[5] = -1e9, -1e20  # evenly spread, in float64 too
    return {
        "causal": AttentionCall(query=query, key=key, causal=True),
        "cross": AttentionCall(query=query, key=few),
        "causal, fewer keys": AttentionCall(query=query, key=few, causal=True),
        "bool mask": AttentionCall(query=query, key=key, mask=visible),
        "bool mask of all heads": AttentionCall(query=query, key=key, mask=visible[:, :1]),
        "padding": AttentionCall(query=query, key=key, mask=visible[:, :1, :1]),
        "added mask": AttentionCall(query=query, key=key, mask=bias.to(dtype)),
        "added mask of low numbers": AttentionCall(query=query, key=key, mask=lowest),
        "softcap, scale": AttentionCall(query=query, key=key, causal=True, softcap=3.0, scale=0.7),
        "one query": AttentionCall(query=query[:, :, :1], key=key),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", events(torch.float32))
def test_native_kernels_give_the_same_numbers(name, dtype):
    if native_state().level is None:
        pytest.skip(f"NumPy serves here: {native_state().reason}")
    event = events(dtype)[name]
    wide = {
        x: tensor.double()
        for x in ("query", "key", "mask")
        if (tensor := getattr(event, x)) is not None and tensor.is_floating_point()
    }
    event = replace(event, scale=event.scale or 0.35)
    sums, maxima = health._native_sums(event)
    right_sums, right_maxima = health.sums_in_chunks(replace(event, **wide))
    # Scores below 40 in float32, summed over 60 queries.
    tolerance = 64 * 2**-24 * 40
    np.testing.assert_allclose(maxima, right_maxima, rtol=64 * 2**-24, atol=tolerance)
    np.testing.assert_allclose(sums, right_sums, rtol=0, atol=60 * tolerance)
    largest = health.largest_scores(event, [1, 3])
    np.testing.assert_allclose(largest, right_maxima[[1, 3], 0], rtol=64 * 2**-24, atol=tolerance)


def test_kernels_for_a_gpu_give_the_same_numbers_under_the_interpreter():
    pytest.importorskip("triton", reason="needs triton")
    from regard.engine.gpu import health as gpu
    from regard.monitoring.health import sums_in_chunks
    from regard.watcher.seam.call import AttentionCall

    generator = torch.Generator().manual_seed(0)
    query = 3 * torch.randn(2, 4, 70, 16, generator=generator)
    key = 3 * torch.randn(2, 2, 70, 16, generator=generator)
    wide = key.repeat_interleave(2, 1).double()
    scores = query.double() @ wide.transpose(-1, -2) / 4
    for rows in (None, torch.tensor([0, 1, 33, 69], dtype=torch.int32)):
        event = AttentionCall(query=query, key=key, causal=True)
        expected = sums_in_chunks(event, rows)
        hidden = torch.ones(70, 70, dtype=torch.bool).triu(1)
        total = scores.masked_fill(hidden, -torch.inf).logsumexp(-1).float()
        found = gpu.row_sums(query, key, total, scale=0.25, causal=True, rows=rows)
        for ours, theirs in zip(found, expected, strict=True):
            # Scores of up to 60 in float32: their error is the relative error of a weight.
            torch.testing.assert_close(ours, theirs, rtol=60 * 16 * 2**-24, atol=1e-3)
    largest = torch.full((4,), -torch.inf)
    bound = torch.tensor([9.0, 0.0, 9.0, 0.0])
    gpu.join_largest(query, key, bound, largest, threshold=1.0, scale=0.25, causal=True)
    exact = scores.masked_fill(hidden, -torch.inf).amax((0, 2, 3)).float()
    torch.testing.assert_close(largest[[0, 2]], exact[[0, 2]], rtol=16 * 2**-24, atol=0)
    assert (largest[[1, 3]] == -torch.inf).all()


class Dropping(Attention):
    """Attention with dropout, for which torch has no fused kernel on a CPU."""

    def attend(self, query, key, value):
        options = {"is_causal": True, "enable_gqa": True, "dropout_p": 0.1}
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)


def test_scores_are_known_where_dropout_leaves_no_kernel():
    health = observed(Training(louder(Model(Dropping), 1, 8)))
    assert np.isfinite(health["score"]).all()
    # The bound is read from the scores of torch's own softmax, the score from query and key.
    np.testing.assert_allclose(health["bound"], health["score"], **TOLERANCE)
