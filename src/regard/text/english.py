"""The small words of English, by which the others are told."""

from regard.text.tokens import MARKS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUNS = _words("it they he she them him")
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


def is_content(word: str) -> bool:
    """Whether a word is neither a mark nor one of the small words of English."""
    return word.lower() not in FUNCTION_WORDS and word not in MARKS and word[:1] != "("


def content_before(words: tuple[str, ...], place: int) -> list[int]:
    """The words before a place that carry meaning of their own.

    >>> content_before(("A", "dog", "ate", "the", "food", "because", "it"), 6)
    [1, 2, 4]
    """
    return [i for i in range(place) if is_content(words[i])]
