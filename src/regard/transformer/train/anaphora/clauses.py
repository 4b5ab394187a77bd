"""Clauses of the anaphora text in which a pronoun stands for a noun of the sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from regard.transformer.train import english_grammar as english
from regard.transformer.train import french_grammar as french
from regard.transformer.train.anaphora.mentions import Mention
from regard.transformer.train.anaphora.phrases import PART_STATES, OwnedPart


@dataclass(frozen=True, slots=True)
class Clause:
    """English words, the index of the pronoun among them, and the French text."""

    english: list[str]
    pronoun: int
    french: str


@dataclass(frozen=True, slots=True)
class Connector:
    """Words between the event and the pronoun's clause; a new sentence begins after a full stop."""

    english: str
    french: str
    subjunctive: bool = False


def _connectors(table: str) -> tuple[Connector, ...]:
    rows = (line.partition(" = ") for line in table.splitlines())
    return tuple(Connector(english_text, french_text) for english_text, _, french_text in rows)


CAUSAL = _connectors("""\
because = parce que
because = parce que
because = parce que
because = parce que
because = parce que
because = parce que
because = parce que
because = car
because = car
since = puisque
since = puisque
. = .
. = .
. I think that = . Je pense que
because , as everyone knows , = parce que , comme chacun le_ sait ,
and the reason is that = et la raison est que
only because = seulement parce que
, probably because = , probablement parce que
""")
ANY = CAUSAL + _connectors("""\
but = mais
, but = , mais
and = et
even though = même si
. = .
. = .
. = .
. Perhaps = . Peut-être que
. In my opinion , = . À mon avis ,
. Sarah says that = . Sarah dit que
, and I know that = , et je sais que
. Of course , = . Bien sûr ,
. In fact , = . En fait ,
, so = , donc
""")
TEMPORAL = _connectors(
    """\
when = quand
when = quand
when = quand
while = alors que
whenever = chaque fois que
, especially when = , surtout quand
"""
)
OF_PAST = ANY + _connectors(
    """\
. Everyone knew that = . Tout le monde savait que
. That day , = . Ce jour-là ,
. I could see that = . Je voyais que
. At that time , = . À ce moment-là ,
"""
)
NOW = Connector(", and now", ", et maintenant")
UNTIL = Connector("until", "jusqu'à ce que", subjunctive=True)
ALTHOUGH = Connector("although", "bien que", subjunctive=True)
CONCESSIVE = (ALTHOUGH, *_connectors("even though = même si"))
BUT = _connectors("""\
but = mais
, but = , mais
, but unfortunately = , mais malheureusement
. Unfortunately , = . Malheureusement ,
""")
RESULTS = _connectors("""\
, so = , donc
, and now = , et maintenant
, so now = , alors maintenant
. Now = . Maintenant
. As a result , = . Par conséquent ,
, and in the end = , et finalement
""")
DEGREES = {
    "": "", "very": "très", "too": "trop", "so": "si", "really": "vraiment", "quite": "assez",
    "extremely": "extrêmement", "enough": "assez", "still": "encore", "already": "déjà",
}  # fmt: skip
_HUMAN_PARTS = (("mother", "mère", "f"), ("brother", "frère", "m"), ("boss", "patron", "m"),
                ("daughter", "fille", "f"), ("doctor", "médecin", "m"), ("friend", "ami", "m"),
                ("teacher", "professeur", "m"), ("grandmother", "grand-mère", "f"))  # fmt: skip
_HUMAN_STATES = (("ill", "malade"), ("angry", "!en colère"), ("absent", "absent"),
                 ("worried", "inquiet"), ("late", "!en retard"), ("proud", "fier"))  # fmt: skip


def state(text: str, gender: str, number: str) -> str:
    """A French predicate agreed: the words with *, or a single word that has no !.

    >>> state("plein* d'eau", "f", "s"), state("!en fer", "f", "p"), state("vieux", "f", "p")
    ("pleine d'eau", 'en fer', 'vieilles')
    """
    if "*" not in text:
        alone = not text.startswith("!") and " " not in text
        return french.agreed(text, gender, number) if alone else text.removeprefix("!")
    words = text.removeprefix("!").split()
    agreed = [
        french.agreed(word[:-1], gender, number) if word.endswith("*") else word for word in words
    ]
    return " ".join(agreed)


def french_be(
    item: Mention, text: str, tense: str, degree: str = "", negative: bool = False
) -> str:
    """être (or avoir, in an idiom such as avoir faim) and an adjective, agreed with a noun."""
    gender, person = item.features
    verb, words = "être", text
    if text.startswith("avoir "):
        verb, words = "avoir", "!" + text.removeprefix("avoir ")
    verb = french.finite(verb, tense, person, "pas" if negative else "")
    # si goes before an adjective; before 'en colère' and 'faim' it is tellement.
    adverb = "tellement" if degree == "so" and words.startswith("!") else DEGREES[degree]
    return " ".join(x for x in (verb, adverb, state(words, gender, person[1])) if x)


def adjective_clause(
    item: Mention, texts: tuple[str, str], tense: str, degree: str = "", options: str = ""
) -> Clause:
    """'it was (very) hungry'; options: negative, subjunctive, contracted."""
    adjective, french_text = texts
    negative = "negative" in options
    words = [item.pronouns[0], english.finite("be", tense, item.plural)]
    if negative:
        words.append("not")
    if "contracted" in options and words[1] in ("is", "are"):
        words[:2] = [words[0] + ("'s" if words[1] == "is" else "'re")]
    after = degree == "enough"
    words += [*adjective.split(), degree] if after else [*degree.split(), *adjective.split()]
    french_tense = "subjunctive" if "subjunctive" in options else _FRENCH_TENSES[tense]
    text = french_be(item, french_text, french_tense, degree, negative)
    return Clause(words, 0, f"{item.french_pronoun} {text}")


_FRENCH_TENSES = {"past": "imperfect", "present": "present"}


_ENGLISH_OF_MANY = {"its": "their", "itself": "themselves"}
_MANY = {"son": "leur", "sa": "leur", "ses": "leurs"}
_MARKED = re.compile(r"(?:([>~]+) )?(.*)")
_OF_MANY = re.compile(r"\b(?:son|sa|ses)\b")


def phrase_clause(item: Mention, texts: tuple[str, str], tense: str) -> Clause:
    """'it needed rest', 'it exploded'; `verb_forms` says what the French marks mean."""
    verb, *rest = texts[0].split()
    words = [item.pronouns[0], english.finite(verb, tense, item.plural), *rest]
    mark, text = _MARKED.findall(texts[1])[0]
    negation = ""
    if text.startswith("ne pas "):
        text, negation = text.removeprefix("ne pas "), "pas"
    if item.plural:
        words = [_ENGLISH_OF_MANY.get(x, x) for x in words]
        text = _OF_MANY.sub(lambda match: _MANY[match[0]], text)
    reflexive = "se " if text.startswith("se ") else ""
    french_verb, _, french_rest = text.removeprefix(reflexive).partition(" ")
    french_verb = reflexive + french_verb
    gender, person = item.features
    if mark == ">>":
        group = french.compound(french_verb, item.features, _FRENCH_TENSES[tense], negation)
    elif mark in (">", ">~") and tense == "past":
        group = french.compound(french_verb, item.features, "present", negation)
    else:
        group = french.finite(french_verb, _FRENCH_TENSES[tense], person, negation)
    tail = state(french_rest, gender, person[1]) if "*" in french_rest else french_rest
    return Clause(words, 0, f"{item.french_pronoun} {group} {tail}".rstrip())


def perfect_clause(item: Mention, texts: tuple[str, str], tense: str) -> Clause:
    """'he had repaired the roof', 'he has repaired the roof'."""
    verb, *rest = texts[0].split()
    words = [item.pronouns[0], english.finite("have", tense, item.plural)]
    words += [english.participle(verb), *rest]
    french_verb, _, french_rest = texts[1].partition(" ")
    group = french.compound(french_verb, item.features, _FRENCH_TENSES[tense])
    return Clause(words, 0, f"{item.french_pronoun} {group} {french_rest}".rstrip())


def part_clause(item: Mention, part: OwnedPart | None, tense: str, number: int) -> Clause:
    """'its tail was dirty', or 'his mother was ill' where there is no part."""
    if part is None:
        noun, french_noun, gender = _HUMAN_PARTS[number % len(_HUMAN_PARTS)]
        adjective, text = _HUMAN_STATES[number % len(_HUMAN_STATES)]
    else:
        noun, french_noun, gender = part.english, part.french, part.gender
        adjective, text = PART_STATES[number]
    words = [item.pronouns[2], *noun.split(), english.finite("be", tense, False)]
    feminine = gender == "f" and not french.starts_with_vowel(french_noun)
    verb = french.finite("être", _FRENCH_TENSES[tense], "3s")
    own = "leur" if item.plural else "sa" if feminine else "son"
    return Clause(
        [*words, *adjective.split()], 0, f"{own} {french_noun} {verb} {state(text, gender, 's')}"
    )


def finished(english_words: Sequence[str]) -> str:
    """Words and marks as a sentence.

    >>> finished(["It", "rains", ",", "Tom", "."])
    'It rains, Tom.'
    """
    return " ".join(english_words).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")


def finished_french(text: str) -> str:
    """A French text, elided, contracted and capitalised.

    >>> finished_french("le homme est là . il a faim .")
    "L'homme est là. Il a faim."
    """
    text = french.joined(text).replace(" ,", ",").replace(" .", ".")
    sentences = [x[:1].upper() + x[1:] for x in text.split(". ")]
    return ". ".join(sentences)
