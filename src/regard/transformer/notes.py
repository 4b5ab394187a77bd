"""Notes on a reading: what a stranger has to know before trusting its translation."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from regard.display import percent
from regard.text.english import foreign_words
from regard.text.met_words import TIMES
from regard.text.tokens import unknown_characters
from regard.text.words import TokenizedText
from regard.transformer.model import Transformer
from regard.transformer.translation import ENGLISH, Translation, readable, source_text

if TYPE_CHECKING:
    from regard.transformer.reading import Reading

DOUBTFUL_SCORE = -0.5  # mean log-probability of a token below which a translation is often wrong
MAX_LISTED = 5
LONG_SENTENCE = 40  # words; training has hardly any of more, and of these a part is often left out
_NEGATED_TWICE = re.compile(r"\bnot un(?!der|til|less|i)\w{3,}", re.IGNORECASE)
_FRENCH_NEGATION = re.compile(r"\b(?:ne|pas|non|ni|sans|aucune?|jamais|rien)\b|\bn'", re.IGNORECASE)


def notes(model: Transformer, translated: Translation, source: TokenizedText) -> tuple[str, ...]:
    """Notes on the sentence as it was given, then on what became of it."""
    found = [*_on_the_sentence(model, translated, source)]
    if translated.tokens:
        found += _on_the_translation(translated, source)
    return tuple(found)


def _on_the_sentence(
    model: Transformer, translated: Translation, source: TokenizedText
) -> Iterator[str]:
    sentence = translated.sentence
    if model.untrained:
        yield "The model is untrained: its parameters are random and mean nothing."
    if any(not (x.isprintable() or x.isspace()) for x in sentence):
        yield (
            "Characters that cannot be seen were left out, and bytes that are no text were read "
            "as '?'."
        )
    read, given = source_text(model, sentence), readable(sentence)
    unread = "".join(x for x in dict.fromkeys(given.lower()) if x not in read.lower())
    if unread:
        yield f"Read as '{read}': training never met {_spaced(unread)}."
    elif read != given:
        yield f"Read as '{read}': the model hardly knows words in capital letters."
    unknown = unknown_characters(source.pieces, read)
    if unknown:
        yield (
            f"Training never met {_spaced(unknown)}: such characters are spelled out in bytes, "
            "which the model can hardly read."
        )
    foreign = foreign_words(source.words) if model.about.get("source") == ENGLISH else ()
    if foreign:
        yield (
            f"This does not look like English ({', '.join(foreign[:4])}), and the model was "
            "trained on English alone: its translation may mean nothing."
        )
        return
    words = (x for x in source.words[:-1] if not set(x) & set(unknown))  # without (end)
    rare = [x for x in model.met_words.hardly_met(words) if not _is_kept(x, translated.text)]
    if rare:
        one = len(rare) == 1
        yield (
            f"The model has hardly met {_listed(rare)} (fewer than {TIMES} times in its training): "
            f"it guesses what {'it means' if one else 'they mean'}. Check the spelling, or try "
            f"{'a commoner word' if one else 'commoner words'}."
        )


def _on_the_translation(translated: Translation, source: TokenizedText) -> Iterator[str]:
    if not translated.finished:
        yield (
            f"The translation was cut at {len(translated.tokens)} tokens, its limit for this "
            "sentence: the model had not come to an end."
        )
    if any(x.isdigit() for x in translated.sentence):
        from regard.text.numerals import changed_numerals  # few sentences need it

        english = readable(translated.sentence)
        yield from _on_numbers(*changed_numerals(english, translated.text))
        if translated.instead_of:
            lost, added = changed_numerals(english, translated.instead_of)
            yield (
                f"The likeliest translation {_has(added, lost)}: shown is the likeliest one that "
                "keeps the numbers of the sentence."
            )
    words = [x for x in source.words[:-1] if any(letter.isalnum() for letter in x)]
    if translated.score < DOUBTFUL_SCORE and len(words) > 1:  # one word has many translations
        yield (
            "The model does not believe this translation itself: it gave its pieces a probability "
            f"of {percent(math.exp(translated.score))} on average, and below "
            f"{percent(math.exp(DOUBTFUL_SCORE))} a translation is often wrong."
        )


def left_out(reading: Reading) -> Iterator[str]:
    """What the French seems not to say, by the alignment of a model of English that has one."""
    model, words = reading.model, [x for x in reading.words[:-1] if x[0].isalnum()]
    if model.about.get("source") != ENGLISH or foreign_words(reading.words):
        return
    if len(words) > LONG_SENTENCE:
        yield (
            f"This sentence has {len(words)} words: of more than {LONG_SENTENCE} the model often "
            "leaves a part out. Give it in shorter sentences."
        )
    twice = _NEGATED_TWICE.search(reading.sentence)
    if twice and not _FRENCH_NEGATION.search(reading.translation):
        yield f"The translation has no negation for '{twice[0]}': it may say the opposite."
    if not model.roles.alignment_heads or not reading.translation_words:
        return
    phrases = reading.alignment.left_out()
    if phrases:
        yield (
            f"No French word looks back at {_listed(phrases)}: the translation seems to leave "
            f"{'it' if len(phrases) == 1 else 'them'} out."
        )


def _on_numbers(lost: Sequence[str], added: Sequence[str]) -> Iterator[str]:
    if lost and added:
        yield (
            f"The numbers differ: the sentence has {_listed(lost)}, the translation "
            f"{_listed(added)} instead."
        )
    elif lost:
        yield f"The numbers differ: {_listed(lost)} cannot be found in the translation."
    elif added:
        yield f"The numbers differ: the translation has {_listed(added)}, the sentence has not."


def _is_kept(word: str, text: str) -> bool:
    """Whether a word is a name that the translation has too."""
    name = word.removesuffix("'s").removesuffix("'")
    return name[:1].isupper() and name in text


def _spaced(characters: str) -> str:
    shown = [x for x in characters if unicodedata.category(x)[0] != "M"]  # no marks on nothing
    return " ".join(shown[:20]) + (" ..." if len(shown) > 20 else "")


def _has(added: Sequence[str], lost: Sequence[str]) -> str:
    if not lost:
        return f"has {_listed(added)}, which the sentence has not"
    return f"has {_listed(added)} instead of {_listed(lost)}" if added else f"lacks {_listed(lost)}"


def _listed(words: Sequence[str]) -> str:
    """As in: 'one', 'two' and 'three'; the rest is left out."""
    shown = [f"'{word}'" for word in words[:MAX_LISTED]]
    if len(words) > MAX_LISTED:
        return f"{', '.join(shown)} and others"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
