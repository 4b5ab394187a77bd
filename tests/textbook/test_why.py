"""why: the line says what made the cell, and the arithmetic on it is true."""

import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.errors import ArgumentError
from regard.textbook.steps import Steps, attend, self_attention
from regard.textbook.why import Why, error_bounds

WORDS = ["Smart", "robots", "perform", "complex", "tasks"]
X = np.array([[1, 0], [0, 1], [1, 1], [2, 0], [0, 2]])


def robots(**options) -> Steps:
    return self_attention(X, np.eye(2), np.eye(2), np.eye(2), words=WORDS, **options)


@pytest.mark.smoke
def test_line_of_a_weight():
    assert str(robots().why("weights", "robots", "tasks")) == (
        "weights[robots, tasks] = e^1.414 / (e^0.000 + e^0.707 + e^0.707 + e^0.000 + e^1.414)"
        " = 4.113 / 10.169 = 0.404"
    )


@pytest.mark.parametrize(
    ("stage", "column", "line"),
    [
        ("x", 1, "x[tasks, 1] = 2.000 (given)"),
        ("query", 1, "query[tasks, 1] = 0.000 · 0.000 + 2.000 · 1.000 = 2.000"),
        ("scores", "perform", "scores[tasks, perform] = 0.000 · 1.000 + 2.000 · 1.000 = 2.000"),
        ("scaled", "perform", "scaled[tasks, perform] = 2.000 / √2 = 1.414"),
    ],
)
def test_lines(stage, column, line):
    assert str(robots().why(stage, "tasks", column)) == line


def test_operands_get_the_digits_that_the_value_needs():
    line = str(robots().why("output", "robots", 1))
    assert line == (
        "output[robots, 1] = 0.0983 · 0.0000 + 0.1994 · 1.0000 + 0.1994 · 1.0000 + 0.0983 · 0.0000"
        " + 0.4045 · 2.0000 = 1.208"
    )


def test_hidden_cells_say_why():
    steps = robots(causal=True)
    assert str(steps.why("masked", "Smart", "tasks")) == (
        "masked[Smart, tasks] = -inf (hidden: tasks comes after Smart)"
    )
    assert str(steps.why("weights", "Smart", "tasks")) == (
        "weights[Smart, tasks] = 0.000 (hidden: tasks comes after Smart)"
    )
    assert str(steps.why("masked", "tasks", "tasks")) == (
        "masked[tasks, tasks] = 2.828 (as scaled: visible, nothing added)"
    )
    mask = np.ones((5, 5), bool)
    mask[3, 0] = False
    assert str(robots(mask=mask).why("masked", 3, 0)) == (
        "masked[complex, Smart] = -inf (hidden: the mask does not let complex look at Smart)"
    )


def test_a_row_that_sees_nothing():
    steps = robots(mask=np.arange(5)[:, None] > np.zeros(5))
    assert str(steps.why("weights", 0, 0)) == (
        "weights[Smart, Smart] = 0.000 (Smart may look at nothing)"
    )


def test_a_float_mask_is_shown_as_added():
    steps = robots(mask=np.full((5, 5), -0.5))
    assert str(steps.why("masked", "robots", "tasks")) == (
        "masked[robots, tasks] = 1.414 + (-0.500) = 0.914"
    )


def test_heads_and_sentences_are_named():
    steps = self_attention(np.stack([X, X]), *[np.eye(2)] * 3, words=[WORDS, WORDS], heads=2)
    assert str(steps.why("query", "tasks", 0, head=1, sentence=1)) == (
        "query[tasks, 0] (head 1, sentence 1) = 0.000 · 0.000 + 2.000 · 1.000 = 2.000"
    )
    assert str(steps.why("output", "tasks", 1, sentence=1)).startswith(
        "output[tasks, 1] (sentence 1) = "
    )


def test_long_sums_are_elided_but_their_operands_are_all_there():
    random = np.random.default_rng(0)
    steps = self_attention(random.random((3, 64)), *random.random((3, 64, 64)))
    why = steps.why("query", 0, 0)
    assert "... 58 more ..." in str(why)
    assert len(why.operands) == 128


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("wieghts", 0, 0),
            "stage must be one of x, query, key, value, scores, scaled, weights, output, "
            "got 'wieghts'.",
        ),
        (
            ("masked", 0, 0),
            "stage must be one of x, query, key, value, scores, scaled, weights, output, "
            "got 'masked': this computation has no such stage.",
        ),
        (
            ("weights", "robot", 0),
            "row must be one of the words Smart, robots, perform, complex, tasks, got 'robot'.",
        ),
        (
            ("weights", 0, 5),
            "column must be an index from 0 to 4, got 5.",
        ),
        (
            ("query", 0, "tasks"),
            "column of query must be a feature's index from 0 to 1, got 'tasks'.",
        ),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ArgumentError) as error:
        robots().why(*arguments)
    assert str(error.value) == message


def test_a_word_that_occurs_twice():
    steps = self_attention(np.eye(3), *[np.eye(3)] * 3, words=["the", "cat", "the"])
    with pytest.raises(ArgumentError) as error:
        steps.why("weights", "the", "cat")
    assert str(error.value) == (
        "row must be a word that occurs once, got 'the', which occurs 2 times: give its index, "
        "one of 0, 2."
    )
    assert steps.why("weights", 2, "cat").cell == "weights[the (2), cat]"


def test_wrong_head_and_digits():
    with pytest.raises(ArgumentError, match=r"^head must be an index from 0 to 0, got 1\.$"):
        robots().why("x", 0, 0, head=1)
    with pytest.raises(ArgumentError, match=r"^digits must be a whole number from 0 to 15, got 16"):
        robots().why("x", 0, 0, digits=16)


SIZES = st.sampled_from([1e-6, 1e-3, 1.0, 30.0, 1e4])


@st.composite
def random_steps(draw) -> Steps:
    """Self-attention of any shape, with features of very different sizes."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    words, width, heads, head_width = (draw(st.integers(1, most)) for most in (6, 6, 3, 4))
    x = random.standard_normal((words, width)) * draw(SIZES)
    shape = (width, heads * head_width)
    matrices = [random.standard_normal(shape) * draw(SIZES) for _ in range(3)]
    if draw(st.booleans()):  # great terms that cancel: the second half undoes the first
        half, rest = slice(0, width - width // 2), slice(width - width // 2, width)
        x[:, rest] = -x[:, half][:, : width // 2] * (1 + draw(st.sampled_from([0, 1e-14, 1e-9])))
        for matrix in matrices:
            matrix[rest] = matrix[half][: width // 2]
    w_output = random.standard_normal((shape[1], 3)) * draw(SIZES) if draw(st.booleans()) else None
    mask = draw(st.sampled_from([None, "bool", "float"]))
    if mask is not None:
        mask = (
            random.random((words, words)) < 0.7 if mask == "bool" else random.random((words, words))
        )
    return self_attention(
        x, *matrices, heads=heads, w_output=w_output, mask=mask, causal=draw(st.booleans())
    )


@st.composite
def random_attend(draw) -> Steps:
    """Attention with its own scale and cap, and other lengths of query and key."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    queries, keys, width = (draw(st.integers(1, most)) for most in (4, 6, 5))
    size = draw(SIZES)
    query, key = (
        random.standard_normal((queries, width)) * size,
        random.standard_normal((keys, width)),
    )
    scale, softcap = draw(st.sampled_from([None, 0.3])), draw(st.sampled_from([None, 2.0, 50.0]))
    return attend(query, key, random.standard_normal((keys, 2)), scale=scale, softcap=softcap)


@settings(max_examples=60, deadline=None)
@given(random_steps() | random_attend(), st.integers(0, 12), st.data())
def test_operands_shown_give_the_stored_value(steps, digits, data):
    """For every stage: the operands shown lead to the stored value, to the precision shown."""
    heads = steps.weights.shape[0] if steps.weights.ndim == 3 else 1
    for stage, array in steps.stages().items():
        row = data.draw(st.integers(0, array.shape[-2] - 1))
        column = data.draw(st.integers(0, array.shape[-1] - 1))
        head = data.draw(st.integers(0, heads - 1))
        why = steps.why(stage, row, column, head=head, digits=digits)
        stored = array[head, row, column] if array.ndim == 3 else array[row, column]
        assert why.value == stored
        check(why)


def check(why: Why) -> None:
    if not math.isfinite(why.value):
        assert why.recomputed() == why.value
        return
    allowed = why.tolerance * (1 + 1e-9)
    assert abs(why.recomputed() - why.value) <= allowed, why.line
    body = re.sub(r" \([^()]*\)$", "", why.line.split(" = ", 1)[1])  # the note at the end
    *links, shown = body.split(" = ")
    assert abs(shown_number(shown) - why.value) <= 2.1 * allowed, why.line
    for link in links:  # every link of the chain, read as a person would
        if "more ..." not in link:
            assert abs(arithmetic(link) - why.value) <= allowed, why.line


def shown_number(text: str) -> float:
    return 0.0 if "within" in text else float(text)


def arithmetic(text: str) -> float:
    """Work out a printed expression, knowing nothing of how it was printed.

    Sums of products are worked out exactly: this reader's own rounding is not what is tested.
    """
    number = r"(-?\d[\d.]*(?:e[+-]\d+)?)"
    if "e^" in text or "tanh" in text:
        text = re.sub(r"e\^" + number, r"math.exp(\1)", text).replace("tanh", "math.tanh")
    else:
        text = re.sub(r"√" + number, lambda match: repr(math.sqrt(float(match[1]))), text)
        text = re.sub(number, r"Fraction('\1')", text)
    return float(eval(text.replace("·", "*"), {"math": math, "Fraction": Fraction}))  # noqa: S307


# Bounds on rounding errors: no stage is further from the exact numbers than its bound.

Exact = list[list[Decimal]]


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
def test_every_stage_is_within_its_error_bound(seed, size, other, shape):
    random = np.random.default_rng(seed)
    words, width, head_width = shape
    x = random.standard_normal((words, width)) * size
    matrices = [random.standard_normal((width, head_width)) * other for _ in range(3)]
    with localcontext(prec=60):
        steps = self_attention(x, *matrices)
        assert_within(steps, exact_stages(steps))


@pytest.mark.parametrize("softcap", [None, 2.0])
def test_bounds_of_attention_from_query_key_and_value(softcap):
    random = np.random.default_rng(3)
    steps = attend(*(random.standard_normal((7, 5)) * 3 for _ in range(3)), softcap=softcap)
    with localcontext(prec=60):
        assert_within(steps, exact_stages(steps))


def test_error_of_x_is_propagated():
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


def test_bounds_with_masks_and_heads():
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


def test_bounds_of_overflowing_scores():
    steps = attend(np.full((2, 2), 1e200), np.full((2, 2), 1e100), np.eye(2))
    assert (error_bounds(steps, "scores") > 1e280).all()
    assert (error_bounds(steps, "weights") == 1).all()
    assert str(steps.why("weights", 0, 0)).endswith("= 0 within 1e+01 (each score less the row's "
                                                    "highest, 1.414e+300)")  # fmt: skip
