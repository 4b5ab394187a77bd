"""Where a number lies in Steps: a stage's matrix, a row and a column by word or by index."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError
from regard.shapes import count

if TYPE_CHECKING:
    from regard.self_attention.steps import Steps

Array = NDArray[np.float64]
BETWEEN_WORDS = ("scores", "scaled", "capped", "masked", "weights")


def matrix(steps: "Steps", stage: str, head: int = 0, sentence: int = 0) -> Array:
    """The two-dimensional array of a stage, for one head of one sentence.

    >>> from regard.self_attention.steps import attend
    >>> matrix(attend(np.eye(2), np.eye(2), np.eye(2)), "scores")
    array([[1., 0.],
           [0., 1.]])
    """
    present = steps.stages()
    if stage not in present:
        raise ArgumentError(
            f"stage needs to be one of {', '.join(present)}, but it is {stage!r}"
            + (": this computation has no such stage." if hasattr(steps, stage) else ".")
        )
    array_bhtx = _by_head(steps, stage)
    sentences, heads = sizes(steps)
    at = _check_index("sentence", sentence, sentences)
    of = _check_index("head", head, heads)
    result: Array = array_bhtx[at, of if array_bhtx.shape[1] > 1 else 0]
    return result


def sizes(steps: "Steps") -> tuple[int, int]:
    """How many sentences and how many heads."""
    sentences, heads = _by_head(steps, "weights").shape[:2]
    return int(sentences), int(heads)


def has_heads(steps: "Steps", stage: str) -> bool:
    """Whether a stage has an axis of heads."""
    if steps.x is None:
        return steps.query.ndim > 2
    return steps.sums is not None and stage not in ("x", "output")


def labels(steps: "Steps", size: int, sentence: int = 0) -> tuple[str, ...]:
    """A name for each position: its word, with its index where the word occurs twice."""
    words = words_of(steps, sentence)
    if len(words) != size:
        return tuple(str(i) for i in range(size))
    return tuple(f"{w} ({i})" if words.count(w) > 1 else w for i, w in enumerate(words))


def words_of(steps: "Steps", sentence: int = 0) -> tuple[str, ...]:
    """The words of one sentence; none where none were given."""
    words: Any = steps.words
    chosen: tuple[str, ...] = words[sentence] if words and isinstance(words[0], tuple) else words
    return chosen


def find(name: str, wanted: str | int, words: tuple[str, ...], size: int) -> int:
    """The index of a word or of an index; a word that is not there once is an error that helps.

    >>> find("row", "cat", ("the", "cat"), 2), find("row", -1, ("the", "cat"), 2)
    (1, 1)
    """
    if not isinstance(wanted, str):
        return _check_index(name, wanted, size)
    places = [i for i, word in enumerate(words) if word == wanted]
    if len(places) == 1:
        return places[0]
    if places:
        listed = ", ".join(str(i) for i in places)
        raise ArgumentError(f"{name} {wanted!r} occurs {len(places)} times: say which of {listed}.")
    if not words:
        raise ArgumentError(
            f"{name} needs an index from 0 to {size - 1}, since no words were given, "
            f"but it is {wanted!r}."
        )
    raise ArgumentError(f"{name} needs one of the words {', '.join(words)}, but it is {wanted!r}.")


def find_feature(name: str, wanted: str | int, size: int, stage: str) -> int:
    """The index of a feature; features have no words."""
    if isinstance(wanted, str):
        raise ArgumentError(
            f"{name} of {stage} needs a feature's index from 0 to {size - 1}, but it is {wanted!r}."
        )
    return _check_index(name, wanted, size)


def _by_head(steps: "Steps", stage: str) -> Array:
    """Any stage as (b, h, rows, columns); an axis that it does not have counts 1."""
    array = steps.stages()[stage]
    heads = array.shape[-3] if has_heads(steps, stage) else 1
    return array.reshape(array.size // max(1, heads * array.shape[-2] * array.shape[-1]),
                         heads, *array.shape[-2:])  # fmt: skip


def _check_index(name: str, wanted: Any, size: int) -> int:
    if not isinstance(wanted, int | np.integer) or not -size <= wanted < size:
        raise ArgumentError(
            f"{name} needs an index into {count(size, 'position')} (0 to {size - 1}), "
            f"but it is {wanted!r}."
        )
    return int(wanted) % size
