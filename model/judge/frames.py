"""Contrast pairs: one sentence, two endings; the noun that *it* stands for turns on the ending.

    The dog ate the food because it was hungry.      it: the dog
    The dog ate the food because it was delicious.   it: the food

Each noun is right once in every pair, so always taking the first noun, or always the nearest, is
right in exactly half of the sentences and in no whole pair. Every frame has one of RESERVED_VERBS
in it. The generator of training text uses none of them, so no frame is met in training.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from word_tables import Row, TableError, read_pairs, read_table

_TABLES = Path(__file__).parent / "tables"
_NOUN_TABLE, _FRAME_TABLE = _TABLES / "nouns.txt", _TABLES / "frames.txt"
RESERVED_VERBS = {
    verb: tuple(forms.split()) for verb, forms in read_pairs(_FRAME_TABLE, "reserved verbs")
}
_PLURALS = dict(read_pairs(_NOUN_TABLE, "plurals"))
_GROUPS = dict(read_pairs(_FRAME_TABLE, "groups"))
_KINDS = ("subject", "object", "plural")


def french_nouns(section: str) -> dict[str, dict[str, str]]:
    """English nouns of the table with the French nouns that they may become and their gender."""
    nouns: dict[str, dict[str, str]] = {}
    for english, french, gender in read_table(_NOUN_TABLE)[section]:
        nouns.setdefault(english, {})[french] = gender
    return nouns


NOUNS = french_nouns("nouns")


@dataclass(frozen=True)
class SentenceFrame:
    """A sentence with two gaps for nouns and, for each noun, endings that only fit that one.

    ``pronoun`` is the word in question; ``of_object`` says that it is the object of its verb.
    """

    name: str
    text: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    of_first: tuple[str, ...]
    of_second: tuple[str, ...]
    pronoun: str = "it"
    of_object: bool = False


@dataclass(frozen=True)
class ContrastSentence:
    """A sentence in which ``pronoun`` stands for ``right`` and could be taken for ``wrong``."""

    sentence: str
    right: str
    wrong: str
    pronoun: str = "it"
    of_object: bool = False
    frame: str = ""


@dataclass(frozen=True)
class ContrastPair:
    """Two sentences that differ in their ending: the pronoun is one noun, then the other."""

    of_first: ContrastSentence
    of_second: ContrastSentence

    @property
    def items(self) -> tuple[ContrastSentence, ContrastSentence]:
        """Both sentences."""
        return self.of_first, self.of_second


def plural(noun: str) -> str:
    """The plural of an English noun of NOUNS.

    >>> [plural(x) for x in ("dog", "mouse", "box", "cherry", "key")]
    ['dogs', 'mice', 'boxes', 'cherries', 'keys']
    """
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


def _frame(row: Row) -> SentenceFrame:
    name, kind, text, first, second, of_first, of_second = row
    if kind not in _KINDS:
        raise TableError(f"{row.place}: kind must be one of {', '.join(_KINDS)}, got {kind!r}.")
    nouns = [_GROUPS.get(side, side).split() for side in (first, second)]
    unknown = [noun for side in nouns for noun in side if noun not in NOUNS]
    if unknown:
        raise TableError(f"{row.place}: {unknown[0]!r} must be a noun of {_NOUN_TABLE.name}.")
    if kind == "plural":
        nouns = [[plural(noun) for noun in side] for side in nouns]
    return SentenceFrame(
        name,
        text,
        tuple(nouns[0]),
        tuple(nouns[1]),
        tuple(of_first.split(", ")),
        tuple(of_second.split(", ")),
        "they" if kind == "plural" else "it",
        kind == "object",
    )


FRAMES = tuple(_frame(row) for row in read_table(_FRAME_TABLE)["frames"])

# Verbs whose object the pronoun is. The generator has none of them with a pronoun as its object.
OBJECT_VERBS = frozenset(
    ending for frame in FRAMES if frame.of_object for ending in frame.of_first + frame.of_second
)


def contrasts(number: int = 1200, seed: int = 7) -> list[ContrastPair]:
    """Different pairs, as many from each frame as from the others while it has that many."""
    rng = random.Random(seed)
    pools = [rng.sample(pool, len(pool)) for pool in (list(_all(frame)) for frame in FRAMES)]
    longest = max(map(len, pools))
    turns = [pool[i] for i in range(longest) for pool in pools if i < len(pool)]
    return turns[:number]


def _all(frame: SentenceFrame) -> Iterator[ContrastPair]:
    for a in frame.first:
        for b in frame.second:
            for x, y in zip(frame.of_first, frame.of_second, strict=True):
                if a != b:
                    yield ContrastPair(_sentence(frame, a, b, x), _sentence(frame, a, b, y, 1))


def _sentence(
    frame: SentenceFrame, a: str, b: str, ending: str, right: int = 0
) -> ContrastSentence:
    """The sentence of one ending; ``right`` is 0 where it fits the first noun, else 1."""
    text = frame.text.format(a=a, b=b, x=ending)
    noun, other = (b, a) if right else (a, b)
    return ContrastSentence(text, noun, other, frame.pronoun, frame.of_object, frame.name)


def all_sentences(pairs: Sequence[ContrastPair]) -> list[ContrastSentence]:
    """All sentences, the two of a pair side by side."""
    return [item for pair in pairs for item in pair.items]


def forms(noun: str) -> dict[str, str]:
    """The French nouns of an English one, with their gender, m or f; none for an unknown noun.

    >>> forms("horse"), forms("horses"), forms("glory")
    ({'cheval': 'm'}, {'chevaux': 'm'}, {})
    """
    if noun in NOUNS:
        return NOUNS[noun]
    singular = _SINGULARS.get(noun)
    if singular is None:
        return {}
    return {french_plural(french): gender for french, gender in forms(singular).items()}


def french_plural(noun: str) -> str:
    """The plural of a French noun.

    >>> [french_plural(x) for x in ("chat", "oiseau", "journal", "souris", "bijou")]
    ['chats', 'oiseaux', 'journaux', 'souris', 'bijoux']
    """
    if noun[-1] in "sxz":
        return noun
    if noun.endswith("al") or noun == "travail":
        return f"{noun[:-2]}aux"
    return f"{noun}x" if noun.endswith(("eau", "bijou", "caillou")) else f"{noun}s"


_SINGULARS = {plural(noun): noun for noun in NOUNS}
