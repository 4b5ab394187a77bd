"""Noun phrases and verb groups of the generated sentences, in English and French."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from anaphora.nouns import TABLES, Noun, members
from grammar import english, french
from grammar.french import Features
from word_tables import read_pairs, read_table

NAMES = dict(read_pairs(TABLES / "names.txt", "names"))
# Nouns that take my, your and our. Never of several people, so without our, are those marked "one";
# of these and of those marked "unique" a person has one, so they have no plural.
_FAMILY = dict(read_pairs(TABLES / "names.txt", "family"))
_POSSESSIVES = {
    "my": ("mon", "ma", "mes"), "your": ("ton", "ta", "tes"), "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"), "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}  # fmt: skip
_VOTRE = ("votre", "votre", "vos")
_SINGULAR = ("the", "a", "this", "that", "my", "your", "our", "their", "his", "her", "another",
             "one")  # fmt: skip
_SINGULAR_WEIGHTS = (46, 16, 8, 6, 8, 4, 4, 2, 2, 2, 2, 1)
_INDEFINITE = {"a": "", "one": "", "another": " autre"}
_PLURAL = ("the", "these", "those", "my", "your", "our", "their", "two", "three")
_PLURAL_WEIGHTS = (52, 12, 6, 8, 4, 5, 3, 6, 4)
_NUMBERS = {"two": "deux", "three": "trois"}

_ADJECTIVES = read_table(TABLES / "adjectives.txt")
# english: french, whether it stands before the noun, the nouns it goes with
_MODIFIERS = {
    row[0]: (row[1], row[2] == "before", row.read(members, row[3]))
    for row in _ADJECTIVES["modifiers"]
}
COLOURS = tuple(row[0] for row in _ADJECTIVES["modifiers"] if row[4] == "colour")
_BEFORE_VOWEL = dict(read_pairs(TABLES / "adjectives.txt", "before a vowel"))
_PRONOUNS = {"m": ("he", "him", "his"), "f": ("she", "her", "her"), "n": ("it", "it", "its"),
             "p": ("they", "them", "their")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mention:
    """A noun in a sentence: its number, determiner and modifier."""

    noun: Noun
    plural: bool = False
    determiner: str = "the"
    modifier: str = ""
    formal: bool = False

    @property
    def english(self) -> list[str]:
        """The English words, the head noun last."""
        head = self.noun.english_plural if self.plural else self.noun.english
        words = [self.modifier, head] if self.modifier else [head]
        if not self.determiner:
            return words
        article = english.article(words[0]) if self.determiner == "a" else self.determiner
        return [article, *words]

    @property
    def head(self) -> str:
        """The English head noun as it stands in the sentence."""
        return self.noun.english_plural if self.plural else self.noun.english

    @property
    def french(self) -> str:
        """The French words, not yet elided or contracted."""
        noun = self.noun.french_plural if self.plural else self.noun.french
        if self.modifier:
            noun = self._modified(noun)
        return f"{self._french_determiner(noun)} {noun}" if self.determiner else noun

    def _modified(self, noun: str) -> str:
        masculine, before, _ = _MODIFIERS[self.modifier]
        form = french.agreed(masculine, self.noun.gender, "p" if self.plural else "s")
        if before and form in _BEFORE_VOWEL and french.starts_with_vowel(noun):
            form = _BEFORE_VOWEL[form]
        return f"{form} {noun}" if before else f"{noun} {form}"

    def _french_determiner(self, noun: str) -> str:
        feminine = self.noun.gender == "f"
        if self.determiner in _POSSESSIVES:
            forms = _POSSESSIVES[self.determiner]
            forms = _VOTRE if self.formal and self.determiner == "your" else forms
            if self.plural:
                return forms[2]
            return forms[1] if feminine and not french.starts_with_vowel(noun) else forms[0]
        if self.determiner in _NUMBERS:
            return _NUMBERS[self.determiner]
        if self.plural:
            return "les" if self.determiner == "the" else "ces"
        if self.determiner == "the":
            return "la" if feminine else "le"
        if self.determiner in _INDEFINITE:
            return ("une" if feminine else "un") + _INDEFINITE[self.determiner]
        return "cette" if feminine else "cet" if french.starts_with_vowel(noun) else "ce"

    @property
    def features(self) -> Features:
        """Gender and person, for agreement."""
        return self.noun.gender, "3p" if self.plural else "3s"

    @property
    def pronouns(self) -> tuple[str, str, str]:
        """The English pronouns: subject, object, possessive."""
        if self.plural:
            return _PRONOUNS["p"]
        return _PRONOUNS[self.noun.gender if self.noun.person else "n"]

    @property
    def french_pronoun(self) -> str:
        """The French subject pronoun."""
        return ("elle" if self.noun.gender == "f" else "il") + "s" * self.plural

    @property
    def french_object(self) -> str:
        """The French object pronoun, marked so that it is never contracted."""
        return "les_" if self.plural else "la_" if self.noun.gender == "f" else "le_"


class Speaker:
    """A subject that is a pronoun: I, we, someone."""

    def __init__(self, english_word: str, french_text: str, features: Features) -> None:
        self.plural = features[1].endswith("p")
        self.english = [english_word]
        self.french = french_text
        self.features = features


SPEAKER = Speaker("I", "je", ("m", "1s"))
SPEAKERS = Speaker("we", "nous", ("m", "1p"))
Subject = Mention | Speaker


def name(english_name: str) -> Mention:
    """A person's name, for which he or she stands."""
    gender = NAMES[english_name]
    kind = "man" if gender == "m" else "woman"
    noun = Noun(english_name, english_name, english_name, english_name, gender, kind, True, True)
    return Mention(noun, determiner="")


def mention(
    rng: random.Random, noun: Noun, plural: bool, *, modifiers: bool = True, formal: bool = False
) -> Mention:
    """A noun phrase with a random determiner and, sometimes, a modifier.

    ``formal`` turns *your* into votre: all noun phrases of a sentence should agree in it.
    """
    plural = plural and noun.countable and not _FAMILY.get(noun.english)
    if noun.english in _FAMILY:
        shared = _FAMILY[noun.english] != "one"
        determiner = rng.choice(("my", "my", "your", "our" if shared else "my"))
    elif plural:
        determiner = rng.choices(_PLURAL, _PLURAL_WEIGHTS)[0]
    else:
        determiner = rng.choices(_SINGULAR, _SINGULAR_WEIGHTS)[0]
        if (determiner in _INDEFINITE and not noun.countable) or (
            noun.person and determiner not in _INDEFINITE
        ):
            determiner = "the"
    modifier = ""
    if rng.random() < 0.14:
        choice = rng.choice(tuple(_MODIFIERS) if modifiers else COLOURS)
        modifier = choice if noun.english in _MODIFIERS[choice][2] else ""
    return Mention(noun, plural, determiner, modifier, formal)


def definite(item: Mention) -> Mention:
    """The same noun phrase with *the*: a French negation asks for another article than un."""
    if item.determiner not in _INDEFINITE:
        return item
    return Mention(item.noun, item.plural, "the", item.modifier, item.formal)


def key(item: Mention) -> str:
    """The noun under which predicates are listed; of a name, man or woman."""
    return item.noun.kind if item.noun.english in NAMES else item.noun.english


@dataclass(frozen=True, slots=True)
class Mode:
    """A verb group: English and French around the verb, and the tense of the next clause."""

    english: str
    french: str
    tense: str = "past"

    @property
    def negative(self) -> bool:
        """Whether the French has a negation."""
        return "ne" in self.french.split()


# English: V base, D past, P participle, G -ing, S present; French: see `french_group`.
MODES = {
    "past": Mode("D", "compound"),
    "past not": Mode("did not V", "ne compound pas"),
    "progressive": Mode("was G", "imperfect"),
    "could not": Mode("could not V", "ne pouvoir:imperfect pas V"),
    "could": Mode("could V", "pouvoir:imperfect V"),
    "can": Mode("can V", "pouvoir:present V", "present"),
    "wanted": Mode("wanted to V", "vouloir:imperfect V"),
    "had": Mode("had P", "pluperfect"),
    "had just": Mode("had just P", "venir:imperfect de V"),
    "has just": Mode("has just P", "venir:present de V", "present"),
    "tried": Mode("tried to V", "essayer:compound de V"),
    "refused": Mode("refused to V", "refuser:compound de V"),
    "had to": Mode("had to V", "devoir:compound V"),
    "never": Mode("never D", "ne compound jamais"),
    "state": Mode("D", "imperfect"),
    "state not": Mode("did not V", "ne imperfect pas"),
    "present": Mode("S", "present", "present"),
    "present not": Mode("does not V", "ne present pas", "present"),
    "is": Mode("is G", "present", "present"),
    "cannot": Mode("cannot V", "ne pouvoir:present pas V", "present"),
    "wants": Mode("S:want to V", "vouloir:present V", "present"),
    "has": Mode("has P", "compound", "present"),
    "going": Mode("is going to V", "aller:present V", "present"),
}
OF_ANIMATES = {
    "past": 34, "past not": 9, "progressive": 8, "could not": 5, "wanted": 6, "had": 5, "tried": 4,
    "refused": 2, "had to": 3, "had just": 3, "has just": 2, "never": 2, "present": 7,
    "present not": 3, "is": 5, "cannot": 2, "wants": 2, "has": 3, "going": 2,
}  # fmt: skip
OF_THINGS = {
    "past": 58, "past not": 12, "had": 7, "had just": 4, "present": 5, "present not": 4, "has": 5,
}  # fmt: skip
OF_STATES = {"state": 50, "state not": 15, "present": 25, "present not": 10}
OF_FAILURES = {"could not": 30, "past not": 25, "cannot": 25, "present not": 20}
OF_SPEAKERS = {"past": 50, "past not": 12, "progressive": 6, "could not": 8, "wanted": 8, "had": 6,
               "tried": 4, "had to": 4}  # fmt: skip


def english_group(mode: Mode, verb: str, plural: bool) -> list[str]:
    """The English verb group, of a plural subject or not."""
    if verb == "be" and mode.english == "did not V":
        return ["were" if plural else "was", "not"]
    if verb == "be" and mode.english == "does not V":
        return ["are" if plural else "is", "not"]
    words = []
    for word in mode.english.split():
        stem, _, other = word.partition(":")
        base = other or verb
        if stem == "S":
            words.append(english.present(base, plural))
        elif stem == "D":
            words.append(english.finite(base, "past", plural))
        elif stem in _ENGLISH_FORMS:
            words.append(_ENGLISH_FORMS[stem](base))
        else:
            words.append(_ENGLISH_PLURALS.get(word, word) if plural else word)
    return words


_ENGLISH_FORMS: dict[str, Callable[[str], str]] = {
    "V": str,
    "P": english.participle,
    "G": english.progressive,
}
_ENGLISH_PLURALS = {"was": "were", "is": "are", "has": "have", "does": "do"}


def french_group(mode: Mode, verb: str, features: Features) -> str:
    """The French verb group, agreed with its subject and not yet elided."""
    words = mode.french.split()
    negation = ""
    if words[0] == "ne":
        negation = "pas" if "pas" in words else "jamais"
        words = [x for x in words if x not in ("ne", negation)]
    head, *rest = words
    other, _, form = head.rpartition(":")
    group = _french_finite(other or verb, form, features, negation)
    person = features[1]
    tail = [french.dependent_infinitive(verb, person) if x == "V" else x for x in rest]
    return " ".join([group, *tail])


def _french_finite(verb: str, form: str, features: Features, negation: str) -> str:
    if form == "compound":
        return french.compound(verb, features, negation=negation)
    if form == "pluperfect":
        return french.compound(verb, features, "imperfect", negation)
    return french.finite(verb, form, features[1], negation)
