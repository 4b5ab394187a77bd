"""Rules of alerts, each on curves made for it."""

import numpy as np

from regard.monitoring.alerts import AlertRules, Thresholds, alert_fields
from regard.monitoring.folder import Layer

LAYERS = (Layer("decoder", 0, 2, "layers.0"), Layer("decoder", 1, 2, "layers.1"))


def told(curve, head, measure, thresholds=None):
    """Alerts of a training in which one measure of one head follows a curve."""
    rules = AlertRules(LAYERS, thresholds or Thresholds())
    found = []
    for step, number in enumerate(curve):
        measures = {
            "score": np.full(4, 1.0), "bound": np.full(4, 3.0), "entropy": np.full(4, 2.0),
            "entropy_share": np.full(4, 0.8), "output_norm": np.full(4, 1.0),
        }  # fmt: skip
        measures[measure][head] = number
        measures["bound"] = measures["score"] + 2
        found += rules.bounded(step, measures["bound"], measures["score"])
        found += rules.observed(step, measures)
    return [(x.rule, x.step, x.layer, x.head, x.healthy_step) for x in found]


def test_a_score_above_its_threshold_is_told_once_until_it_recovers():
    curve = [20, 101, 150, 99, 110, 30, 120]  # not recovered at 99
    assert told(curve, 3, "score", Thresholds(growth=None)) == [
        ("score", 1, 1, 1, 0),
        ("score", 6, 1, 1, 5),
    ]


def test_a_score_that_grows_steadily():
    assert told([30, 40, 50, 60, 70], 2, "score") == [("growth", 4, 1, 0, 3)]
    assert told([30, 40, 39, 60, 70], 2, "score") == []  # not steadily
    assert told([1, 2, 4, 8, 16], 2, "score") == []  # a head that learns to find one key
    assert told([40, 50, 60, 70, 75], 2, "score") == []  # not to twice as much


def test_entropy_that_collapses_but_not_a_head_that_was_sharp_from_the_start():
    assert told([0.7, 0.3, 0.04, 0.02], 1, "entropy_share") == [("entropy", 2, 0, 1, 1)]
    assert told([0.04, 0.03, 0.02], 1, "entropy_share") == []


def test_a_head_that_writes_nothing():
    assert told([1.0, 1e-4, 1e-5], 0, "output_norm") == [("silent", 1, 0, 0, 0)]


def test_the_first_nan_or_infinity_in_the_order_of_layers():
    rules = AlertRules(LAYERS, Thresholds())
    found = rules.bounded(5, np.array([1, 2, np.nan, np.inf]), np.zeros(4))
    assert [str(x) for x in found] == [
        "step 5, decoder layer 1, head 0: nan appeared here first, and in 1 more heads."
    ]
    assert alert_fields(found[0])["value"] == "nan"
    assert rules.bounded(6, np.full(4, np.nan), np.zeros(4)) == []


def test_rules_are_switched_off_one_by_one():
    off = Thresholds(score=None, growth=None, entropy=None, silent=None)
    assert told([1, 1000, 2000, 3000, 4000], 0, "score", off) == []
    assert told([0.7, 0.01], 0, "entropy_share", off) == []
    assert told([1.0, 0.0], 0, "output_norm", off) == []
