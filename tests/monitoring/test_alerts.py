"""Rules over curves made for them: one event a fault, from the step of the fault on."""

import json
import math

import numpy as np
import pytest

from regard.monitoring.certificate import Spread
from regard.monitoring.events import where
from regard.monitoring.folder import Layer
from regard.monitoring.rules import Rules, Setting, StepNumbers
from regard.monitoring.running import NORMAL, RunningMedian

LAYERS = (Layer("decoder", 0, 4, "layers.0"), Layer("decoder", 1, 4, "layers.1"))
HEADS = 8
CAUSAL = Setting("causal", 0.25, None, "float32", None)


def numbers(step, random, **changed):
    """A step of a healthy training, but for what is given."""
    spread_h = np.exp(random.normal(0.0, 0.03, HEADS))
    healthy = {
        "bound_h": np.full(HEADS, 9.0), "exact_h": np.full(HEADS, -np.inf), "loss": 2.0,
        "spread": Spread(random.normal(3.0, 0.1, HEADS), spread_h, spread_h / 2),
        "update": float(np.exp(random.normal(0.0, 0.1))), "rates": (0.01,),
        "optimizer_step": float(step + 1), "settings": {x: frozenset({CAUSAL}) for x in (0, 1)},
    }  # fmt: skip
    spread = {x: changed.pop(x) for x in Spread._fields if x in changed}
    healthy["spread"] = healthy["spread"]._replace(**spread)
    return StepNumbers(step, **healthy | changed)


def measures(**changed):
    healthy = {
        "score": np.full(HEADS, 8.0), "entropy_share": np.full(HEADS, 0.6),
        "query_norm": np.ones(HEADS), "key_norm": np.ones(HEADS), "output_norm": np.ones(HEADS),
    }  # fmt: skip
    return healthy | changed


def told(change=lambda step: {}, observe=lambda step: {}, steps=250, every=50, **options):
    """Events of a training of which ``change`` gives what differs at a step."""
    random, rules = np.random.default_rng(0), Rules(LAYERS, **options)
    for step in range(steps):
        rules.step(numbers(step, random, **change(step)))
        if step % every == 0:
            rules.observed(step, measures(**observe(step)))
    return rules.events


def brief(events):
    return [(x.rule, x.severity, x.first, x.last, x.heads) for x in events]


def at(head, number, usual):
    """Numbers of heads, one of which differs."""
    found = np.full(HEADS, float(usual))
    found[head] = number
    return found


def test_a_healthy_training_has_no_event():
    assert told() == []


@pytest.mark.parametrize("window", [3, 21, 51])
def test_running_medians_are_those_of_the_last_numbers(window):
    random, running, rows = np.random.default_rng(1), RunningMedian(window), []
    for _ in range(3 * window):
        rows.append(random.standard_normal((2, 5)).round(1).astype(np.float32))
        running.push(rows[-1])
        if running.full:
            last = np.stack(rows[-window:])
            np.testing.assert_array_equal(running.median, np.median(last, axis=0))
            off = np.median(np.abs(last - np.median(last, axis=0)), axis=0)
            np.testing.assert_allclose(running.noise, NORMAL * off, rtol=1e-6)


def test_scores_of_most_heads_that_change_at_once():
    def lost_scale(step):
        return {"std": np.full(HEADS, 4.0)} if step >= 130 else {}

    (event,) = told(lost_scale)
    assert brief([event])[0][:3] == ("shift", "fault", 130)
    assert event.heads == list(range(HEADS))
    assert event.last is not None  # the new spread has been learnt
    assert event.line.startswith("step 130: the scores of most heads changed at once: spread 4.0")
    assert "(all 8 heads). The loss does not show it. Compare mask, scale" in event.line
    (event,) = told(lambda step: lost_scale(step) | {"loss": 2.0 + 3 * (step >= 130)})
    assert "The loss jumped too, from 2 to 5." in event.line


def test_the_spread_of_one_head_that_changes_at_once():
    random = np.random.default_rng(3)

    def change(step):
        spread_h = np.exp(random.normal(0.0, 0.03, HEADS))
        spread_h[5] *= 30 if step >= 100 else 1
        return {"std": spread_h}

    (event,) = told(change)
    assert brief([event])[0][:3] == ("shift", "fault", 100)
    assert event.heads == [5]
    assert event.line.startswith("step 100, layer 1, head 1: the spread of its scores changed")


def test_a_batch_whose_sentences_are_all_the_same():
    """As of padding alone; the spread over queries stays, where scores are those of positions."""

    def padding(step):
        return {"within": np.zeros(HEADS)} if step == 130 else {}

    (first,) = told(padding)
    assert brief([first])[0][:3] == ("shift", "fault", 130)
    assert "changed at once: spread from sentence to sentence 0.002 x" in first.line
    assert told(lambda step: {"within": np.full(HEADS, np.nan)}) == []  # of one sentence


def test_a_slow_change_is_no_shift():
    assert told(lambda step: {"mean": np.full(HEADS, 3 + step / 20)}) == []


def test_heads_that_pass_the_threshold_are_one_event_until_they_recover():
    def change(step):
        high = {100: [3], 101: [3, 4], 102: [3, 4], 103: [4]}.get(step, [])
        high = [3] if step == 200 else high
        bound_h = np.full(HEADS, 9.0)
        bound_h[high] = 150
        bound_h[6] = 90 if step == 104 else 9  # between recovered and too high
        exact_h = np.where(bound_h > 100, 140.0, -np.inf)
        return {"bound_h": bound_h, "exact_h": exact_h}

    def observe(step):
        return {"score": at(3, 140 if step in (100, 200) else 8, 8)}

    first, second = told(change, observe)
    assert brief([first, second]) == [
        ("threshold", "danger", 100, 104, [3, 4]),
        ("threshold", "danger", 200, 200, [3]),
    ]
    assert first.at_first == 1
    assert first.closing == "step 100: threshold, and 1 more head by step 104."
    assert second.closing == ""
    assert first.line == (
        "step 100, layer 0, head 3: largest score passed 100 (140), was at most 9 at step 79. 1 of "
        "8 heads may be above 50. If the loss is fine this is a limit, not an illness: "
        "threshold=200, or QK-clip."
    )
    assert told(change, threshold=None) == []


def test_queries_that_grow_away_from_the_other_heads():
    def observe(step):
        norm_h = at(2, 1.02**step, 1.001**step)
        return {"query_norm": norm_h, "score": 5 * norm_h}

    (event,) = told(observe=observe, steps=201, names=("away",))
    assert brief([event]) == [("away", "fault", 100, None, [2])]
    assert event.line == (
        "step 100, layer 0, head 2: its queries grew 7.2 x since step 0, the median head's 1.1 x; "
        "largest score 36.2, at this rate 100 in about 51 steps. Look at the weights of q_proj; "
        "QK-clip would hold it."
    )
    assert told(observe=lambda step: {"query_norm": np.full(HEADS, 1.02**step)}) == []  # all do


def test_entropy_of_the_median_head_that_collapses_but_not_of_sharp_ones():
    def sharp(heads):
        def observe(step):
            share_h = np.full(HEADS, 0.6)
            share_h[:heads] = 0.02 if step >= 100 else 0.6
            return {"entropy_share": share_h}

        return observe

    assert told(observe=sharp(4)) == []
    (event,) = told(observe=sharp(5))
    assert brief([event]) == [("collapse", "danger", 100, None, [0, 1, 2, 3, 4])]
    assert "the median head's entropy is 2.0% of its maximum, was 60% at step 0" in event.line
    assert "go back before step 50" in event.line
    assert (
        told(observe=lambda step: {"entropy_share": np.full(HEADS, 0.02)}) == []
    )  # from the start


def test_heads_that_write_nothing_are_an_event_of_their_layer():
    def observe(step):
        norm_h = np.ones(HEADS)
        if step >= 100:
            norm_h[[1, 2, 7]] = 1e-5
        return {"output_norm": norm_h}

    events = told(observe=observe)
    assert brief(events) == [
        ("silent", "danger", 100, None, [1, 2]),
        ("silent", "danger", 100, None, [7]),
    ]
    assert str(events[0]) == (
        "step 100, layer 0, heads 1, 2: they write nothing since step 50. Were weights loaded "
        "whole?"
    )


def test_the_first_nan_with_all_heads_that_follow_and_the_loss():
    def change(step):
        bound_h = np.full(HEADS, 9.0)
        if step >= 50:
            bound_h[4:] = np.nan
        if step >= 51:
            bound_h[0] = np.inf
        return {"bound_h": bound_h, "loss": math.nan if step >= 50 else 2.0}

    (event,) = told(change)
    assert brief([event]) == [("not finite", "fault", 50, None, [4, 5, 6, 7, 0])]
    assert event.healthy == 49
    assert event.line.startswith(
        "step 50: nan in layer 1, head 0 first, and in 3 more heads; the loss follows."
    )
    json.dumps(event.fields(), allow_nan=False)
    (event,) = told(lambda step: {"loss": math.inf if step == 20 else 2.0})
    assert brief([event]) == [("not finite", "fault", 20, 20, [])]
    assert "attention is" in event.line


FAULTS = {
    "causal was True in 2 of 2 layers, is False": CAUSAL._replace(hides="nothing"),
    "scale was 0.25 in 2 of 2 layers, is 1.0": CAUSAL._replace(scale=1.0),
    "softcap was None in 2 of 2 layers, is 50.0": CAUSAL._replace(softcap=50.0),
    "dtype was float32 in 2 of 2 layers, is bfloat16": CAUSAL._replace(dtype="bfloat16"),
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_settings_of_attention_that_change(sentence):
    def change(step):
        found = FAULTS[sentence] if 100 <= step < 120 or step >= 200 else CAUSAL
        return {"settings": {x: frozenset({found}) for x in (0, 1)}}

    first, second = told(change)
    assert brief([first, second]) == [
        ("settings", "fault", 100, 119, list(range(HEADS))),
        ("settings", "fault", 200, None, list(range(HEADS))),
    ]
    line = f"step 100: the settings of attention changed: {sentence} (all 8 heads)."
    assert first.line == line


def test_settings_of_the_training_before_count_and_masks_may_come_and_go():
    known = {x: [CAUSAL._replace(scale=1.0)] for x in (0, 1)}
    (event,) = told(settings=known)
    assert (event.rule, event.first) == ("settings", 0)
    masked = CAUSAL._replace(hides="mask", mask="bool")

    def padded(step):
        found = masked if step % 3 == 0 else CAUSAL
        return {"settings": {x: frozenset({found}) for x in (0, 1)}}

    assert told(padded) == []

    def lengths(step):  # a scale that follows the length of each batch
        return {"settings": {0: frozenset({CAUSAL._replace(scale=1 / (2 + step % 7))})}}

    assert told(lengths) == []


def schedule(name):
    """A learning rate of common schedules by step, of 400."""
    wave = lambda x: (1 + math.cos(math.pi * x)) / 2  # noqa: E731
    return {
        "linear warm-up": lambda t: min(1, (t + 1) / 300),
        "cosine": lambda t: min(1, (t + 1) / 50) * wave(t / 400),
        "restarts": lambda t: min(1, (t + 1) / 30) * wave(t % 100 / 100),
        "stable, then down": lambda t: min(1, (t + 1) / 60, (400 - t) / 80),
        "one cycle": lambda t: (
            0.04 + 0.96 * wave(1 - t / 120) if t < 120 else wave((t - 120) / 280)
        ),
    }[name]


SCHEDULES = ("linear warm-up", "cosine", "restarts", "stable, then down", "one cycle")


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_of_the_learning_rate_are_no_fault(name):
    rate = schedule(name)
    random = np.random.default_rng(5)

    def change(step):
        return {"rates": (rate(step),), "update": rate(step) * float(np.exp(random.normal(0, 0.1)))}

    assert told(change, steps=400) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"rates": (0.1,)}, "the learning rate is 0.1, 10.0 x the largest until 20 steps ago"),
        ({"optimizer_step": 1.0}, "the optimizer's count of steps went back from 120 to 1"),
        ({"update": 4.0}, "x that of the 51 steps before; learning rate unchanged"),
    ],
)
def test_what_the_optimizer_tells(change, sentence):
    (event,) = told(lambda step: change if step == 120 else {})
    assert brief([event]) == [("optimizer", "information", 120, 120, [])]
    assert sentence in event.line


def test_rules_are_chosen_by_name():
    def change(step):
        return {"rates": (1.0,), "std": np.full(HEADS, 50.0)} if step >= 130 else {}

    assert {x.rule for x in told(change)} == {"shift", "optimizer"}
    assert {x.rule for x in told(change, names=("shift",))} == {"shift"}
    assert told(change, names=()) == []


def test_heads_in_words():
    both = (Layer("encoder", 0, 2, ""), Layer("decoder", 0, 2, ""))
    assert where(both, [0, 3]) == "encoder layer 0, head 0; decoder layer 0, head 1"
    many = [Layer("decoder", x, 8, "") for x in range(8)]
    assert where(many, range(0, 64, 2)) == "32 of 64 heads, in 8 layers"
    assert where(many, range(9, 12)) == "layer 1, heads 1, 2, 3"
