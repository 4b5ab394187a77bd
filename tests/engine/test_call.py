"""Arguments that are refused, word for word; numbers near overflow, and arrays that change."""

import numpy as np
import pytest

from regard.engine import call
from regard.engine.attention import attention
from regard.engine.call import prepare
from regard.engine.observe import observe, observe_from_logsumexp
from regard.errors import ArgumentError, ShapeError
from regard.textbook.steps import attend, self_attention

ONES = np.ones((1, 1, 2), np.float32)
TWO = np.array([[[0.0], [1.0]]], np.float32)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        ([1e30, 2e30], 1.0),
        ([-1e30, -3e38], 0.0),
        ([0.0, np.finfo(np.float32).min], 0.0),
        ([1e30, 0.0], 0.0),
        ([2e38, 3e38], 1.0),
    ],
)
def test_a_huge_mask_decides_as_it_should(mask, expected):
    row = np.array(mask, np.float32).reshape(1, 1, 2)
    key = np.ones((1, 2, 2), np.float32)
    assert attention(ONES, key, TWO, mask=row).item() == expected
    seen = observe(ONES, key, TWO, mask=row)
    assert seen.output.item() == expected
    np.testing.assert_array_equal(seen.row(0, head=0), [1 - expected, expected])


def test_a_mask_beyond_float64_is_refused():
    with pytest.raises(ArgumentError, match=r"^mask must be below 1e300, got larger"):
        attention(ONES, np.ones((1, 2, 2)), TWO, mask=np.array([1e305, 2e305]))


@pytest.mark.parametrize("size", [1.7e308, np.finfo(np.float64).max, -1.7e308])
def test_values_at_the_end_of_float64_do_not_overflow(size):
    same = np.ones((1, 3, 2))
    value = np.full((1, 3, 1), size)
    np.testing.assert_allclose(attention(same, same, value), size, rtol=1e-15)
    np.testing.assert_allclose(observe(same, same, value).output, size, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_observation_does_not_change_with_the_arrays_it_was_made_of(dtype):
    rng = np.random.default_rng(0)
    query, key = rng.standard_normal((2, 2, 6, 4)).astype(dtype)
    mask, lengths = np.tri(6, dtype=bool), np.array(5)
    seen = observe(query, key, key, mask=mask, lengths=lengths)
    again = observe_from_logsumexp(query, key, seen.logsumexp, mask=mask, lengths=lengths)
    before = seen.tile(slice(None), slice(None)), seen.received_mean
    for array in (query, key):
        array *= 5
    mask[:], lengths[...] = True, 1
    for one in (seen, again):
        np.testing.assert_array_equal(one.tile(slice(None), slice(None)), before[0])
    np.testing.assert_array_equal(seen.received_mean, before[1])


def test_an_observation_does_not_change_with_the_tensors_it_was_made_of():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.randn(1, 6, 4)
    seen = observe(tensor, tensor, tensor)
    before = seen.tile(slice(None), slice(None))
    tensor *= 5
    np.testing.assert_array_equal(seen.tile(slice(None), slice(None)), before)


def test_a_broadcast_mask_is_copied_once():
    mask = np.broadcast_to(np.ones((4, 4), bool), (3, 4, 4))
    array = np.ones((3, 4, 2))
    seen = observe(array, array, array, mask=mask)
    assert seen.parts[0].visibility.mask.strides[0] == 0


@pytest.mark.parametrize("name", ["query", "key", "value", "mask", "lengths"])
def test_a_masked_array_is_refused(name):
    arrays = {x: np.ones((1, 2, 2)) for x in ("query", "key", "value")}
    arrays[name] = np.ma.masked_array(np.ones((1, 2, 2)), mask=False)
    words = rf"^{name} must not .* whose mask would be lost: write {name}\.filled\(0\), and hide"
    with pytest.raises(ArgumentError, match=words):
        attention(**arrays)


def test_the_textbook_refuses_masked_and_complex_numbers():
    with pytest.raises(ArgumentError, match=r"^x must not be a NumPy masked array"):
        self_attention(np.ma.masked_array(np.eye(2), mask=False), np.eye(2), np.eye(2), np.eye(2))
    with pytest.raises(ArgumentError, match=r"^x .* real numbers, .* complex ones\.$"):
        self_attention(np.eye(2) * 1j, np.eye(2), np.eye(2), np.eye(2))


@pytest.mark.parametrize("causal", ["no", 1, None, np.array([True])])
def test_causal_is_true_or_false(causal):
    array = np.ones((1, 2, 2))
    with pytest.raises(ArgumentError) as error:
        attention(array, array, array, causal=causal)
    assert str(error.value) == f"causal must be True or False, got {causal!r}."


X = np.random.default_rng(0).standard_normal((3, 4))
HEADS = np.random.default_rng(0).standard_normal((2, 6, 3, 4))


def but(array, index, number):
    """The array with one number changed."""
    changed = array.copy()
    changed[index] = number
    return changed


SIDES = "window must be (left, right), each a whole number from 0 up or None for unbounded, got"
OFFSET = (
    "offset is needed: there are 1 query and 3 keys. Give offset=0 if query 0 stands at key 0 "
    "(top left), or offset=2 (keys - queries) if the queries are the last ones."
)
PADDING = "If it stands for padding, use lengths or mask instead."
LENGTHS = "one for each entry of the leading batch axes, got dtype"

# Query, key and value, the other arguments, and what attention, observe and attend all answer.
ARRAYS = [
    ((X[0], X, X), {}, ShapeError,
     "query must have axes (..., q, d), got shape (4,): it has 1 axis."),
    ((X, X[:, :3], X), {}, ShapeError,
     "key must have axes (k, d=4), got shape (3, 3): d is 3."),
    ((X, HEADS, X), {}, ShapeError,
     "key must have axes (k, d=4), got shape (2, 6, 3, 4): it has 4 axes."),
    ((X, X, X[:2]), {}, ShapeError,
     "value must have axes (k=3, d_v), got shape (2, 4): k is 2."),
    ((HEADS, HEADS[0], HEADS), {}, ShapeError,
     "key must have axes (b, h_kv, k, d=4), got shape (6, 3, 4): it has 3 axes."),
    ((HEADS, HEADS[:1], HEADS), {}, ShapeError,
     "key must have the leading axes of query, (2,), got shape (1, 6, 3, 4)."),
    ((HEADS, HEADS, HEADS[:1]), {}, ShapeError,
     "value must have the leading axes of query, (2,), got shape (1, 6, 3, 4)."),
    ((HEADS, HEADS, HEADS[:, :3]), {}, ShapeError,
     "value must have axes (b, h_kv=6, k, d_v), got shape (2, 3, 3, 4): h_kv is 3."),
    ((HEADS, HEADS[:, :4], HEADS[:, :4]), {}, ShapeError,
     "query has 6 heads and key has 4: the heads of key must divide the heads of query "
     "(grouped heads)."),
    ((X.astype(int), X, X), {}, ArgumentError,
     "query must have dtype float16, float32 or float64, got int64: "
     "write query.astype(np.float32)."),
    ((X, X.astype(complex), X), {}, ArgumentError,
     "key must have dtype float16, float32 or float64, got complex128: "
     "write key.astype(np.float32)."),
    ((X, X, X.astype(">f4")), {}, ArgumentError,
     "value must have dtype float16, float32 or float64, got >f4: "
     "write value.astype(np.float32)."),
    ((but(X, (1, 2), np.nan), X, X), {}, ArgumentError,
     f"query must be finite numbers, got nan at [1, 2]. {PADDING}"),
    ((HEADS, but(HEADS, (1, 5, 2, 0), np.inf), HEADS), {}, ArgumentError,
     f"key must be finite numbers, got inf at [1, 5, 2, 0]. {PADDING}"),
    ((X, X, but(X, (2, 3), -np.inf).astype(np.float16)), {}, ArgumentError,
     f"value must be finite numbers, got -inf at [2, 3]. {PADDING}"),
    ((X * 1e200, X * 1e200, X), {}, ArgumentError,
     "query and key are too large: their products overflow float64."),
]  # fmt: skip
OTHERS = [
    ((X[:1], X, X), {"causal": True}, ArgumentError, OFFSET),
    ((X[:1], X, X), {"window": (1, None)}, ArgumentError, OFFSET),
    ((X, X, X), {"offset": 0.5}, ArgumentError, "offset must be a whole number, got 0.5."),
    ((X, X, X), {"window": (-1, 2)}, ArgumentError, f"{SIDES} (-1, 2)."),
    ((X, X, X), {"window": (1.5, None)}, ArgumentError, f"{SIDES} (1.5, None)."),
    ((X, X, X), {"window": 3}, ArgumentError, f"{SIDES} 3."),
    ((X, X, X), {"window": (1, 2, 3)}, ArgumentError, f"{SIDES} (1, 2, 3)."),
    ((X, X, X), {"mask": np.ones((3, 3), int)}, ArgumentError,
     "mask must be bool (True = may look) or float (added to the scores), "
     "got dtype int64: write mask.astype(bool)."),
    ((X, X, X), {"mask": np.ones((2, 3), bool)}, ShapeError,
     "mask must have a shape that broadcasts to (3, 3), got (2, 3)."),
    ((X, X, X), {"mask": np.zeros((1, 3, 3))}, ShapeError,
     "mask must have a shape that broadcasts to (3, 3), got (1, 3, 3)."),
    ((X, X, X), {"mask": but(np.zeros((3, 3)), (1, 1), np.nan)}, ArgumentError,
     "mask must be numbers or -inf where it is float, got nan or +inf."),
    ((X, X, X), {"mask": but(np.zeros((3, 3)), (0, 2), np.inf)}, ArgumentError,
     "mask must be numbers or -inf where it is float, got nan or +inf."),
    ((X, X, X), {"mask": lambda query, key: np.where(key <= query, 0.0, -np.inf)}, ArgumentError,
     "mask, a function, must return bool values that broadcast to (3, 3), "
     "got dtype float64 and shape (3, 3)."),
    ((X, X, X), {"mask": lambda query, key: np.ones(4, bool)}, ArgumentError,
     "mask, a function, must return bool values that broadcast to (3, 3), "
     "got dtype bool and shape (4,)."),
    ((X, X, X), {"lengths": [1]}, ArgumentError,
     f"lengths must be whole numbers of shape (), {LENGTHS} int64 and shape (1,)."),
    ((HEADS, HEADS, HEADS), {"lengths": [1.0, 2.0]}, ArgumentError,
     f"lengths must be whole numbers of shape (2,), {LENGTHS} float64 and shape (2,)."),
    ((HEADS, HEADS, HEADS), {"lengths": [-1, 2]}, ArgumentError,
     "lengths must be from 0 to 3, the number of keys, got -1 to 2."),
    ((HEADS, HEADS, HEADS), {"lengths": [1, 4]}, ArgumentError,
     "lengths must be from 0 to 3, the number of keys, got 1 to 4."),
    ((X, X, X), {"softcap": 0.0}, ArgumentError,
     "softcap must be a finite number above 0, got 0.0."),
    ((X, X, X), {"softcap": np.inf}, ArgumentError,
     "softcap must be a finite number above 0, got inf."),
    ((X, X, X), {"scale": -1}, ArgumentError, "scale must be a finite number above 0, got -1."),
    ((X, X, X), {"scale": np.nan}, ArgumentError,
     "scale must be a finite number above 0, got nan."),
]  # fmt: skip


@pytest.mark.parametrize("function", [attention, observe, attend])
@pytest.mark.parametrize(("arrays", "arguments", "kind", "words"), [*ARRAYS, *OTHERS])
def test_arguments_are_refused_in_the_same_words_everywhere(
    function, arrays, arguments, kind, words
):
    with pytest.raises(kind) as raised:
        function(*arrays, **arguments)
    assert str(raised.value) == words


VECTORISED, PLAIN = {"ff": {"current": "X86_V3"}}, {"ff": {"current": "baseline(X86_V2)"}}


@pytest.fixture
def fresh():
    call.exp2_is_faster.cache_clear()
    yield
    call.exp2_is_faster.cache_clear()


@pytest.mark.parametrize(
    ("exp", "exp2", "faster"),
    [(VECTORISED, VECTORISED, True), (VECTORISED, PLAIN, False), (PLAIN, PLAIN, True)],
    ids=["AVX-512", "AVX2", "Arm"],
)
def test_exp2_is_used_where_it_is_vectorised_or_exp_is_not(fresh, monkeypatch, exp, exp2, faster):
    chosen = {"exp": exp, "exp2": exp2}
    monkeypatch.setattr(np.lib.introspect, "opt_func_info", lambda **query: chosen)
    assert call.exp2_is_faster("f") is faster


def test_numpy_itself_answers_for_both_dtypes(fresh):
    assert {call.exp2_is_faster(char) for char in "fd"} <= {True, False}


@pytest.mark.parametrize("faster", [True, False])
def test_both_exponentials_agree(monkeypatch, faster):
    monkeypatch.setattr(call, "exp2_is_faster", lambda char: faster)
    x = np.ones((1, 2, 4), np.float32)
    t = np.linspace(-20, 20, 999, dtype=np.float32)
    out = np.empty_like(t)
    prepare(x, x, x).exponential(t, None, out)
    # The product with ln 2 is off by half a rounding of up to 14, its exponential by as much.
    np.testing.assert_allclose(out, np.exp2(t.astype(np.float64)), rtol=16 * 1.2e-7)
