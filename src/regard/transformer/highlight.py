"""Where a word looks over all heads, and the one link most worth showing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import ArgumentError
from regard.text.english import DETERMINERS, PRONOUNS, content_before, is_content
from regard.typing import Array

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


Words = tuple[str, ...]


UNUSUAL = "the weight that most exceeds what its head usually gives to that place"


@dataclass(frozen=True)
class Telling:
    """The link chosen to be shown, why it was chosen, and the words it was preferred to."""

    place: int
    look: Look
    others: tuple[tuple[str, float], ...]
    reason: str

    @property
    def sentence(self) -> str:
        """One plain sentence, as in: it looks at dog: 88 % in layer 3, head 2; at food: 0 %."""
        look = self.look
        rest = "".join(f"; at {word}: {percent(weight)}" for word, weight in self.others)
        number = f"in layer {look.layer}, head {look.head}"
        return f"{look.word} looks at {look.other}: {percent(look.weight)} {number}{rest}"


def telling(
    reading: Reading, word: str | int | None, layer: int | None, head: int | None
) -> Telling:
    """Choose a word, a head and what it looks at, where they are not given."""
    place = _pronoun(reading.words) if word is None else place_of(reading.words, word)
    if head is not None and layer is None:
        raise ArgumentError("head needs a layer: say which layer's head it is.")
    if place is not None and layer is None and _is_resolvable(reading, place):
        return _pronoun_link(reading, place)
    return _unusual_link(reading, place, layer, head)


def surest(weights_lhk: Array, nouns: list[int], heads: tuple[tuple[int, int], ...]) -> int:
    """Which of these heads, as (layer, head), gives the most to one of these words."""
    strengths = [weights_lhk[layer, head, nouns].max() for layer, head in heads]
    return int(np.argmax(strengths))


def _pronoun(words: Words) -> int | None:
    """The first pronoun that has two words with meaning before it."""
    for place, word in enumerate(words):
        if word.lower() in PRONOUNS and len(content_before(words, place)) >= 2:
            return place
    return None


def _is_resolvable(reading: Reading, place: int) -> bool:
    known, word = reading.model.roles.pronoun_heads, reading.words[place].lower()
    return bool(known and word in PRONOUNS and content_before(reading.words, place))


def _pronoun_link(reading: Reading, place: int) -> Telling:
    """The surest of the heads that were measured to find what a pronoun stands for."""
    heads, nouns = reading.model.roles.pronoun_heads, content_before(reading.words, place)
    weights_lhk = reading.weights("encoder")[:, :, place]
    layer, head = heads[surest(weights_lhk, nouns, heads)]
    key = nouns[int(weights_lhk[layer, head, nouns].argmax())]
    look = look_of(reading, "encoder", place, (layer, head), key)
    right = reading.model.roles.encoder[layer, head].pronouns
    several = f"the surest of the {len(heads)} heads" if len(heads) > 1 else "the head"
    reason = (
        f"{several} through which a pronoun looks at nouns; in measured contrast pairs it leans "
        f"to the right noun in {percent(right)} (chance: 50 %)"
    )
    return Telling(place, look, _others(reading, place, look, key), reason)


def _unusual_link(
    reading: Reading, place: int | None, layer: int | None, head: int | None
) -> Telling:
    """The largest excess over the usual: words with meaning first, itself and the end last."""
    words = reading.words
    content = [i for i, word in enumerate(words) if is_content(word)]
    places = [place] if place is not None else content or list(range(len(words)))
    small = [key for key in range(len(words)) if key not in content]
    found = []
    for at in places:
        excess_lhk = reading.weights("encoder")[:, :, at] - usual_weights(reading, "encoder", at)
        excess_lhk[:, :, small] -= 2
        excess_lhk[:, :, [at, -1]] -= 4
        _keep_only(excess_lhk, layer, head)
        best = np.unravel_index(int(excess_lhk.argmax()), excess_lhk.shape)
        found.append((float(excess_lhk[best]), at, best))
    _, at, (layer_at, head_at, key) = max(found, key=lambda x: x[0])
    look = look_of(reading, "encoder", at, (int(layer_at), int(head_at)), int(key))
    reason = UNUSUAL if head is None else "the head you asked for"
    return Telling(at, look, _others(reading, at, look, int(key)), reason)


def _keep_only(excess_lhk: Array, layer: int | None, head: int | None) -> None:
    if layer is not None:
        excess_lhk[np.arange(len(excess_lhk)) != layer] -= 9
    if head is not None:
        excess_lhk[:, np.arange(excess_lhk.shape[1]) != head] -= 9


def _others(reading: Reading, place: int, look: Look, key: int) -> tuple[tuple[str, float], ...]:
    """What else it might have looked at: words after a determiner, else the next best."""
    weights_k = reading.weights("encoder", layer=look.layer, head=look.head)[place]
    words = reading.words
    rivals = [i for i in _after_determiners(words) if i < max(place, key)]
    rivals = [i for i in rivals if i not in (place, key) and not _touching(words, i, key)]
    if not rivals:
        rivals = [i for i, x in enumerate(words) if is_content(x) and i not in (place, key)]
        rivals = sorted(rivals, key=lambda i: -weights_k[i])[:1]
    rivals = sorted(rivals, key=lambda i: -weights_k[i])[:2]
    return tuple((words[i], float(weights_k[i])) for i in rivals)


def _after_determiners(words: Words) -> list[int]:
    pairs = enumerate(pairwise(words), start=1)
    return [i for i, (a, b) in pairs if a.lower() in DETERMINERS and is_content(b)]


def _touching(words: Words, one: int, other: int) -> bool:
    """Whether two words stand side by side, as an adjective and its noun do."""
    return abs(one - other) == 1 and is_content(words[one]) and is_content(words[other])
