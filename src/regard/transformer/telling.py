"""The one link most worth showing, and why it was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from regard.errors import ArgumentError
from regard.transformer.layers import Array
from regard.transformer.looking import Look, look_of, percent, place_of, usual_weights
from regard.transformer.words import DETERMINERS, PRONOUNS, content_before, is_content

if TYPE_CHECKING:
    from regard.transformer.reading import Reading

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
