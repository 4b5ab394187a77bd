"""The summary of an observation, and its errors word for word."""

import copy
import pickle

import numpy as np
import pytest

import regard
from regard.engine.files import open_mapped
from regard.engine.observation import ArrayFacts, FactsLike
from regard.engine.observe import observe, observe_from_logsumexp
from regard.errors import ArgumentError, NotAskedError

X = np.random.default_rng(0).standard_normal((3, 4))
HEADS = np.random.default_rng(0).standard_normal((2, 6, 3, 4))
BASE_2 = (
    "It must be natural (multiply a base-2 one by ln 2 = 0.6931) and made with the same scale and "
    "masks."
)


def previous_word_head(tokens: int = 40) -> tuple[np.ndarray, ...]:
    """Queries that match the key just before them, and nothing else."""
    one_hot = np.eye(tokens)
    return 50 * np.roll(one_hot, 1, axis=0)[None], one_hot[None] * np.sqrt(tokens), one_hot[None]


def test_the_summary_names_shape_cost_heads_keys_and_distances() -> None:
    query, key, value = previous_word_head()
    query[0, 0] = 0
    text = str(observe(query, key, value, causal=True))
    lines = text.splitlines()
    assert (
        lines[0] == "Observation of 1 head, 40 queries, 40 keys: 1,600 weights, none of them kept."
    )
    assert lines[1].startswith("  cost: panel, ")
    assert lines[3].endswith("first key 5.0 %, itself 2.5 %, previous 97.5 %, next 0.0 %")
    assert "                    1 back  97.5 %  ########################" in lines
    assert "ahead" not in text


def test_many_heads_are_elided() -> None:
    random = np.random.default_rng(0)
    arrays = [random.standard_normal((3, 7, 5, 4)) for _ in range(3)]
    text = str(observe(*arrays))
    assert "    ... 13 more" in text.splitlines()


def test_what_was_not_asked_for_is_not_printed() -> None:
    x = np.eye(4)
    text = str(observe(x, x, x, entropy=False, received=False, profile=False))
    assert len(text.splitlines()) == 2


def test_nothing_to_see_prints_too() -> None:
    empty = np.zeros((2, 0, 4))
    assert str(observe(empty, empty, empty)).startswith("Observation of 2 heads, 0 queries, 0 keys")


SEEN = observe(X, X, X, top=2)
BARE = observe(HEADS, HEADS, HEADS, top=0, map=0, entropy=False, received=False, profile=False)
AGAIN = observe_from_logsumexp(X, X, SEEN.logsumexp)
RANGE = "must be a range inside 3 positions, got"
HEAD = "head must be an index into the leading axes (2, 6), got"

ASKED = [
    (lambda: observe(X, X, X, top=-1), "top must be a whole number from 0 up, got -1."),
    (lambda: observe(X, X, X, top=1.5), "top must be a whole number from 0 up, got 1.5."),
    (lambda: observe(X, X, X, map=-1), "map must be a whole number from 0 up, got -1."),
    (lambda: observe(X, X, X, map="all"), "map must be a whole number from 0 up, got 'all'."),
    (lambda: SEEN.tile(slice(2, 1), 0), f"rows {RANGE} slice(2, 1, None)."),
    (lambda: SEEN.tile(slice(0, 3, 2), 0), f"rows {RANGE} slice(0, 3, 2)."),
    (lambda: SEEN.tile(0, slice(3, 5)), f"columns {RANGE} slice(3, 5, None)."),
    (lambda: SEEN.tile(0, [0, 2]), "columns must be a slice or a whole number, got list: ask for "
     "a slice around them, and index the weights that come back."),
    (lambda: SEEN.row(3), f"rows {RANGE} 3."),
    (lambda: SEEN.row(-4), f"rows {RANGE} -4."),
    (lambda: SEEN.row(-5), f"rows {RANGE} -5."),
    (lambda: BARE.row(0, head=(0, 6)), f"{HEAD} (0, 6)."),
    (lambda: BARE.row(0, head=(-1, 0)), f"{HEAD} (-1, 0)."),
    (lambda: BARE.row(0, head=1), f"{HEAD} 1."),
    (lambda: observe_from_logsumexp(X, X, np.zeros(2)),
     "logsumexp must be numbers or -inf of shape (3,), got shape (2,)."),
    (lambda: observe_from_logsumexp(X, X, [0, np.nan, 0]),
     "logsumexp must be numbers or -inf of shape (3,), got shape (3,) "
     "with nan or +inf in it."),
    (lambda: observe_from_logsumexp(X, X, [0, np.inf, 0]),
     "logsumexp must be numbers or -inf of shape (3,), got shape (3,) "
     "with nan or +inf in it."),
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
    (lambda: SEEN.top(3), "k must be from 0 to 2, the best keys kept, got 3: observe with top=3."),
]


@pytest.mark.parametrize(
    ("kind", "ask", "words"),
    [*((ArgumentError, *case) for case in ASKED), *((NotAskedError, *case) for case in NOT_ASKED)],
)
def test_what_cannot_be_answered_says_what_can(kind, ask, words):
    with pytest.raises(kind) as raised:
        ask()
    assert str(raised.value) == words


@pytest.mark.smoke
def test_a_base_2_logsumexp_is_refused(engine):
    deep = np.full((20, 4), 2.0)  # scores of -8, so the base-2 sum lies below the natural one
    base_2 = observe(deep, -deep, deep).logsumexp / np.log(2)
    with pytest.raises(ArgumentError) as raised:
        observe_from_logsumexp(deep, -deep, base_2, **engine.asked)
    assert str(raised.value) == (
        "logsumexp does not belong to these scores: a row's weights would sum to 9.16. " + BASE_2
    )


def test_a_logsumexp_of_nothing_over_keys_that_are_seen_gives_no_weight(engine):
    huge = np.full((20, 4), 1e3)
    seen = observe_from_logsumexp(huge, huge, np.full(20, -np.inf), **engine.asked)
    facts = [seen.entropy, seen.top().weights, seen.row(0)]
    assert all((fact == 0).all() for fact in facts)
    assert (seen.top().keys == -1).all()


def test_facts_of_the_host_are_arrays_with_shapes():
    facts = ArrayFacts(entropy=np.zeros((2, 3)), map=np.zeros((2, 4, 4)))
    assert isinstance(facts, FactsLike)
    assert facts.fact_shape("map") == (2, 4, 4)
    assert (facts.on_device, facts.device_bytes) == (False, 0)
    assert list(facts.without("map")) == ["entropy"]
    assert list(facts) == ["entropy", "map"]


def test_an_observation_of_arrays_is_on_the_host():
    x = np.random.default_rng(0).standard_normal((2, 5, 4))
    seen = regard.observe(x, x, x)
    assert (seen._on_device, seen._device_bytes) == (False, 0)
    part = seen.parts[0]
    assert part.on_host() is part
    assert part.device_weights is part.device_repeats(np.arange(5)) is None
    assert (part.width, seen.profile.resolve()) == (4, seen.profile)
    assert seen._fact_shape("map") == seen.map.shape


def copied(seen):
    """Every way to copy an observation."""
    return [copy.copy(seen), copy.deepcopy(seen), pickle.loads(pickle.dumps(seen))]  # noqa: S301


def later_keys(at_q, at_k):
    return at_k >= at_q


@pytest.mark.parametrize("mask", [None, np.tri(3, dtype=bool), later_keys], ids=str)
def test_observations_can_be_copied_and_pickled(mask):
    seen = observe(X, X, X, mask=mask, top=2)
    for again in copied(seen):
        assert again.facts.keys() == seen.facts.keys()
        for name, fact in seen.facts.items():
            np.testing.assert_array_equal(again.facts[name], fact)
        np.testing.assert_array_equal(again.tile(slice(1, 3), 0), seen.tile(slice(1, 3), 0))
        np.testing.assert_array_equal(again.profile.weight, seen.profile.weight)
        assert str(again) == str(seen)


def test_a_mapped_file_can_be_copied_and_pickled(tmp_path):
    observe(X, X, X).save(tmp_path / "x.regard", query_and_key=True)
    seen = open_mapped(tmp_path / "x.regard")
    for again in copied(seen):
        np.testing.assert_array_equal(np.asarray(again.entropy), np.asarray(seen.entropy))
        np.testing.assert_array_equal(again.row(1), seen.row(1))
