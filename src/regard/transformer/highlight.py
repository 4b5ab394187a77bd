"""Links of a reading: of one word in every head, and the one link most worth showing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.display import percent
from regard.errors import ArgumentError
from regard.heads.links import Link, WordLinks, word_position
from regard.text.english import (
    DETERMINERS,
    POSSESSIVES,
    PRONOUNS,
    content_before,
    is_content,
)
from regard.transformer.accuracy import SURE, right_percent
from regard.transformer.roles import HeadRoles
from regard.typing import Array

if TYPE_CHECKING:
    from regard.transformer.reading import Reading

END_WORD = "(end)"
NOUNS = Path(__file__).parent / "shipped" / "nouns.txt"
_GENDERS = {"m": "masculine", "f": "feminine"}
_PRONOUNS = {"il": "m", "ils": "m", "elle": "f", "elles": "f", "le": "m", "la": "f"}
_DETERMINERS = {
    "le": "m", "un": "m", "ce": "m", "cet": "m", "du": "m", "au": "m",
    "la": "f", "une": "f", "cette": "f", "ma": "f", "ta": "f", "sa": "f",
}  # fmt: skip
_BEFORE_VOWEL = ("mon", "ton", "son")  # of a masculine noun, and of a feminine one with a vowel

UNUSUAL_REASON = "the weight that most exceeds what its head usually gives to that place"
NOUN_REASON = "the farthest determiner that looks at its noun, in a head that is named for this"
NOUN_ROLE = "looks from a determiner to its noun"
MIN_NOUN_WEIGHT = 0.7  # below this a head does not do here what it is named for
MIN_SHOWN_WEIGHT = 0.005  # a smaller share would be shown as 0 %


def word_links(reading: Reading, word: str | int, part: str) -> WordLinks:
    """For each head, the key whose weight most exceeds the usual one."""
    words = reading.texts(part)[0].words
    query = word_position(words, word)
    usual_lhk = usual_weights(reading, part, query)
    best_lh = (reading._weights[part, "words"][:, :, query] - usual_lhk).argmax(axis=-1)
    links = [
        head_link(reading, part, head, query, int(best_lh[head]), usual_lhk)
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
    shape = reading._weights[part, "words"].shape[:2]
    usual_lhk = usual_weights(reading, part, query)
    links = [head_link(reading, part, head, query, key, usual_lhk) for head in np.ndindex(shape)]
    return tuple(sorted(links, key=lambda link: -link.weight))


def usual_weights(reading: Reading, part: str, query: int) -> Array:
    """usual_lhk: the weight to expect from each head on each key of one query, for any words.

    From the measured roles where there are any, else from the other words of this sentence.
    """
    roles = reading.model.roles.heads(part)
    weights_lhqk = reading._weights[part, "words"]
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


def head_link(
    reading: Reading, part: str, head: tuple[int, ...], query: int, key: int, usual_lhk: Array
) -> Link:
    """One head's link from a word to another; ``head`` is (layer, head).

    ``usual_lhk`` are the ``usual_weights`` of the query, the same for all links of a word.
    """
    queries, keys = reading.texts(part)
    layer, number = head
    role = reading.model.roles.heads(part).get((layer, number))
    return Link(
        part=part,
        layer=layer,
        head=number,
        query=query,
        key=key,
        query_word=queries.words[query],
        key_word=keys.words[key],
        weight=float(reading._weights[part, "words"][layer, number, query, key]),
        usual=float(usual_lhk[layer, number, key]),
        role=role.described if role else "",
    )


@dataclass(frozen=True)
class Highlight:
    """The link to show, the reason for choosing it, and the next weights of its row.

    ``disagreement`` is a sentence where the French pronoun has the gender of another noun than the
    one that the head looks at; otherwise it is empty. Of a pronoun in the head that was taught to
    find its noun, ``doubt`` is 'sure', 'in doubt' or 'not measured', and ``accuracy`` says how
    often the head is right, ``brief`` how often where it is as sure; otherwise they are empty.
    """

    link: Link
    others: tuple[tuple[str, float], ...]
    reason: str
    disagreement: str = ""
    doubt: str = ""
    accuracy: str = ""
    brief: str = ""

    @property
    def sentence(self) -> str:
        """One plain sentence: it looks at dog: 84 % in layer 3, head 6; at food: 13 % (in doubt).

        The bracket is there where the head can be sure or in doubt.
        """
        link = self.link
        rest = "".join(f"; at {word}: {percent(weight)}" for word, weight in self.others)
        number = f"in layer {link.layer}, head {link.head}"
        return f"{link.phrase} {number}{rest}{bracketed(self.doubt)}"

    def to_dict(self) -> dict[str, Any]:
        texts = ("sentence", "reason", "disagreement", "doubt", "accuracy", "brief")
        return asdict(self.link) | {name: getattr(self, name) for name in texts}


def highlight(
    reading: Reading, word: str | int | None, layer: int | None, head: int | None
) -> Highlight:
    """Highlight of a reading: word, head and key are chosen where they are not given."""
    query = _pronoun(reading.words) if word is None else word_position(reading.words, word)
    if head is not None and layer is None:
        raise ArgumentError("head needs a layer: give layer= too.")
    if query is not None and layer is None and _is_resolvable(reading, query):
        return _pronoun_link(reading, query)
    if query is not None and layer is not None and head is not None:
        link = _largest_link(reading, (layer, head), query)
        told = reliability(reading.model.roles, link, reading.words)
        return Highlight(link, _others(reading, link), "the head you asked for", **told)
    named = _determiner_link(reading) if query is None and layer is None else None
    return named or _unusual_link(reading, query, layer, head)


def _determiner_link(reading: Reading) -> Highlight | None:
    """A determiner on its noun, in a head that is named for this; None where there is none.

    The noun is where the heads of that name look together: one of them alone may be wrong. The
    farthest noun comes first, then the largest weight.
    """
    words, roles = reading.words, reading.model.roles.heads("encoder")
    heads = [head for head, role in roles.items() if role.name == NOUN_ROLE]
    if not heads:
        return None
    weights_nqk = np.stack([reading._weights["encoder", "words"][head] for head in heads])
    found = []
    for query in [at for at, word in enumerate(words) if word.lower() in DETERMINERS]:
        later = [at for at in range(query + 1, len(words)) if is_content(words[at])]
        noun = max(later, key=lambda at: weights_nqk[:, query, at].sum(), default=query)
        best = int(weights_nqk[:, query, noun].argmax())
        weight = float(weights_nqk[best, query, noun])
        if later and weight >= MIN_NOUN_WEIGHT:
            found.append((noun - query, weight, heads[best], query))
    if not found:
        return None
    *_, head, query = max(found)
    link = _largest_link(reading, head, query)
    return Highlight(link, _others(reading, link), NOUN_REASON)


def surest(weights_lhk: Array, nouns: list[int], heads: tuple[tuple[int, int], ...]) -> int:
    """The index of the head, among (layer, head), that gives the most to one of these words."""
    strengths = [weights_lhk[layer, head, nouns].max() for layer, head in heads]
    return int(np.argmax(strengths))


def is_pronoun(word: str, pronouns: frozenset[str] = PRONOUNS) -> bool:
    """Whether a word is one of these pronouns, alone or contracted with a verb, as in it's."""
    return word.lower().split("'")[0] in pronouns


def _pronoun(words: tuple[str, ...]) -> int | None:
    """The first pronoun that has two content words before it; its and their come last."""
    for pronouns in (PRONOUNS, POSSESSIVES):
        for position, word in enumerate(words):
            if is_pronoun(word, pronouns) and len(content_before(words, position)) >= 2:
                return position
    return None


def _is_resolvable(reading: Reading, query: int) -> bool:
    pronoun = is_pronoun(reading.words[query], PRONOUNS | POSSESSIVES)
    known = bool(reading.model.roles.pronoun_heads)
    return known and pronoun and bool(content_before(reading.words, query))


def _pronoun_link(reading: Reading, query: int) -> Highlight:
    """The surest of the heads that were measured to find what a pronoun stands for."""
    roles, nouns = reading.model.roles, content_before(reading.words, query)
    weights_lhk = reading._weights["encoder", "words"][:, :, query]
    head = roles.pronoun_heads[surest(weights_lhk, nouns, roles.pronoun_heads)]
    link = _largest_link(reading, head, query)
    told = reliability(roles, link, reading.words)
    return Highlight(
        link, _others(reading, link), why_shown(roles, link), disagreement(reading, link), **told
    )


def _largest_link(reading: Reading, head: tuple[int, int], query: int) -> Link:
    """The largest weight of one row of one head."""
    key = int(reading._weights["encoder", "words"][head][query].argmax())
    return head_link(reading, "encoder", head, query, key, usual_weights(reading, "encoder", query))


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
        excess_lhk = reading._weights["encoder", "words"][:, :, at] - usual_weights(
            reading, "encoder", at
        )
        # Weights are at most 1: these ranks put function words last, itself and (end) after them.
        excess_lhk[:, :, small] -= 2
        excess_lhk[:, :, [at, -1]] -= 4
        _exclude_others(excess_lhk, layer, head)
        best = np.unravel_index(int(excess_lhk.argmax()), excess_lhk.shape)
        candidates.append((float(excess_lhk[best]), at, best))
    _, at, (best_layer, best_head, key) = max(candidates, key=lambda x: x[0])
    chosen = int(best_layer), int(best_head)
    usual_lhk = usual_weights(reading, "encoder", at)
    link = head_link(reading, "encoder", chosen, at, int(key), usual_lhk)
    if link.weight < MIN_SHOWN_WEIGHT:
        link = _largest_link(reading, chosen, at)
    reason = UNUSUAL_REASON if head is None else "the head you asked for"
    return Highlight(link, _others(reading, link), reason)


def _exclude_others(excess_lhk: Array, layer: int | None, head: int | None) -> None:
    if layer is not None:
        excess_lhk[np.arange(len(excess_lhk)) != layer] -= 9
    if head is not None:
        excess_lhk[:, np.arange(excess_lhk.shape[1]) != head] -= 9


def _others(reading: Reading, link: Link) -> tuple[tuple[str, float], ...]:
    """The next largest weights of the row, two at most and none that rounds to 0 %."""
    words = reading.words
    weights_k = reading._weights["encoder", "words"][link.layer, link.head][link.query]
    order = sorted(range(len(words)), key=lambda k: -weights_k[k])
    rivals = [k for k in order if k != link.key]
    return tuple(
        (words[k], float(weights_k[k])) for k in rivals[:2] if weights_k[k] >= MIN_SHOWN_WEIGHT
    )


def why_shown(roles: HeadRoles, link: Link) -> str:
    """One phrase on the head of a pronoun's link: how it came about."""
    if roles.measured.get("pronouns", {}).get("taught"):
        return "the head taught, on made-up sentences, to put a pronoun on its antecedent"
    several = len(roles.pronoun_heads) > 1
    head = f"the surest of the {len(roles.pronoun_heads)} heads" if several else "the head"
    right = roles.encoder[link.layer, link.head].pronouns
    return (
        f"{head} through which a pronoun looks at nouns; none was taught to, and in measured "
        f"contrast pairs it leans to the right noun in {right_percent(right)} (chance: 50 %)"
    )


def reliability(roles: HeadRoles, link: Link, words: Sequence[str]) -> dict[str, str]:
    """The ``doubt`` and ``accuracy`` of a highlight; nothing where no taught head is shown."""
    taught = roles.measured.get("pronouns", {}).get("taught")
    is_shown = (link.layer, link.head) in roles.pronoun_heads and link.part == "encoder"
    if not (taught and is_shown and is_pronoun(link.query_word, PRONOUNS | POSSESSIVES)):
        return {}
    accuracy, pronoun = roles.accuracy, link.query_word.lower().split("'")[0]
    if link.key_word == END_WORD:
        doubt = "sure" if link.weight >= SURE else "in doubt"
        return {"doubt": doubt, "accuracy": accuracy.nothing()}
    at_end = _ends_clause(words[link.query + 1 :])
    return {
        "doubt": accuracy.doubt(pronoun, link.weight),
        "accuracy": accuracy.of(pronoun, link.weight, of_object=at_end and pronoun == "it"),
        "brief": accuracy.brief(pronoun, link.weight),
    }


def bracketed(doubt: str) -> str:
    """'sure' or 'in doubt' in brackets, to follow a sentence; nothing for any other."""
    return f" ({doubt})" if doubt in ("sure", "in doubt") else ""


def _ends_clause(following: Sequence[str]) -> bool:
    """Whether a pronoun before these words is the last of its clause, and so an object."""
    return not following or following[0] == END_WORD or not following[0][0].isalnum()


def disagreement(reading: Reading, link: Link) -> str:
    """A sentence where the French pronoun's gender is not that of the noun a head points to.

    Empty where they agree, or where one of the genders cannot be told.
    """
    if not is_content(link.key_word) or not reading.translation_words:
        return ""
    words = [word.lower() for word in reading.translation_words]
    pronoun = _came_from(reading, link.query, [i for i, x in enumerate(words) if x in _PRONOUNS])
    noun = _came_from(reading, link.key, [i for i, x in enumerate(words) if x.isalpha()])
    if pronoun is None or noun is None or noun == pronoun:
        return ""
    theirs, ours = _noun_gender(words, noun), _PRONOUNS[words[pronoun]]
    if theirs in (None, ours):
        return ""
    return (
        f"the translation disagrees with this head: {words[pronoun]} is {_GENDERS[ours]}, "
        f"{words[noun]} is {_GENDERS[str(theirs)]}"
    )


def _came_from(reading: Reading, source: int, rows: Sequence[int]) -> int | None:
    """The last of these French words that came from one English word, if any."""
    alignment = reading.alignment
    chosen = [row for row in rows if alignment.source_columns(row)[:1] == [source]]
    return chosen[-1] if chosen else None


def _noun_gender(words: Sequence[str], noun_at: int) -> str | None:
    """The gender of a French noun: by its determiner, else where the noun is a known one."""
    for before in reversed(words[max(0, noun_at - 2) : noun_at]):
        if before in _DETERMINERS:
            return _DETERMINERS[before]
        if before in _BEFORE_VOWEL and words[noun_at][0] not in "aeiouyhéèêâîôœ":
            return "m"
    # Where an article does not tell, as in l'herbe.
    return _known_genders().get(words[noun_at])


@cache
def _known_genders() -> dict[str, str]:
    """Genders of some French nouns, from the table among the shipped files."""
    lines = NOUNS.read_text(encoding="utf-8").splitlines()
    rows = (line.split(" | ") for line in lines if not line.startswith("#"))
    return {row[0]: row[1] for row in rows}
