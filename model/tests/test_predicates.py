"""Forms of the intransitive verbs, against hand-checked clauses in English and French."""

import random

import pytest

from anaphora.clauses import finished, finished_french, phrase_clause
from anaphora.mentions import Mention
from anaphora.nouns import NOUNS
from anaphora.predicates import PHRASES, formed, verb_form

VERBS = {x.english: x.french for x in PHRASES}

# noun, number | verb | form | tense | English | French
TABLE = """\
dog s|bark|simple|past|it barked|Il aboyait
hen p|run away|done|past|they had run away|Elles s'étaient enfuies
hen s|fall asleep|simple|past|it fell asleep|Elle s'est endormie
candle s|melt|begun|past|it began to melt|Elle a commencé à fondre
bomb s|explode|near|past|it was about to explode|Elle était sur le point d'exploser
bomb p|explode|done|present|they have exploded|Elles ont explosé
car s|stall|future|present|it is going to stall|Elle va caler
frog p|croak|progressive|past|they were croaking|Elles coassaient
lamp s|flicker|kept up|past|it kept flickering|Elle continuait à vaciller
owl s|hoot|for a time|past|it hooted all night|Elle a hululé toute la nuit
pear s|ripen|simple|present|it ripens|Elle mûrit
robot p|turn itself off|simple|past|they turned themselves off|Ils se sont éteints tout \
seuls
bear s|die|done|past|it had died|Il était mort
"""
ROWS = [line.split("|") for line in TABLE.splitlines()]


class First(random.Random):
    """Chooses the first item always."""

    def choice(self, seq):
        return seq[0]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[4])
def test_a_verb_has_this_form(row):
    noun, verb, form, tense, english, french = row
    mark, _, infinitive = VERBS[verb].partition(" ")
    texts = formed(form, mark, (verb, infinitive), First())
    word, number = noun.split()
    clause = phrase_clause(Mention(NOUNS[word], number == "p"), texts, tense)
    assert finished(clause.english) == english
    assert finished_french(clause.french) == french


def test_a_phrase_without_a_mark_has_one_form():
    texts = ("need rest", "avoir besoin de repos")
    assert verb_form(random.Random(1), texts, "past") == texts


def test_what_happens_at_once_is_not_going_on():
    """'it was exploding' and 'it explodes' are left out, in both tenses."""
    rng = random.Random(3)
    for tense in ("past", "present"):
        drawn = {verb_form(rng, ("explode", "> exploser"), tense)[0] for _ in range(200)}
        assert "be exploding" not in drawn
        assert ("explode" in drawn) == (tense == "past")


def test_every_marked_verb_can_be_conjugated():
    """Each French text of a mark begins with an infinitive."""
    marked = [x for x in PHRASES if x.french[0] in "~>"]
    assert len(marked) >= 300
    for verb in marked:
        infinitive = verb.french.partition(" ")[2].removeprefix("se ").split()[0]
        assert infinitive.endswith(("er", "ir", "re")), verb
