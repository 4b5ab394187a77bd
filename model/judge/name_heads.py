"""Name every head by the behaviour that surprises most, with its share and chance.

    cd model && python -m judge.name_heads [FOLDER] --valid PAIRS

Adds ``behaviour`` to every head of heads.json; ``judge.measure_heads`` does the same. A behaviour
is a set of keys for each query: the word after, the noun of an article, the English of the word to
be written next. Measured is the share of a head's weight on them, over the queries that have any;
chance is the share that uniform attention would put there. The key on which heads rest when they
have nothing to do, (end) or (start), is left out of both: what counts is where a head looks when it
looks; a head that nearly always rests is named by that. The name is the behaviour with most
information (the divergence of share from chance), and the kind of words on which it is strongest.
The heads that alignment is read from have no behaviour: they define the English of a word.

Kinds of words are told apart by function words and forms of verbs. In English a noun is the last
content word after a determiner, before a form of a verb if there is one (*the old dog* barked); in
French the first that is not an adjective of those before nouns (*le petit chien* noir). A verb is
the content word after a subject pronoun or an auxiliary, and such a form after a noun; after a form
of *be* only a participle is.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.atomic_write import write_text
from regard.experiments.selection import PARTS
from regard.text.tokens import MARKS
from regard.transformer.reading import Reading
from regard.transformer.roles import HEADS
from regard.typing import Array

MIN_QUERIES = 100  # a behaviour seen less often names no head
MIN_SHARE = 0.25
MIN_LOOKING = 0.05  # the mean weight of its queries that must be on other keys than the resting one
MIN_INFORMATION = 0.04  # nats a query
NARROW = 1.25  # a behaviour of one kind of query must tell this much more than a general one
RESTS = 0.8  # the share on (end) or (start) from which on there is nothing else to name


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Lexicon(NamedTuple):
    """The words by which kinds of words are told apart; a form of *be* is an auxiliary too."""

    determiner: frozenset[str]
    subject: frozenset[str]
    auxiliary: frozenset[str]
    preposition: frozenset[str]
    conjunction: frozenset[str]
    other: frozenset[str]
    be: frozenset[str]
    before_nouns: frozenset[str]  # adjectives; empty where all of them stand there
    is_participle: Callable[[str], bool]

    def noun_and_verb(self, run: Sequence[str]) -> tuple[int, int]:
        """Places of the noun and of the verb, or len(run), in content words after a determiner.

        >>> ENGLISH.noun_and_verb(["dog", "ran"]), FRENCH.noun_and_verb(["petit", "chien"])
        ((0, 1), (1, 2))
        """
        if self.before_nouns:
            noun = next((i for i, x in enumerate(run) if x not in self.before_nouns), 0)
            return noun, len(run)
        verb = next((i for i, x in enumerate(run) if i and self.is_participle(x)), len(run))
        return verb - 1, verb


_ENGLISH_BE = """am is are was were be been isn't wasn't aren't i'm it's you're he's she's we're
    they're that's what's"""
_ENGLISH_PAST = _words(
    """ate beat began bent bit bled blew bought broke brought built burnt came caught chose cost
    cut dealt drank drew drove dug fed fell felt flew forgot fought found froze gave got
    grew heard held hid hit hung hurt kept knew laid led left lent let lit lost made meant
    met paid put ran rang read rode rose said sang sank sat saw sent set shone shook shot
    shut slept slid sold spent spoke spread stole stood stuck swam swept swore taught
    thought threw told took tore understood went woke won wore wrote been born broken chosen
    done drawn driven eaten fallen flown forgotten given gone grown hidden known risen seen
    shown spoken stolen sung sunk swum taken thrown torn woken worn written"""
)
_FRENCH_BE = "suis es est sommes êtes sont était étais étaient sera serait"
ENGLISH = Lexicon(
    _words("a an the this these those my your his her its our their some any no every each"),
    _words("i you he she it we they who there"),
    _words(
        f"""{_ENGLISH_BE} do does did don't doesn't didn't have has had will would should can could
        may might must can't won't couldn't wouldn't haven't i've i'll i'd to"""
    ),
    _words("at by for from in into of off on out over under up with about after before like"),
    _words("because although while if since so and or but when where why how that which what than"),
    _words("me him us them not very too never always mine yours"),
    _words(_ENGLISH_BE),
    frozenset(),
    lambda word: word.endswith(("ing", "ed")) or word in _ENGLISH_PAST,
)
FRENCH = Lexicon(
    _words(
        """le la les l' un une des du au aux ce cet cette ces mon ma mes ton ta tes son sa ses
        notre nos votre vos leur leurs"""
    ),
    _words("je j' tu il elle on nous vous ils elles qui c' ça"),
    _words(
        f"""{_FRENCH_BE} ai as a avons avez ont avait avais avaient peux peut dois doit veux veut
        ne n' se s' me m' te t' y en"""
    ),
    _words("à de d' dans sur sous pour par avec sans chez vers"),
    _words("et ou mais que qu' si quand comme parce où car"),
    _words("pas moi toi lui eux très trop jamais toujours plus"),
    _words(_FRENCH_BE),
    _words(
        """petit petite petits petites grand grande grands grandes gros grosse bon bonne bons bonnes
        beau bel belle beaux belles nouveau nouvel nouvelle nouveaux vieux vieil vieille vieilles
        jeune jeunes joli jolie mauvais mauvaise même mêmes autre autres premier première dernier
        dernière deux trois quatre cinq six dix"""
    ),
    lambda word: word.endswith(("é", "ée", "és", "ées")),
)


class Kinds(NamedTuple):
    """One row of bool for each kind of word of a text."""

    determiner: Array
    subject: Array
    auxiliary: Array
    preposition: Array
    conjunction: Array
    mark: Array
    noun: Array
    verb: Array
    content: Array


def kinds(words: Sequence[str], lexicon: Lexicon) -> Kinds:
    """Tell nouns, verbs and function words apart.

    >>> told = kinds("The old dog barked . It was cold . I saw . (end)".split(), ENGLISH)
    >>> np.flatnonzero(told.noun), np.flatnonzero(told.verb)
    (array([2]), array([ 3, 10]))
    """
    low = [word.lower() for word in words]
    names = ("determiner", "subject", "auxiliary", "preposition", "conjunction")
    function = {name: np.array([x in getattr(lexicon, name) for x in low]) for name in names}
    mark = np.array([x in MARKS for x in low])
    listed = frozenset().union(*lexicon[:6])
    content = np.array([x not in listed and x not in MARKS and x[0] != "(" for x in low])
    noun, verb = np.zeros(len(low), bool), np.zeros(len(low), bool)
    for start, stop in _runs(content):
        run, before = low[start:stop], low[start - 1] if start else ""
        if before in lexicon.determiner:
            at_noun, at_verb = lexicon.noun_and_verb(run)
            noun[start + at_noun] = True
            verb[start + at_verb : stop][:1] = True
        elif before in lexicon.subject or before in lexicon.auxiliary:
            verb[start] = before not in lexicon.be or lexicon.is_participle(run[0])
    return Kinds(**function, mark=mark, noun=noun, verb=verb, content=content)


def _runs(content: Array) -> Iterator[tuple[int, int]]:
    """Start and stop of every run of content words."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], content.astype(int), [0]))))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


class Text(NamedTuple):
    """The queries and keys of one attention: kinds, equality, and the English of French words."""

    query: Kinds
    key: Kinds
    distance_qk: Array  # key position less query position
    same_qk: Array
    read_qk: Array  # the English of the French word just read; empty but for cross-attention


Keys = Callable[[Text], Array]


def _at(distance: int) -> Keys:
    return lambda text: text.distance_qk == distance


def _shift(keys_qk: Array, rows: int, columns: int) -> Array:
    """The keys of the query ``rows`` later, moved ``columns`` to the right."""
    moved = np.zeros_like(keys_qk)
    queries, keys = keys_qk.shape
    source = keys_qk[rows:, : keys - columns] if columns >= 0 else keys_qk[rows:, -columns:]
    moved[: queries - rows, max(columns, 0) : keys + min(columns, 0)] = source
    return moved


def _nearest(asks: str, answers: str, *, after: bool) -> Keys:
    """From a query of one kind to the nearest key of another, after it or before it."""

    def keys(text: Text) -> Array:
        of = getattr(text.key, answers)[None]
        reach_qk = (text.distance_qk > 0 if after else text.distance_qk < 0) & of
        away_qk = np.where(reach_qk, np.abs(text.distance_qk), reach_qk.shape[1] + 1)
        nearest_qk = reach_qk & (away_qk == away_qk.min(axis=1, keepdims=True))
        return nearest_qk & getattr(text.query, asks)[:, None]

    return keys


def _any(kind: str) -> Keys:
    """Keys of one kind, other than the query itself."""
    return lambda text: getattr(text.key, kind)[None] & (text.distance_qk != 0)


ANYWHERE: dict[str, Keys] = {
    "looks at determiners": _any("determiner"),
    "looks at pronouns that are subjects": _any("subject"),
    "looks at auxiliaries": _any("auxiliary"),
    "looks at prepositions": _any("preposition"),
    "looks at conjunctions, where a clause begins": _any("conjunction"),
    "looks at punctuation, where a clause ends": _any("mark"),
    "looks at nouns": _any("noun"),
    "looks at verbs": _any("verb"),
}
BEFORE: dict[str, Keys] = {
    "looks at the word itself": _at(0),
    "looks at the word before": _at(-1),
    "looks two words back": _at(-2),
    "looks three words back": _at(-3),
    "looks at the same word elsewhere": lambda text: text.same_qk,
    "looks from a noun to its determiner": _nearest("noun", "determiner", after=False),
    "looks from a verb to its subject": _nearest("verb", "subject", after=False),
    "looks from a verb to its auxiliary": _nearest("verb", "auxiliary", after=False),
    "looks from a noun to the verb before it": _nearest("noun", "verb", after=False),
    "looks from a noun to its preposition": _nearest("noun", "preposition", after=False),
    "looks back to the last content word": _nearest("content", "content", after=False),
}
AFTER: dict[str, Keys] = {
    "looks at the word after": _at(1),
    "looks two words ahead": _at(2),
    "looks from a determiner to its noun": _nearest("determiner", "noun", after=True),
    "looks from a verb to its object": _nearest("verb", "noun", after=True),
    "looks from a subject to its verb": _nearest("subject", "verb", after=True),
    "looks from a preposition to its noun": _nearest("preposition", "noun", after=True),
    "looks ahead to the next content word": _nearest("content", "content", after=True),
}
TRANSLATION: dict[str, Keys] = {
    "finds the English of the word just read": lambda text: text.read_qk,
    "finds the English of the next word to write": lambda text: _shift(text.read_qk, 1, 0),
    "finds the English of the word after the next": lambda text: _shift(text.read_qk, 2, 0),
    "looks past the English of the word just read": lambda text: _shift(text.read_qk, 0, 1),
    "looks before the English of the word just read": lambda text: _shift(text.read_qk, 0, -1),
    "looks past the English of the next word": lambda text: _shift(text.read_qk, 1, 1),
}
SPECIALTIES = {  # kinds of keys on which a head may do more of what it does
    "noun": "nouns", "verb": "verbs", "determiner": "determiners", "subject": "pronouns",
    "auxiliary": "auxiliaries", "preposition": "prepositions", "mark": "punctuation",
}  # fmt: skip
MORE = 0.1  # by this much its share must be larger there
UNSPECIFIC = ("looks at the word itself", "looks at the word before", *TRANSLATION)
BEHAVIOURS = {
    "encoder": ANYWHERE | BEFORE | AFTER,
    "decoder": ANYWHERE | BEFORE,
    "cross": ANYWHERE | TRANSLATION,
}


RESTING = {
    "encoder": "rests on the end of the sentence",
    "decoder": "rests on the start of the sentence",
    "cross": "rests on the end of the sentence",
}


class Measured(NamedTuple):
    """Shares (l, h) of one behaviour summed over queries, the chance of it, and the queries."""

    weight_lh: Array
    looking_lh: Array
    chance: float
    queries: int
    aside: str  # the resting key, where it is left out

    def plus(self, other: Measured) -> Measured:
        """The same of more text."""
        return Measured(*(a + b for a, b in zip(self[:4], other[:4], strict=True)), self.aside)


def name_heads(heads: Mapping[str, list[dict[str, Any]]], readings: Sequence[Reading]) -> None:
    """Add the behaviour of each head, with its share and chance, to the rows of heads.json."""
    aligning = {head for reading in readings[:1] for head in reading.alignment.heads}
    for part in PARTS:
        found = behaviours(readings, part)
        for row in heads[part]:
            row.pop("behaviour", None)
            head = row["layer"], row["head"]
            named = None if part == "cross" and head in aligning else behaviour(found, head)
            if named:
                row["behaviour"] = named


def behaviours(readings: Sequence[Reading], part: str) -> dict[str, Measured]:
    """Every behaviour of one part, summed over all readings."""
    found: dict[str, Measured] = {}
    for reading in readings:
        text, weights_lhqk = _text(reading, part), reading.weights(part=part)
        may_qk, rest = _may_look(text, part)
        looks_qk = may_qk & ~rest
        aside = "(start)" if part == "decoder" else "(end)"
        sets = [(x, keys_qk & looks_qk, looks_qk, aside) for x, keys_qk in _targets(text, part)]
        for name, *told in [*sets, (RESTING[part], may_qk & rest, may_qk, "")]:
            measured = _measure(weights_lhqk, *told)
            if measured:
                found[name] = found[name].plus(measured) if name in found else measured
    return found


def _measure(weights_lhqk: Array, target_qk: Array, all_qk: Array, aside: str) -> Measured | None:
    """The weight on a target out of that on all keys, over the queries that have a choice."""
    rows = target_qk.any(axis=1) & (all_qk.sum(axis=1) > 1)
    if not rows.any():
        return None
    picked = weights_lhqk[:, :, rows]
    chance_q = target_qk[rows].sum(axis=1) / all_qk[rows].sum(axis=1)
    weight_lh, all_lh = ((picked * keys[rows]).sum(axis=(-2, -1)) for keys in (target_qk, all_qk))
    return Measured(weight_lh, all_lh, float(chance_q.sum()), int(rows.sum()), aside)


def _targets(text: Text, part: str) -> Iterator[tuple[str, Array]]:
    """The keys of every behaviour, and of those without a kind of their own also kind by kind."""
    for name, keys in BEHAVIOURS[part].items():
        target_qk = keys(text)
        yield name, target_qk
        if name in UNSPECIFIC:
            for kind, plural in SPECIALTIES.items():
                special = f"{name}, above all {'of' if name.startswith('finds') else 'at'} {plural}"
                yield special, target_qk & getattr(text.key, kind)[None]


def behaviour(found: Mapping[str, Measured], head: tuple[int, int]) -> dict[str, Any] | None:
    """The behaviour with most information about a head; None where none says enough."""
    known = {
        name: x
        for name, x in found.items()
        if x.queries >= MIN_QUERIES and x.looking_lh[head] >= MIN_LOOKING * x.queries
    }
    share = {name: float(x.weight_lh[head] / x.looking_lh[head]) for name, x in known.items()}
    chance = {name: x.chance / x.queries for name, x in known.items()}
    told = {
        name: information(share[name], chance[name]) / (NARROW if " from a " in name else 1.0)
        for name in known
        if ", above all " not in name
        and share[name] >= max(MIN_SHARE, chance[name])
        and (name not in RESTING.values() or share[name] >= RESTS)
    }
    best = max(told, key=lambda name: told[name], default="")
    if told.get(best, 0.0) < MIN_INFORMATION:
        return None
    special = [x for x in known if x.startswith(f"{best}, ") and share[x] >= share[best] + MORE]
    name = max(special, key=lambda name: share[name], default=best)
    figures = {"share": round(share[name], 4), "chance": round(chance[name], 4)}
    return {"name": name, **figures, "queries": known[name].queries, "aside": known[name].aside}


def information(share: float, chance: float) -> float:
    """Nats by which a share differs from chance (the divergence of two coins).

    >>> information(0.5, 0.5), round(information(0.8, 0.2), 3)
    (0.0, 0.832)
    """
    a, b = np.clip([share, chance], 1e-9, 1 - 1e-9)
    return float(a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b)))


def _text(reading: Reading, part: str) -> Text:
    query, key = (side.words for side in reading.texts(part))
    lexicons = {"encoder": (ENGLISH, ENGLISH), "decoder": (FRENCH, FRENCH)}
    ask, answer = lexicons.get(part, (FRENCH, ENGLISH))
    distance_qk = np.arange(len(key))[None] - np.arange(len(query))[:, None]
    low, other = ([x.lower() for x in side] for side in (query, key))
    same_qk = (np.array(low)[:, None] == np.array(other)[None]) & (distance_qk != 0)
    read_qk = np.zeros(distance_qk.shape, bool)
    if part == "cross":
        for row in range(len(query) - 1):
            read_qk[row + 1, reading.alignment.source_columns(row)[:1]] = True
    return Text(kinds(query, ask), kinds(key, answer), distance_qk, same_qk, read_qk)


def _may_look(text: Text, part: str) -> tuple[Array, Array]:
    """True where a query may look, and True at the key on which heads rest; (end) is no query."""
    may_qk = text.distance_qk <= 0 if part == "decoder" else np.ones(text.distance_qk.shape, bool)
    if part == "encoder":
        may_qk[-1] = False
    rest = np.zeros((1, may_qk.shape[1]), bool)
    rest[0, 0 if part == "decoder" else -1] = True
    return may_qk, rest


def main(arguments: Sequence[str] | None = None) -> int:
    """Name the heads of a model whose heads.json is there."""
    from judge.measure_heads import validation_readings
    from regard.transformer.checkpoint import SHIPPED, load_model, model_folder

    parser = argparse.ArgumentParser(prog="python -m judge.name_heads", description=__doc__)
    parser.add_argument("model", nargs="?", type=Path, help="the shipped model unless given")
    parser.add_argument("--valid", type=Path, required=True, help="pairs held out of training")
    options = parser.parse_args(arguments)
    path = (SHIPPED if options.model is None else model_folder(options.model)) / HEADS
    measured = json.loads(path.read_text(encoding="utf-8"))
    name_heads(measured["heads"], validation_readings(options.valid, load_model(path.parent)))
    write_text(path, json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    rows = [row for part in PARTS for row in measured["heads"][part]]
    unnamed = sum("behaviour" not in row for row in rows)
    sys.stdout.write(f"{unnamed} of {len(rows)} heads without a behaviour; written to {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
