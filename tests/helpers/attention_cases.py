"""One table of cases: shapes, masks and numbers that have broken an attention somewhere."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray


def _as_drawn(*arrays: Array) -> tuple[Array, ...]:
    return arrays


@dataclass(frozen=True)
class Case:
    """Query, key and value of these shapes, made by ``numbers``, and the arguments beside them."""

    name: str
    query: tuple[int, ...] = (2, 37, 8)
    key: tuple[int, ...] = (2, 37, 8)
    value_width: int = 5
    arguments: dict[str, Any] = field(default_factory=dict)
    numbers: Callable[..., tuple[Array, ...]] = _as_drawn

    def __str__(self) -> str:
        return self.name

    def arrays(self, dtype: Any = np.float64) -> tuple[Array, ...]:
        """The same numbers at every call; casting comes last."""
        random = np.random.default_rng(0)
        shapes = self.query, self.key, (*self.key[:-1], self.value_width)
        arrays = self.numbers(*(random.standard_normal(shape) for shape in shapes))
        return tuple(array.astype(dtype, copy=False) for array in arrays)


def times(query: float = 1, key: float = 1, value: float = 1) -> Callable[..., Any]:
    """Make the arrays larger or smaller."""
    return lambda q, k, v: (q * query, k * key, v * value)


def _identical_keys(query: Array, key: Array, value: Array) -> tuple[Array, ...]:
    return query, np.broadcast_to(key[..., :1, :], key.shape), value


def _not_contiguous(query: Array, key: Array, value: Array) -> tuple[Array, ...]:
    turned = np.ascontiguousarray(query.swapaxes(-1, -2)).swapaxes(-1, -2)
    return turned, key[..., ::-1, :], np.repeat(value, 2, axis=-1)[..., ::2]


def _negative_zeros(query: Array, key: Array, value: Array) -> tuple[Array, ...]:
    return -np.zeros_like(query), key, -np.zeros_like(value)


def _one_key_far_above(query: Array, key: Array, value: Array) -> tuple[Array, ...]:
    """All weight on key 20: its score is 1e4, the others lie around 0."""
    query, key = query * 0.1, key * 0.1
    query[..., 0], key[..., 20, 0] = 1e2, 1e2 * np.sqrt(key.shape[-1])
    return query, key, value


def _bool_mask(*shape: int) -> Array:
    return np.random.default_rng(1).random(shape) < 0.5


def _some_rows_masked(mask: Array) -> Array:
    mask[..., [0, 17, 36], :] = False
    return mask


def _bias(*shape: int, hidden: float = 0.0, with_value: float = -np.inf) -> Array:
    random = np.random.default_rng(2)
    return np.where(random.random(shape) < hidden, with_value, random.standard_normal(shape))


def _alternate(query: Array, key: Array) -> Array:
    return (query + key) % 2 == 0


def _only_the_key(query: Array, key: Array) -> Array:
    """A rule that says nothing of the query: one axis less."""
    return key[0] % 3 > 0


def _case(
    name: str, query: int = 37, key: int = 37, numbers: Any = _as_drawn, **arguments: Any
) -> Case:
    """Two heads of width 8."""
    return Case(name, (2, query, 8), (2, key, 8), 5, arguments, numbers)


def _batch(name: str, query: int, key: int, lengths: list[int], **arguments: Any) -> Case:
    """Sentences of these lengths, two heads of width 8."""
    batch = (len(lengths), 2)
    return Case(name, (*batch, query, 8), (*batch, key, 8), 5, {"lengths": lengths, **arguments})


SHAPES = (
    Case("2-D", (19, 8), (19, 8)),
    Case("fewer queries than keys", (2, 7, 8), (2, 50, 8)),
    Case("more queries than keys", (2, 50, 8), (2, 7, 8)),
    Case("wide value", value_width=33),
    Case("value of width 0", value_width=0),
    Case("head of width 0", (2, 5, 0), (2, 20, 0)),
    Case("head of width 1", (2, 20, 1), (2, 20, 1)),
    Case("grouped heads", (6, 20, 8), (2, 33, 8)),
    Case("grouped heads in one unit", (8, 5, 8), (2, 21, 8)),
    Case("one key head for all", (5, 20, 8), (1, 20, 8)),
    Case("one batch axis", (3, 4, 18, 8), (3, 2, 18, 8)),
    Case("two batch axes", (2, 3, 2, 17, 8), (2, 3, 2, 17, 8)),
    Case("three batch axes", (2, 1, 2, 2, 9, 4), (2, 1, 2, 1, 17, 4)),
    Case("no queries", (2, 0, 8), (2, 20, 8)),
    Case("no keys", (2, 20, 8), (2, 0, 8)),
    Case("no queries, no keys", (2, 0, 8), (2, 0, 8)),
    Case("empty batch", (0, 2, 5, 8), (0, 2, 5, 8)),
    Case("one query", (2, 1, 8), (2, 33, 8)),
    Case("one key", (2, 33, 8), (2, 1, 8)),
    Case("one query, one key", (1, 1, 1), (1, 1, 1)),
    Case("one query, many keys", (3, 1, 8), (3, 5000, 8)),
    Case("whole tiles", (1, 32, 8), (1, 48, 8)),
    Case("one past a tile", (1, 33, 8), (1, 49, 8)),
    Case("one short of a tile", (1, 31, 8), (1, 47, 8)),
    Case("more tiles than one span", (1, 20, 8), (1, 300, 8)),
)
BANDS = (
    _case("causal", causal=True),
    _case("causal, offset 0", 20, 50, causal=True, offset=0),
    _case("causal, the last queries", 20, 50, causal=True, offset=30),
    _case("causal, more queries than keys", 50, 20, causal=True, offset=-30),
    _case("causal, offset -5", causal=True, offset=-5),
    _case("causal, offset 5", causal=True, offset=5),
    _case("causal, offset beyond the keys", causal=True, offset=1000),
    _case("causal, offset before the keys", causal=True, offset=-1000),
    _case("offset alone changes the profile only", offset=7),
    _case("window", window=(4, 2)),
    _case("window of one key", window=(0, 0)),
    _case("window to the left", window=(6, None)),
    _case("window to the right", window=(None, 3)),
    _case("window unbounded", window=(None, None)),
    _case("window, causal", window=(20, 9), causal=True),
    _case("window, offset", 20, 60, window=(5, 3), offset=31),
    _case("window past the keys", 40, 20, window=(2, 2), offset=15),
    Case("causal decoding", (3, 1, 8), (3, 40, 8), arguments={"causal": True, "offset": 39}),
)
MASKS = (
    _case("bool mask", mask=_bool_mask(2, 37, 37)),
    _case("bool mask for all heads", mask=_bool_mask(37, 37)),
    _case("bool mask of keys", mask=_bool_mask(37)),
    _case("bool mask of queries", mask=_bool_mask(37, 1)),
    _case("bool mask of heads", mask=np.array([True, False]).reshape(2, 1, 1)),
    _case("mask of one value", mask=np.array(True)),
    _case("masked rows", mask=_some_rows_masked(_bool_mask(2, 37, 37))),
    _case("all masked", mask=np.zeros((37, 37), bool)),
    _case("mask in lists", 2, 3, mask=[[True, False, True], [False, True, True]]),
    _batch("bool mask of a batch", 20, 20, [20, 20], mask=_bool_mask(2, 1, 1, 20)),
    Case("2-D with mask", (20, 8), (20, 8), arguments={"mask": _bool_mask(20, 20)}),
    _case("float mask", mask=_bias(2, 37, 37)),
    _case("float mask of keys", mask=_bias(37)),
    _case("float mask with -inf", mask=_bias(2, 37, 37, hidden=0.5)),
    _case("float mask of -inf", mask=np.full((37, 37), -np.inf)),
    _case("float mask with -1e9", mask=_bias(37, 37, hidden=0.5, with_value=-1e9)),
    _case("float mask of -1e9", mask=np.full((37, 37), -1e9)),
    _case("float mask with the lowest number",
          mask=_bias(37, 37, hidden=0.5, with_value=np.finfo(np.float64).min)),
    _case("whole numbers in a float mask", mask=np.floor(3 * _bias(37, 37))),
    _case("float16 mask", mask=(5 * _bias(2, 37, 37)).astype(np.float16)),
    _case("function", mask=_alternate),
    _case("function of the key", mask=_only_the_key),
    _case("function that is always true", mask=lambda query, key: True),
    _case("function that is never true", mask=lambda query, key: np.zeros((1, 1), bool)),
    _case("function, causal", mask=_alternate, causal=True),
    _case("bool mask, window", mask=_bool_mask(37, 37), window=(9, 1)),
    Case("lengths, grouped", (3, 2, 20, 8), (3, 1, 37, 8), arguments={"lengths": [0, 17, 37]}),
    Case("length of 2-D", (20, 8), (20, 8), arguments={"lengths": 7}),
    _batch("lengths in one unit", 5, 40, [3, 0, 40, 17]),
    _batch("lengths 0", 20, 20, [0, 0]),
    _batch("lengths, causal", 37, 37, [30, 5], causal=True),
    _batch("lengths, float mask", 37, 37, [30, 5], mask=_bias(37, 37, hidden=0.5)),
    _batch("lengths, function", 37, 37, [30, 5], mask=_alternate),
    _batch("lengths that end before the window", 20, 60, [9, 40], window=(3, None), offset=30),
)  # fmt: skip
NUMBERS = (
    _case("scale", scale=0.7),
    _case("scale tiny", scale=1e-30),
    _case("scale huge", scale=1e4),
    _case("softcap", softcap=5.0, scale=3.0),
    _case("softcap, float mask", softcap=2.0, mask=_bias(37, 37, hidden=0.3)),
    _case("softcap of huge scores", softcap=30.0, scale=1e4),
    _case("softcap, large", softcap=1e3, scale=1e2),
    _case("softcap huge", softcap=1e40),
    _case("softcap tiny", softcap=1e-40),
    _case("all together", window=(20, 9), causal=True, offset=2, softcap=4.0, scale=0.9,
          mask=_bias(2, 37, 37, hidden=0.4)),
    _case("scores of 30", numbers=times(query=10)),
    _case("scores of 1e4", numbers=times(query=1e2, key=1e2)),
    _case("scores of 1e4, masked", numbers=times(1e2, 1e2), mask=_bias(37, 37, hidden=0.5)),
    _case("scores of 1e6", numbers=times(query=1e3, key=1e3)),
    _case("scores of -1e4", numbers=lambda q, k, v: (np.abs(q) * 1e2, -np.abs(k) * 1e2, v)),
    _case("one key far above", numbers=_one_key_far_above),
    _case("identical keys", numbers=_identical_keys),
    _case("zeros", numbers=times(0, 0, 0)),
    _case("negative zeros", numbers=_negative_zeros),
    _case("subnormal", numbers=times(1e-310, 1, 1e-310)),
    _case("subnormal in float32", numbers=times(1e-40, 1, 1e-40)),
    _case("tiny query, huge key", numbers=times(query=1e-28, key=1e30)),
    _case("huge value", numbers=times(value=1e30)),
    _case("tiny value", numbers=times(query=3, value=1e-30)),
    _case("not contiguous", numbers=_not_contiguous),
)  # fmt: skip
CASES = (*SHAPES, *BANDS, *MASKS, *NUMBERS)
