"""One sequence over 1, 2, 3 and 4 ranks against the specification and against one process."""

import numpy as np
import pytest
from tests.helpers.attention_cases import CASES
from tests.helpers.attention_facts import MAP, TOP, score_size, specification
from tests.helpers.ring_cases import RINGS, cases_of, parameters
from tests.helpers.ring_join import joined

from regard.engine.observe import observe

# As for one process (test_attention.py): a score is off by a few roundings of what cancels in it.
# Sums over ranks add roundings of at most four more terms, which the factor of two there covers.
ROUNDINGS = 16
EPS, STEP = np.finfo(np.float64).eps, np.finfo(np.float64).smallest_subnormal

SAID = {case.name: None for case in CASES}


def specified(case):
    """The facts by definition, and how far roundings may take them; made once for each case."""
    if SAID[case.name] is None:
        expected = specification(*case.arrays(), **case.arguments)
        size = score_size(*case.arrays()[:2], expected, **case.arguments)
        SAID[case.name] = expected.facts(), ROUNDINGS * EPS * (1 + size), expected.weights
    return SAID[case.name]


@pytest.mark.parametrize(("ranks", "name", "case", "slices"), parameters())
def test_all_ranks_together_equal_the_specification(answers, ranks, name, case, slices):
    query, key, value = case.arrays()
    parts = [answers[rank][ranks, name] for rank in range(ranks)]
    actual = joined(parts, slices, query.shape[-2], key.shape[-2])
    expected, allowed, weights = specified(case)
    expected = expected | {"top_weights": expected["top"]}
    actual["top_weights"] = actual["top_weights"][..., : key.shape[-2]]
    for fact in sorted(actual.keys() & expected.keys()):
        scale = np.abs(value).max(initial=0) if fact == "output" else 1
        atol = allowed * scale + (value.shape[-2] * STEP if fact == "output" else 0)
        np.testing.assert_allclose(
            actual[fact], expected[fact], rtol=allowed, atol=atol, err_msg=fact
        )
        assert actual[fact].dtype == np.float64
    assert_best(actual, weights, allowed)


def assert_best(actual, weights, allowed):
    """The best keys are positions in the whole, none twice, with the weights they have there."""
    keys = actual["top_keys"]
    padded = np.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(0, TOP + 1)])
    at_keys = np.take_along_axis(padded, keys, axis=-1)[..., : actual["top_weights"].shape[-1]]
    np.testing.assert_allclose(actual["top_weights"], at_keys, atol=allowed)
    in_order = np.sort(np.where(keys < 0, -1 - np.arange(TOP), keys), axis=-1)
    assert (np.diff(in_order) > 0).all()


@pytest.mark.parametrize("ranks", RINGS)
def test_every_rank_knows_the_histogram_of_the_whole(answers, ranks):
    runs = [(name, case) for name, case, *_ in cases_of(ranks) if (ranks, name) in answers[0]]
    assert len(runs) >= len(CASES) // 4
    for name, case in runs:
        alone = observe(*case.arrays(), top=TOP, map=MAP, **case.arguments).profile
        _, allowed, _ = specified(case)
        for rank in range(ranks):
            bands = answers[rank][ranks, name]["histogram"]
            assert [band[:2] for band in bands] == [band[:2] for band in alone.histogram()]
            for actual, expected in zip(bands, alone.histogram(), strict=True):
                np.testing.assert_allclose(actual[2], expected[2], atol=allowed)
