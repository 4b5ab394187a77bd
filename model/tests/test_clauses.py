"""Clauses with the pronoun as object, and their passives, against hand-checked sentences."""

import random

import pytest

from anaphora.clauses import (
    ANYONE,
    NOBODY,
    SOMEONE,
    Connector,
    Deed,
    action_clause,
    deed,
    finished,
    finished_french,
    passive,
    passive_pronoun_clause,
)
from anaphora.mentions import SPEAKER, SPEAKERS, Mention, name
from anaphora.nouns import NOUNS
from anaphora.predicates import ACTIONS

SUBJECTS = {"I": SPEAKER, "we": SPEAKERS, "nobody": NOBODY, "someone": SOMEONE, "anyone": ANYONE}
VERBS = {x.english: x for x in ACTIONS}

# noun, number | verb | subject | mode | French words before | English | French
ACTIVE = """\
house s|demolish|I|decided||I decided to demolish it.|J'ai décidé de la démolir.
house s|insulate|Tom|managed||Tom managed to insulate it.|Tom a réussi à l'isoler.
wall s|scale|nobody|wanted|parce que|nobody wanted to scale it.|Parce que personne ne voulait \
l'escalader.
wall p|knock down|nobody|past||nobody knocked them down.|Personne ne les a abattus.
letter p|tear up|we|had promised, subjunctive|bien que|we had promised to tear them up.|Bien que \
nous ayons promis de les déchirer.
letter s|tear up|I|had, subjunctive|bien que|I had torn it up.|Bien que je l'aie déchirée.
dog s|walk|anyone|could, subjunctive|avant que|anyone could walk it.|Avant que quelqu'un puisse \
le promener.
horse p|saddle|Anna|past, subjunctive|jusqu'à ce que|Anna saddled them.|Jusqu'à ce qu'Anna les \
ait sellés.
garlic s|mince|I|is about||I am about to mince it.|Je suis sur le point de le hacher.
bedroom s|air|we|has to||we have to air it.|Nous devons l'aérer.
soup s|heat up|I|has just||I have just heated it up.|Je viens de la réchauffer.
soup s|stir|someone|never||someone never stirred it.|Quelqu'un ne l'a jamais remuée.
pill p|dissolve|I|past||I dissolved them.|Je les ai dissoutes.
drawer s|reopen|Tom|past||Tom reopened it.|Tom l'a rouvert.
letter s|hand in|we|had||we had handed it in.|Nous l'avions rendue.
cow s|treat|Tom|did not dare||Tom did not dare to treat it.|Tom n'osait pas la soigner.
"""
# noun, number | verb | mode | French words before | English | French
PASSIVE = """\
table s|sand|had been||it had been sanded.|Elle avait été poncée.
letter p|tear up|was||they were torn up.|Elles ont été déchirées.
wall s|plaster|could not be|parce que|it could not be plastered.|Parce qu'il ne pouvait pas être \
plâtré.
pond s|drain|had to be||it had to be drained.|Il a dû être vidé.
hedge p|trim|was, subjunctive|avant que|they were trimmed.|Avant qu'elles soient taillées.
bomb s|defuse|had been, subjunctive|bien que|it had been defused.|Bien qu'elle ait été désamorcée.
radio s|turn down|has to be||it has to be turned down.|Elle doit être baissée.
tablet s|recharge|has just been||it has just been recharged.|Elle vient d'être rechargée.
telephone p|pick up|had been||they had been picked up.|Ils avaient été décrochés.
story s|make up|was||it was made up.|Elle a été inventée.
secret s|reveal|was not||it was not revealed.|Il n'a pas été révélé.
"""


def rows(table: str) -> list[list[str]]:
    return [line.split("|") for line in table.splitlines()]


def noun(text: str) -> Mention:
    english, number = text.split()
    return Mention(NOUNS[english], number == "p")


@pytest.mark.parametrize("row", rows(ACTIVE), ids=lambda row: row[5])
def test_a_pronoun_is_the_object(row):
    item, verb, subject, mode, before, english, french = row
    done = Deed(SUBJECTS.get(subject) or name(subject), mode, Connector("", ""))
    clause = action_clause(noun(item), VERBS[verb], done)
    assert finished([*clause.english, "."]) == english
    assert clause.english[clause.pronoun] in ("it", "them")
    assert finished_french(f"{before} {clause.french} .".strip()) == french


@pytest.mark.parametrize("row", rows(PASSIVE), ids=lambda row: row[4])
def test_a_pronoun_is_the_subject_of_a_passive(row):
    item, verb, mode, before, english, french = row
    clause = passive_pronoun_clause(noun(item), VERBS[verb], mode)
    assert finished([*clause.english, "."]) == english
    assert finished_french(f"{before} {clause.french} .".strip()) == french


def test_connectors_of_time_can_be_ruled_out():
    rng = random.Random(1)
    time = frozenset(("before", "until", "when"))
    people = [NOUNS["nurse"]]
    words = {deed(rng, "past", False, people, time).connector.english for _ in range(500)}
    words |= {passive(rng, "past", time)[1].english for _ in range(500)}
    assert not words & {"before", "until", "when", "as soon as"}
    assert {"although", "because", ", so", "and then"} <= words
