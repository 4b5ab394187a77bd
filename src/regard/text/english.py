"""Function words of English, and a test for text in another language."""

from __future__ import annotations

from collections.abc import Iterable

from regard.text.tokens import MARKS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUNS = _words("it they he she them him")
POSSESSIVES = _words("its his her their")
DETERMINERS = _words(
    "a an the this that these those my your his her its our their some any no every each"
)
_OTHERS = _words(
    """i me mine you yours we us ours hers theirs itself himself herself themselves myself
    who whom whose which what where when why how because although though while if unless
    since so and or but nor as than then too very not n't only also just
    at by for from in into of off on onto out over to under up with without about after
    before between during through there here
    am is are was were be been being do does did done have has had having will would shall
    should can could may might must ought don't doesn't didn't isn't wasn't aren't weren't
    can't couldn't won't wouldn't it's i'm you're he's she's we're they're that's let's"""
)
FUNCTION_WORDS = PRONOUNS | DETERMINERS | _OTHERS

# Frequent function words of French, German, Spanish, Italian, Portuguese and Dutch, without those
# that are English words too, such as die, war, on, no and me.
_FOREIGN = _words(
    """le la les un une et est que qui dans pour pas avec je il elle nous vous ils sont du au ce
    cette mais de ne se
    der das und ist nicht ein eine ich er sie mit auf auch wir weil dem den zu ihr hat sich
    el los las y es por del porque muy su lo una como pero
    gli che di non sono perch\u00e9 della nel
    os em n\u00e3o uma com da
    het een niet zijn maar ik op voor dat"""
)


def is_content(word: str) -> bool:
    """Whether a word is neither punctuation nor a function word of English."""
    return word.lower() not in FUNCTION_WORDS and word not in MARKS and word[:1] != "("


def content_before(words: tuple[str, ...], position: int) -> list[int]:
    """The positions of the content words before a position.

    >>> content_before(("A", "dog", "ate", "the", "food", "because", "it"), 6)
    [1, 2, 4]
    """
    return [i for i in range(position) if is_content(words[i])]


def foreign_words(words: Iterable[str]) -> tuple[str, ...]:
    """The function words of other languages, where a text has more of them than of English.

    At least two have to differ, so that a name such as 'Los Angeles' or 'de Gaulle' is no sign.

    >>> foreign_words("Le chien a mang\u00e9 la nourriture parce qu' il avait faim .".split())
    ('Le', 'la', 'il')
    >>> foreign_words("Charles de Gaulle was born in Lille , in la rue Princesse .".split())
    ()
    """
    words = list(words)
    foreign = tuple(dict.fromkeys(x for x in words if x.lower() in _FOREIGN))
    english = sum(x.lower() in FUNCTION_WORDS for x in words)
    return foreign if len(foreign) >= 2 and len(foreign) > english else ()
