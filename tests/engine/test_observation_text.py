"""print(seen) says what is there, and only what is true."""

import numpy as np

from regard.engine.observe import observe


def previous_word_head(tokens: int = 40) -> tuple[np.ndarray, ...]:
    """Queries that match the key just before them, and nothing else."""
    place = np.eye(tokens)
    return 50 * np.roll(place, 1, axis=0)[None], place[None] * np.sqrt(tokens), place[None]


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
