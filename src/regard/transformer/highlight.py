"""Links of a reading: of one word in every head, and the one link most worth showing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from regard.display import percent
from regard.errors import ArgumentError
from regard.heads.links import Link, WordLinks, word_position
from regard.text.english import DETERMINERS, PRONOUNS, content_before, is_content
from regard.typing import Array

if TYPE_CHECKING:
    from regard.transformer.reading import Reading


def word_links(reading: Reading, word: str | int, part: str) -> WordLinks:
    """For each head the key whose weight exceeds the usual most."""
    words = reading.texts(part)[0].words
    query = word_position(words, word)
    usual_lhk = usual_weights(reading, part, query)
    best_lh = (reading.weights(part)[:, :, query] - usual_lhk).argmax(axis=-1)
    links = [
        link_of(reading, part, head, query, int(best_lh[head]))
        for head in np.ndindex(best_lh.shape)
    ]
    links.sort(key=lambda link: -link.excess)
    times = [x.casefold() for x in words].count(words[query].casefold())
    note = ""
    if times > 1 and isinstance(word, str) and "#" not in word:
        note = f"{word} is there {times} times; this is the first. Write {word}#2 for the second."
    return WordLinks(words[query], part, tuple(links), note)


def find_links(reading: Reading, word: str | int, other: str | int, part: str) -> tuple[Link, ...]:
    """Every head's link from one word to the other, the strongest first."""
    queries, keys = reading.texts(part)
    query, key = word_position(queries.words, word), word_position(keys.words, other)
    shape = reading.weights(part).shape[:2]
    links = [link_of(reading, part, head, query, key) for head in np.ndindex(shape)]
    return tuple(sorted(links, key=lambda link: -link.weight))


def usual_weights(reading: Reading, part: str, query: int) -> Array:
    """usual_lhk: the weight that each head gives to each key of one query, whatever the words.

    From the measured roles where there are any, else from the other words of this sentence.
    """
    roles = reading.model.roles.of(part)
    weights_lhqk = reading.weights(part)
    *shape, queries, keys = weights_lhqk.shape
    usual_lhk = np.zeros((*shape, keys))
    if roles:
        for (layer, head), role in roles.items():
            for name, key in _relative_keys(query, keys, part).items():
                usual_lhk[layer, head, key] = max(
                    usual_lhk[layer, head, key], role.usual.get(name, 0.0)
                )
        return usual_lhk
    others = {q: _relative_keys(q, keys, part) for q in range(queries) if q != query}
    for name, key in _relative_keys(query, keys, part).items():
        same = [weights_lhqk[:, :, q, row[name]] for q, row in others.items() if name in row]
        if same:
            usual_lhk[:, :, key] = np.maximum(usual_lhk[:, :, key], np.mean(same, axis=0))
    return usual_lhk


def _relative_keys(query: int, keys: int, part: str) -> dict[str, int]:
    """The key at each relative position of a query; cross-attention has only first and end."""
    at = {"first": 0}
    if part != "decoder":
        at["end"] = keys - 1
    if part != "cross":
        near = {"same": query, "previous": query - 1, "next": query + 1}
        at |= {name: key for name, key in near.items() if 0 <= key < keys}
    return at


def link_of(reading: Reading, part: str, head: tuple[int, ...], query: int, key: int) -> Link:
    """One head's link from a word to another; ``head`` is (layer, head)."""
    queries, keys = reading.texts(part)
    layer, number = head
    role = reading.model.roles.of(part).get((layer, number))
    return Link(
        part=part,
        layer=layer,
        head=number,
        query=query,
        key=key,
        query_word=queries.words[query],
        key_word=keys.words[key],
        weight=float(reading.weights(part)[layer, number, query, key]),
        usual=float(usual_weights(reading, part, query)[layer, number, key]),
        role=role.name if role else "",
    )


Words = tuple[str, ...]


UNUSUAL = "the weight that most exceeds what its head usually gives to that place"


@dataclass(frozen=True)
class Highlight:
    """The link chosen to be shown, why it was chosen, and the words it was preferred to."""

    link: Link
    others: tuple[tuple[str, float], ...]
    reason: str

    @property
    def sentence(self) -> str:
        """One plain sentence, as in: it looks at dog: 88 % in layer 3, head 2; at food: 0 %."""
        link = self.link
        rest = "".join(f"; at {word}: {percent(weight)}" for word, weight in self.others)
        number = f"in layer {link.layer}, head {link.head}"
        return f"{link.phrase} {number}{rest}"


def highlight(
    reading: Reading, word: str | int | None, layer: int | None, head: int | None
) -> Highlight:
    """Choose a word, a head and what it looks at, where they are not given."""
    query = _pronoun(reading.words) if word is None else word_position(reading.words, word)
    if head is not None and layer is None:
        raise ArgumentError("head needs a layer: say which layer's head it is.")
    if query is not None and layer is None and _is_resolvable(reading, query):
        return _pronoun_link(reading, query)
    return _unusual_link(reading, query, layer, head)


def surest(weights_lhk: Array, nouns: list[int], heads: tuple[tuple[int, int], ...]) -> int:
    """The index of the head, among (layer, head), that gives the most to one of these words."""
    strengths = [weights_lhk[layer, head, nouns].max() for layer, head in heads]
    return int(np.argmax(strengths))


def _pronoun(words: Words) -> int | None:
    """The first pronoun that has two content words before it."""
    for position, word in enumerate(words):
        if word.lower() in PRONOUNS and len(content_before(words, position)) >= 2:
            return position
    return None


def _is_resolvable(reading: Reading, query: int) -> bool:
    heads, word = reading.model.roles.pronoun_heads, reading.words[query].lower()
    return bool(heads and word in PRONOUNS and content_before(reading.words, query))


def _pronoun_link(reading: Reading, query: int) -> Highlight:
    """The surest of the heads that were measured to find what a pronoun stands for."""
    heads, nouns = reading.model.roles.pronoun_heads, content_before(reading.words, query)
    weights_lhk = reading.weights("encoder")[:, :, query]
    layer, head = heads[surest(weights_lhk, nouns, heads)]
    key = nouns[int(weights_lhk[layer, head, nouns].argmax())]
    link = link_of(reading, "encoder", (layer, head), query, key)
    right = reading.model.roles.encoder[layer, head].pronouns
    several = f"the surest of the {len(heads)} heads" if len(heads) > 1 else "the head"
    reason = (
        f"{several} through which a pronoun looks at nouns; in measured contrast pairs it leans "
        f"to the right noun in {percent(right)} (chance: 50 %)"
    )
    return Highlight(link, _others(reading, link), reason)


def _unusual_link(
    reading: Reading, query: int | None, layer: int | None, head: int | None
) -> Highlight:
    """The largest excess over the usual: content words first, itself and the end last."""
    words = reading.words
    content = [i for i, word in enumerate(words) if is_content(word)]
    queries = [query] if query is not None else content or list(range(len(words)))
    small = [key for key in range(len(words)) if key not in content]
    candidates = []
    for at in queries:
        excess_lhk = reading.weights("encoder")[:, :, at] - usual_weights(reading, "encoder", at)
        excess_lhk[:, :, small] -= 2
        excess_lhk[:, :, [at, -1]] -= 4
        _exclude_others(excess_lhk, layer, head)
        best = np.unravel_index(int(excess_lhk.argmax()), excess_lhk.shape)
        candidates.append((float(excess_lhk[best]), at, best))
    _, at, (best_layer, best_head, key) = max(candidates, key=lambda x: x[0])
    link = link_of(reading, "encoder", (int(best_layer), int(best_head)), at, int(key))
    reason = UNUSUAL if head is None else "the head you asked for"
    return Highlight(link, _others(reading, link), reason)


def _exclude_others(excess_lhk: Array, layer: int | None, head: int | None) -> None:
    if layer is not None:
        excess_lhk[np.arange(len(excess_lhk)) != layer] -= 9
    if head is not None:
        excess_lhk[:, np.arange(excess_lhk.shape[1]) != head] -= 9


def _others(reading: Reading, link: Link) -> tuple[tuple[str, float], ...]:
    """The keys it was preferred to: words after a determiner, else the next best."""
    query, key, words = link.query, link.key, reading.words
    weights_k = reading.weights("encoder", layer=link.layer, head=link.head)[query]
    rivals = [i for i in _after_determiners(words) if i < max(query, key)]
    rivals = [i for i in rivals if i not in (query, key) and not _touching(words, i, key)]
    if not rivals:
        rivals = [i for i, x in enumerate(words) if is_content(x) and i not in (query, key)]
        rivals = sorted(rivals, key=lambda i: -weights_k[i])[:1]
    rivals = sorted(rivals, key=lambda i: -weights_k[i])[:2]
    return tuple((words[i], float(weights_k[i])) for i in rivals)


def _after_determiners(words: Words) -> list[int]:
    pairs = enumerate(pairwise(words), start=1)
    return [i for i, (a, b) in pairs if a.lower() in DETERMINERS and is_content(b)]


def _touching(words: Words, one: int, other: int) -> bool:
    """Whether two words stand side by side, as an adjective and its noun do."""
    return abs(one - other) == 1 and is_content(words[one]) and is_content(words[other])
