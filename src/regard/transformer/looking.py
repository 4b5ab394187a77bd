"""Where a word looks: over all heads, between two words, and the one link most worth showing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import ArgumentError
from regard.transformer.layers import Array

if TYPE_CHECKING:
    from regard.transformer.reading import Reading


@dataclass(frozen=True)
class Look:
    """One head's weight from one word to another. Layers and heads count from 0.

    ``usual`` is what this head gives to that place whatever the words are; a weight tells as much
    as it exceeds it. ``role`` says what the head usually does, where that was measured.
    """

    layer: int
    head: int
    word: str
    other: str
    weight: float
    usual: float
    role: str = ""

    @property
    def telling(self) -> float:
        """How far the weight exceeds the usual one."""
        return self.weight - self.usual

    def __str__(self) -> str:
        return (
            f"{self.word} looks at {self.other}: {percent(self.weight)} in layer {self.layer}, "
            f"head {self.head} (usual there: {percent(self.usual)})"
        )


@dataclass(frozen=True)
class Looks:
    """Where one word looks, one entry for each head, the most telling first."""

    word: str
    part: str
    looks: tuple[Look, ...]
    note: str = ""

    def __str__(self) -> str:
        lines = [
            f"{self.word} ({self.part}), the most telling heads first",
            *map(str, self.looks[:10]),
        ]
        return "\n".join([*lines, self.note] if self.note else lines)


def percent(share: float) -> str:
    """A share for people.

    >>> percent(0.876)
    '88 %'
    """
    return f"{100 * share:.0f} %"


def place_of(words: tuple[str, ...], word: str | int) -> int:
    """The position of a word; 'the#2' is the second 'the', a number is a position from 0.

    >>> place_of(("The", "dog", "saw", "the", "cat"), "the#2")
    3
    """
    if isinstance(word, int | np.integer):
        if not -len(words) <= word < len(words):
            raise ArgumentError(f"there are {len(words)} words, so word {word} is none of them.")
        return int(word) % len(words)
    name, _, number = word.rpartition("#") if "#" in word.strip("#") else (word, "", "1")
    found = [i for i, x in enumerate(words) if x.casefold() == name.strip().casefold()]
    if not number.isdecimal() or not 1 <= int(number) <= len(found):
        raise ArgumentError(
            f"{word!r} needs to be one of the words read, but they are: {' '.join(words)}."
        )
    return found[int(number) - 1]


def looks(reading: Reading, word: str | int, part: str) -> Looks:
    """For each head the key whose weight exceeds the usual most."""
    queries = reading.sides(part)[0]
    place = place_of(queries.words, word)
    weights_lhk = reading.weights(part)[:, :, place]
    usual_lhk = usual_weights(reading, part, place)
    best_lh = (weights_lhk - usual_lhk).argmax(axis=-1)
    all_looks = [
        look_of(reading, part, place, head, int(best_lh[head]))
        for head in np.ndindex(best_lh.shape)
    ]
    all_looks.sort(key=lambda look: -look.telling)
    times = [x.casefold() for x in queries.words].count(queries.words[place].casefold())
    note = "" if times == 1 or not isinstance(word, str) or "#" in word else (
        f"{word} is there {times} times; this is the first. Write {word}#2 for the second."
    )  # fmt: skip
    return Looks(queries.words[place], part, tuple(all_looks), note)


def find(reading: Reading, word: str | int, other: str | int, part: str) -> tuple[Look, ...]:
    """Every head's link from one word to the other, the strongest first."""
    queries, keys = reading.sides(part)
    place, key = place_of(queries.words, word), place_of(keys.words, other)
    shape = reading.weights(part).shape[:2]
    links = [look_of(reading, part, place, head, key) for head in np.ndindex(shape)]
    return tuple(sorted(links, key=lambda look: -look.weight))


def usual_weights(reading: Reading, part: str, place: int) -> Array:
    """usual_lhk: what each head gives to each place as seen from one word, whatever the words.

    From the measured roles where there are any, else from the other words of this sentence.
    """
    roles = reading.model.roles.of(part)
    queries, keys = reading.sides(part)
    weights_lhqk = reading.weights(part)
    at = _places(place, len(keys.words), part)
    usual_lhk = np.zeros((*weights_lhqk.shape[:2], len(keys.words)))
    if not roles:
        rows = [_places(q, len(keys.words), part) for q in range(len(queries.words)) if q != place]
        for name, key in at.items():
            seen = [weights_lhqk[:, :, q, row[name]] for q, row in enumerate(rows) if name in row]
            if seen:
                usual_lhk[:, :, key] = np.maximum(usual_lhk[:, :, key], np.mean(seen, axis=0))
        return usual_lhk
    for (layer, head), role in roles.items():
        for name, key in at.items():
            kept = usual_lhk[layer, head]
            kept[key] = max(kept[key], role.usual.get(name, 0.0))
    return usual_lhk


def _places(query: int, keys: int, part: str) -> dict[str, int]:
    """The place of each kind as seen from one word; cross-attention has only first and end."""
    places = {"first": 0}
    if part != "decoder":
        places["end"] = keys - 1
    if part != "cross":
        near = {"same": query, "previous": query - 1, "next": query + 1}
        places |= {name: key for name, key in near.items() if 0 <= key < keys}
    return places


def look_of(reading: Reading, part: str, place: int, head: tuple[int, ...], key: int) -> Look:
    """One head's link from a word to another; ``head`` is (layer, head)."""
    queries, keys = reading.sides(part)
    layer, number = head
    role = reading.model.roles.of(part).get((layer, number))
    return Look(
        layer=layer,
        head=number,
        word=queries.words[place],
        other=keys.words[key],
        weight=float(reading.weights(part)[layer, number, place, key]),
        usual=float(usual_weights(reading, part, place)[layer, number, key]),
        role=role.name if role else "",
    )
