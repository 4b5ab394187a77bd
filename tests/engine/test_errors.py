"""Every error of attention, observe and an observation, word for word."""

import numpy as np
import pytest

from regard.engine.attention import attention
from regard.engine.observe import observe, observe_from_logsumexp
from regard.errors import ArgumentError, NotAskedError, ShapeError
from regard.textbook.steps import attend

X = np.random.default_rng(0).standard_normal((3, 4))
HEADS = np.random.default_rng(0).standard_normal((2, 6, 3, 4))


def but(array, place, number):
    """The array with one number changed."""
    changed = array.copy()
    changed[place] = number
    return changed


SIDES = "window needs (left, right), each a whole number from 0 up or None for unbounded, but it is"
OFFSET = (
    "offset is needed: there are 1 query and 3 keys. Give offset=0 if query 0 stands at key 0 "
    "(top left), or offset=2 (keys - queries) if the queries are the last ones."
)
FINITE = "attention needs finite numbers. If it stands for padding, use lengths or mask instead."
LENGTHS = "one for each entry of the leading batch axes, but it has dtype"
BASE_2 = (
    "It must be natural (multiply a base-2 one by ln 2 = 0.6931) and made with the same scale and "
    "masks."
)

# Query, key and value, the other arguments, and what attention, observe and attend all answer.
ARRAYS = [
    ((X[0], X, X), {}, ShapeError,
     "query needs axes (..., q, d), but its shape is (4,): it has 1 axis."),
    ((X, X[:, :3], X), {}, ShapeError,
     "key needs axes (k, d=4), but its shape is (3, 3): d is 3."),
    ((X, HEADS, X), {}, ShapeError,
     "key needs axes (k, d=4), but its shape is (2, 6, 3, 4): it has 4 axes."),
    ((X, X, X[:2]), {}, ShapeError,
     "value needs axes (k=3, d_v), but its shape is (2, 4): k is 2."),
    ((HEADS, HEADS[0], HEADS), {}, ShapeError,
     "key needs axes (b, h_kv, k, d=4), but its shape is (6, 3, 4): it has 3 axes."),
    ((HEADS, HEADS[:1], HEADS), {}, ShapeError,
     "key needs the leading axes of query, (2,), but its shape is (1, 6, 3, 4)."),
    ((HEADS, HEADS, HEADS[:1]), {}, ShapeError,
     "value needs the leading axes of query, (2,), but its shape is (1, 6, 3, 4)."),
    ((HEADS, HEADS, HEADS[:, :3]), {}, ShapeError,
     "value needs axes (b, h_kv=6, k, d_v), but its shape is (2, 3, 3, 4): h_kv is 3."),
    ((HEADS, HEADS[:, :4], HEADS[:, :4]), {}, ShapeError,
     "query has 6 heads and key has 4: the heads of key must divide the heads of query "
     "(grouped heads)."),
    ((X.astype(int), X, X), {}, ArgumentError,
     "query needs float16, float32 or float64 values, but its dtype is int64: "
     "write query.astype(np.float32)."),
    ((X, X.astype(complex), X), {}, ArgumentError,
     "key needs float16, float32 or float64 values, but its dtype is complex128: "
     "write key.astype(np.float32)."),
    ((X, X, X.astype(">f4")), {}, ArgumentError,
     "value needs float16, float32 or float64 values, but its dtype is >f4: "
     "write value.astype(np.float32)."),
    ((but(X, (1, 2), np.nan), X, X), {}, ArgumentError, f"query has nan at [1, 2]: {FINITE}"),
    ((HEADS, but(HEADS, (1, 5, 2, 0), np.inf), HEADS), {}, ArgumentError,
     f"key has inf at [1, 5, 2, 0]: {FINITE}"),
    ((X, X, but(X, (2, 3), -np.inf).astype(np.float16)), {}, ArgumentError,
     f"value has -inf at [2, 3]: {FINITE}"),
    ((X * 1e200, X * 1e200, X), {}, ArgumentError,
     "query and key are too large: their products overflow float64."),
]  # fmt: skip
OTHERS = [
    ((X[:1], X, X), {"causal": True}, ArgumentError, OFFSET),
    ((X[:1], X, X), {"window": (1, None)}, ArgumentError, OFFSET),
    ((X, X, X), {"offset": 0.5}, ArgumentError, "offset needs a whole number, but it is 0.5."),
    ((X, X, X), {"window": (-1, 2)}, ArgumentError, f"{SIDES} (-1, 2)."),
    ((X, X, X), {"window": (1.5, None)}, ArgumentError, f"{SIDES} (1.5, None)."),
    ((X, X, X), {"window": 3}, ArgumentError, f"{SIDES} 3."),
    ((X, X, X), {"window": (1, 2, 3)}, ArgumentError, f"{SIDES} (1, 2, 3)."),
    ((X, X, X), {"mask": np.ones((3, 3), int)}, ArgumentError,
     "mask needs bool values (True = may look) or float values (added to the scores), "
     "but its dtype is int64: write mask.astype(bool)."),
    ((X, X, X), {"mask": np.ones((2, 3), bool)}, ShapeError,
     "mask needs a shape that broadcasts to (3, 3), but its shape is (2, 3)."),
    ((X, X, X), {"mask": np.zeros((1, 3, 3))}, ShapeError,
     "mask needs a shape that broadcasts to (3, 3), but its shape is (1, 3, 3)."),
    ((X, X, X), {"mask": but(np.zeros((3, 3)), (1, 1), np.nan)}, ArgumentError,
     "mask has nan or +inf in it: a float mask needs numbers or -inf."),
    ((X, X, X), {"mask": but(np.zeros((3, 3)), (0, 2), np.inf)}, ArgumentError,
     "mask has nan or +inf in it: a float mask needs numbers or -inf."),
    ((X, X, X), {"mask": lambda query, key: np.where(key <= query, 0.0, -np.inf)}, ArgumentError,
     "mask, a function, needs to give bool values that broadcast to (3, 3), "
     "but it gave dtype float64 and shape (3, 3)."),
    ((X, X, X), {"mask": lambda query, key: np.ones(4, bool)}, ArgumentError,
     "mask, a function, needs to give bool values that broadcast to (3, 3), "
     "but it gave dtype bool and shape (4,)."),
    ((X, X, X), {"lengths": [1]}, ArgumentError,
     f"lengths needs whole numbers of shape (), {LENGTHS} int64 and shape (1,)."),
    ((HEADS, HEADS, HEADS), {"lengths": [1.0, 2.0]}, ArgumentError,
     f"lengths needs whole numbers of shape (2,), {LENGTHS} float64 and shape (2,)."),
    ((HEADS, HEADS, HEADS), {"lengths": [-1, 2]}, ArgumentError,
     "lengths needs values from 0 to 3, the number of keys, but they go from -1 to 2."),
    ((HEADS, HEADS, HEADS), {"lengths": [1, 4]}, ArgumentError,
     "lengths needs values from 0 to 3, the number of keys, but they go from 1 to 4."),
    ((X, X, X), {"softcap": 0.0}, ArgumentError,
     "softcap needs a finite number above 0, but it is 0.0."),
    ((X, X, X), {"softcap": np.inf}, ArgumentError,
     "softcap needs a finite number above 0, but it is inf."),
    ((X, X, X), {"scale": -1}, ArgumentError, "scale needs a finite number above 0, but it is -1."),
    ((X, X, X), {"scale": np.nan}, ArgumentError,
     "scale needs a finite number above 0, but it is nan."),
]  # fmt: skip


def message(raised: pytest.ExceptionInfo) -> str:
    return str(raised.value)


@pytest.mark.parametrize("function", [attention, observe, attend])
@pytest.mark.parametrize(("arrays", "arguments", "kind", "words"), [*ARRAYS, *OTHERS])
def test_arguments_are_refused_in_the_same_words_everywhere(
    function, arrays, arguments, kind, words
):
    with pytest.raises(kind) as raised:
        function(*arrays, **arguments)
    assert message(raised) == words


SEEN = observe(X, X, X, top=2)
BARE = observe(HEADS, HEADS, HEADS, top=0, map=0, entropy=False, received=False, profile=False)
AGAIN = observe_from_logsumexp(X, X, SEEN.logsumexp)
RANGE = "needs a range inside 3 positions, but it is"
HEAD = "head needs an index into the leading axes (2, 6), but it is"

ASKED = [
    (lambda: observe(X, X, X, top=-1), "top needs a whole number from 0 up, but it is -1."),
    (lambda: observe(X, X, X, top=1.5), "top needs a whole number from 0 up, but it is 1.5."),
    (lambda: observe(X, X, X, map=-1), "map needs a whole number from 0 up, but it is -1."),
    (lambda: observe(X, X, X, map="all"), "map needs a whole number from 0 up, but it is 'all'."),
    (lambda: SEEN.tile(slice(2, 1), 0), f"rows {RANGE} slice(2, 1, None)."),
    (lambda: SEEN.tile(slice(0, 3, 2), 0), f"rows {RANGE} slice(0, 3, 2)."),
    (lambda: SEEN.tile(0, slice(3, 5)), f"columns {RANGE} slice(3, 5, None)."),
    (lambda: SEEN.row(3), f"rows {RANGE} 3."),
    (lambda: SEEN.row(-4), f"rows {RANGE} -4."),
    (lambda: SEEN.row(-5), f"rows {RANGE} -5."),
    (lambda: BARE.row(0, head=(0, 6)), f"{HEAD} (0, 6)."),
    (lambda: BARE.row(0, head=(-1, 0)), f"{HEAD} (-1, 0)."),
    (lambda: BARE.row(0, head=1), f"{HEAD} 1."),
    (lambda: observe_from_logsumexp(X, X, np.zeros(2)),
     "logsumexp needs numbers or -inf of shape (3,), but its shape is (2,)."),
    (lambda: observe_from_logsumexp(X, X, [0, np.nan, 0]),
     "logsumexp needs numbers or -inf of shape (3,), but its shape is (3,) "
     "and it has nan or +inf in it."),
    (lambda: observe_from_logsumexp(X, X, [0, np.inf, 0]),
     "logsumexp needs numbers or -inf of shape (3,), but its shape is (3,) "
     "and it has nan or +inf in it."),
]  # fmt: skip
NOT_ASKED = [
    (lambda: AGAIN.output, "output was not asked for: observe again with value."),
    (lambda: BARE.entropy, "entropy was not asked for: observe again with entropy=True."),
    (lambda: BARE.received, "received was not asked for: observe again with received=True."),
    (lambda: BARE.received_mean, "received was not asked for: observe again with received=True."),
    (lambda: BARE.map, "map was not asked for: observe again with map=256."),
    (lambda: BARE.profile, "profile was not asked for: observe again with profile=True."),
    (lambda: BARE.top(), "top was not asked for: observe again with top=16."),
    (lambda: BARE.top(3), "top was not asked for: observe again with top=3."),
    (lambda: SEEN.top(3), "top(3) needs more than the 2 kept: observe with top=3."),
]


@pytest.mark.parametrize(("wrong", "words"), ASKED)
def test_what_is_asked_wrongly_is_said(wrong, words):
    with pytest.raises(ArgumentError) as raised:
        wrong()
    assert message(raised) == words


@pytest.mark.parametrize(("absent", "words"), NOT_ASKED)
def test_a_fact_that_was_not_asked_for_says_how_to_get_it(absent, words):
    with pytest.raises(NotAskedError) as raised:
        absent()
    assert message(raised) == words


@pytest.mark.smoke
def test_a_base_2_logsumexp_is_found_out(engine):
    deep = np.full((20, 4), 2.0)  # scores of -8, so the base-2 sum lies below the natural one
    base_2 = observe(deep, -deep, deep).logsumexp / np.log(2)
    with pytest.raises(ArgumentError) as raised:
        observe_from_logsumexp(deep, -deep, base_2, **engine.asked)
    assert message(raised) == (
        "logsumexp does not belong to these scores: a row's weights would sum to 9.16. " + BASE_2
    )


def test_a_logsumexp_of_nothing_over_keys_that_are_seen_gives_no_weight(engine):
    huge = np.full((20, 4), 1e3)
    seen = observe_from_logsumexp(huge, huge, np.full(20, -np.inf), **engine.asked)
    facts = [seen.entropy, seen.top().weights, seen.row(0)]
    assert all((fact == 0).all() for fact in facts)
    assert (seen.top().keys == -1).all()
