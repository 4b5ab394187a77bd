"""Bounds on rounding errors: no stage is further from the exact numbers than its bounds say."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.textbook.bounds import error_bounds
from regard.textbook.steps import Steps, attend, self_attention

Exact = list[list[Decimal]]
SIZES = st.sampled_from([1e-6, 1e-3, 1.0, 30.0, 1e4])


def exact(array: np.ndarray) -> Exact:
    return [[Decimal(x) for x in row] for row in array.tolist()]


def product(left: Exact, right: Exact) -> Exact:
    columns = list(zip(*right, strict=True))
    return [[sum(a * b for a, b in zip(row, x, strict=True)) for x in columns] for row in left]


def softmax(scores: Exact) -> Exact:
    e = [[(x - max(row)).exp() for x in row] for row in scores]
    return [[x / sum(row) for x in row] for row in e]


def exact_stages(steps: Steps) -> dict[str, Exact]:
    """Every stage of one head from what was given, to 60 digits."""
    stages = {x: exact(getattr(steps, x)) for x in ("query", "key", "value")}
    if steps.x is not None:
        x = exact(steps.x)
        stages = {name: product(x, exact(getattr(steps, f"w_{name}"))) for name in stages}
    stages["scores"] = product(stages["query"], [list(x) for x in zip(*stages["key"], strict=True)])
    width = Decimal(steps.query.shape[1])
    stages["scaled"] = [[x / width.sqrt() for x in row] for row in stages["scores"]]
    last = stages["scaled"]
    if steps.softcap is not None:
        cap = Decimal(steps.softcap)
        last = stages["capped"] = [[cap * tanh(x / cap) for x in row] for row in last]
    stages["weights"] = softmax(last)
    return stages | {"output": product(stages["weights"], stages["value"])}


def tanh(x: Decimal) -> Decimal:
    grown = (2 * min(x, Decimal(100))).exp()
    return (grown - 1) / (grown + 1)


def assert_within(steps: Steps, true: dict[str, Exact]) -> None:
    for stage, expected in true.items():
        stored, bounds = getattr(steps, stage), error_bounds(steps, stage)
        assert bounds.shape == stored.shape
        for index in np.ndindex(stored.shape):
            off = abs(Decimal(float(stored[index])) - expected[index[0]][index[1]])
            assert off <= Decimal(float(bounds[index])), (stage, index)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), SIZES, SIZES, st.tuples(*[st.integers(1, 9)] * 3))
def test_no_stage_is_further_off_than_its_bounds(seed, size, other, shape):
    random = np.random.default_rng(seed)
    words, width, head_width = shape
    x = random.standard_normal((words, width)) * size
    matrices = [random.standard_normal((width, head_width)) * other for _ in range(3)]
    with localcontext(prec=60):
        steps = self_attention(x, *matrices)
        assert_within(steps, exact_stages(steps))


@pytest.mark.parametrize("softcap", [None, 2.0])
def test_attention_from_query_key_and_value_on(softcap):
    random = np.random.default_rng(3)
    steps = attend(*(random.standard_normal((7, 5)) * 3 for _ in range(3)), softcap=softcap)
    with localcontext(prec=60):
        assert_within(steps, exact_stages(steps))


def test_what_x_is_off_by_is_carried_along():
    """x moved by x_error in any direction stays within the bounds of every stage."""
    random = np.random.default_rng(0)
    x, *matrices = (random.integers(-64, 65, (16, 16)) / 32 for _ in range(4))
    error = 2.0**-24  # as is x, so that x moved is exact
    made = {"heads": 4, "w_output": random.standard_normal((16, 3))}
    steps = self_attention(x, *matrices, **made)
    bounded = Steps(**{**vars(steps), "x_error": error})
    for _ in range(20):
        moved = self_attention(x + error * random.choice([-1, 1], x.shape), *matrices, **made)
        for stage, stored in steps.stages().items():
            off = np.abs(moved.stages()[stage] - stored)
            assert (off <= error_bounds(bounded, stage)).all(), stage


def test_masks_and_heads():
    """The same sums in another order: every stage within the bounds of both."""
    random = np.random.default_rng(1)
    x, *matrices = (random.standard_normal((2, 9, 12)), *random.standard_normal((3, 12, 12)))
    mask = random.standard_normal((9, 9))
    order = random.permutation(12)
    made = {"heads": 3, "mask": mask, "causal": True}
    steps = self_attention(x, *matrices, **made)
    other = self_attention(x[..., order], *(matrix[order] for matrix in matrices), **made)
    for stage, stored in steps.stages().items():
        if stage == "x":
            continue
        computed, bounds = other.stages()[stage], error_bounds(steps, stage)
        assert bounds.shape == stored.shape
        seen = np.isfinite(stored)
        both = bounds[seen] + error_bounds(other, stage)[seen]
        assert (np.abs(computed[seen] - stored[seen]) <= both).all(), stage
        assert not bounds[~seen].any()


def test_what_overflows_is_sure_to_nothing():
    steps = attend(np.full((2, 2), 1e200), np.full((2, 2), 1e100), np.eye(2))
    assert (error_bounds(steps, "scores") > 1e280).all()
    assert (error_bounds(steps, "weights") == 1).all()
    assert str(steps.why("weights", 0, 0)).endswith("= 0 within 1e+01 (each score less the row's "
                                                    "highest, 1.414e+300)")  # fmt: skip
