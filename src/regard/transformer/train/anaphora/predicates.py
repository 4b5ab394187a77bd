"""Predicates of the anaphora text: adjectives and verb phrases with the nouns that they fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.transformer.train.anaphora.adjectives_animals import OF_ANIMALS
from regard.transformer.train.anaphora.adjectives_feelings import OF_FEELINGS
from regard.transformer.train.anaphora.adjectives_food import OF_FOOD
from regard.transformer.train.anaphora.adjectives_general import OF_EVERYTHING
from regard.transformer.train.anaphora.adjectives_living import OF_LIVING
from regard.transformer.train.anaphora.adjectives_materials import OF_MATERIALS
from regard.transformer.train.anaphora.adjectives_objects import OF_OBJECTS
from regard.transformer.train.anaphora.adjectives_people import OF_PEOPLE
from regard.transformer.train.anaphora.adjectives_places import OF_PLACES
from regard.transformer.train.anaphora.adjectives_sites import OF_SITES
from regard.transformer.train.anaphora.adjectives_things import OF_THINGS
from regard.transformer.train.anaphora.adjectives_topics import OF_TOPICS
from regard.transformer.train.anaphora.nouns import members
from regard.transformer.train.anaphora.split import TEST_ADJECTIVES


@dataclass(frozen=True, slots=True)
class Predicate:
    """An adjective, a verb phrase or a transitive verb, and the nouns that it fits.

    Of ``fits`` it is said; of ``possible`` it might be, so that none of these may stand beside.
    """

    english: str
    french: str
    fits: frozenset[str]
    possible: frozenset[str]
    in_training: bool
    gradable: bool = False


# What is said of the first might be said of the others, which are therefore ruled out beside it.
_ALIKE = {"text": "work document idea", "container": "decor", "food": "care fish", "dish": "fish",
          "occasion": "work idea", "toy": "decor"}  # fmt: skip


def nouns_of(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The nouns that a predicate fits and those that it might fit, from 'fits / possible'."""
    fits, _, possible = text.partition("/")
    alike = " ".join(_ALIKE[x] for x in text.split() if x in _ALIKE)
    fitting = members(fits)
    return fitting, fitting | members(possible) | members(alike)


def predicate_rows(table: str, test: frozenset[str]) -> tuple[Predicate, ...]:
    """The predicates of a table with one in each line; those of ``test`` are out of training."""
    rows = [" ".join(line.split()).split(" = ") for line in table.splitlines()]
    return tuple(_predicate(english, french, nouns, test) for english, french, nouns in rows)


def grouped_rows(table: str, test: frozenset[str]) -> Iterator[Predicate]:
    """The predicates of a table with several in each line, which fit the same nouns."""
    for line in table.splitlines():
        nouns, _, items = " ".join(line.split()).partition(" = ")
        for item in items.split("; "):
            english, _, french = item.partition(": ")
            yield _predicate(english, french, nouns, test)


def _predicate(english: str, french: str, nouns: str, test: frozenset[str]) -> Predicate:
    fits, possible = nouns_of(nouns)
    text = english.removeprefix("+ ")
    gradable = english.startswith("+ ")
    return Predicate(text, french, fits, possible, text not in test, gradable)


_GROUPED = (
    OF_LIVING, OF_FEELINGS, OF_ANIMALS, OF_PEOPLE, OF_FOOD, OF_THINGS, OF_OBJECTS, OF_MATERIALS,
    OF_PLACES, OF_SITES, OF_TOPICS,
)  # fmt: skip


def _adjectives() -> tuple[Predicate, ...]:
    more = (x for table in _GROUPED for x in grouped_rows(table, TEST_ADJECTIVES))
    return (*predicate_rows(OF_EVERYTHING, TEST_ADJECTIVES), *more)


ADJECTIVES = _adjectives()
# States that come and go: 'when it was tired', not 'when it was digital'.
_TEMPORARY = """\
    hungry, thirsty, afraid, sleepy, tired, exhausted, ill, injured, angry, happy, sad, nervous,
    frightened, restless, starving, asleep, awake, alone, empty, full, parked, deserted, crowded,
    flooded, withered, ironed, busy, embarrassed, worried, proud, locked, unplugged, stained,
    crumpled, inflated, ripe, rotten, mouldy, fresh, lukewarm, raw, switched on, switched off,
    out of order, in bloom, out of petrol, full of water, half empty, full to the brim,
    frozen solid, covered with snow, on holiday, out of tune, badly parked, sick, furious,
    terrified, scared, anxious, wounded, upset, excited, surprised, confused, drowsy, unconscious,
    agitated, hurt, trapped, out of breath, desperate, panicked, lost, disappointed, annoyed,
    irritated, depressed, stressed, pleased, glad, delighted, on strike, on duty, in prison,
    in hospital, barefoot, blooming, wilted, spoiled, expired, overheated, turned on, turned off,
    plugged in, charged, jammed, deflated, delayed, packed, moored, untidy, messy, congested,
    blocked, icy, muddy, dried out, ajar, wide open, shut, occupied, steaming, frustrated, bored,
    amused, astonished, shocked, puzzled, bewildered, discouraged, startled, relaxed, hesitant,
    reluctant, distracted, frantic, dizzy, shivering, trembling, sore, paralysed, bleeding, in
    pain, in danger, in trouble, in a hurry, in shock, on the run, on the loose, at rest, on the
    alert, half asleep, uneasy, alarmed, tense, weak, motionless, lying down, stranded, captured,
    outraged, enthusiastic, hysterical, nauseous, seasick, in a bad mood, in a good mood, sweaty,
    tied up, perched, curled up, overwhelmed, preoccupied, threatened, cornered, saddled, in full
    bloom, in bud, diseased, out of water, soggy, thawed, chilled, melted, boiling, bubbling, hot,
    cold, dirty, filthy, clean, soaked, drenched, damp, folded, overflowing, overturned, in pieces,
    stuck, clogged, out of ink, running, stopped, out of service, under repair, on standby, offline,
    online, flickering, unlit, extinguished, for sale, sold, on sale, on fire, in flames, burning,
    collapsed, closed, open, half open, unlocked, padlocked, stuck in the mud, stuck in traffic,
    out of control, stationary, derailed, adrift, aground, at anchor, at sea, in port, airborne,
    grounded, in orbit, out of fuel, at war, at peace, besieged, invaded, dark, tidy, in a mess,
    in progress, under way, sold out, called off, unanswered, unpaid, absent, mistaken, wrong,
    early, away, arrested, jailed, handcuffed, tipsy, intoxicated, naked, pale, on a diet,
    lost in thought, covered with dust, covered in mud, covered with ice, full of people, full of
    smoke, full of rubbish, hospitalised, vacant"""
TEMPORARY = frozenset(" ".join(_TEMPORARY.split()).split(", "))
