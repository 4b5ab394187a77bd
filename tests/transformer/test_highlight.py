"""The link most worth showing: the largest weight of its row, and never one shown as 0 %."""

from dataclasses import replace

import numpy as np
import pytest

from regard.display import percent
from regard.transformer import read
from regard.transformer.highlight import MIN_SHOWN_WEIGHT, NOUN_REASON, _pronoun
from regard.transformer.roles import HeadRoles, Role
from regard.view.terminal.reading import page

SENTENCE = "The hungry dog ate the cold food because it was happy."


@pytest.mark.parametrize(
    ("sentence", "pronoun"),
    [
        ("A dog ate the food because it was hungry", "it"),
        ("The dog ate the food; it's hungry", "it's"),
        ("The dogs ate the food since they were hungry", "they"),
        ("The man saw the boy and he was glad", "he"),
        ("The dog ate its food and its bone", "its"),
        ("The dog ate its food because it was hungry", "it"),
        ("It is raining", None),
        ("The cat sat on the mat", None),
    ],
)
def test_the_pronoun_that_is_shown_first(sentence, pronoun):
    words = tuple(sentence.replace(";", " ;").split())
    position = _pronoun(words)
    assert (None if position is None else words[position]) == pronoun


def test_a_head_that_is_asked_for_leads_with_its_largest_weight(model):
    reading = read(SENTENCE, model=model)
    for head in range(model.config.heads):
        shown = reading.highlight("food", layer=1, head=head)
        row = reading.weights(layer=1, head=head)[reading.words.index("food")]
        assert shown.link.weight == row.max()
        assert shown.reason == "the head you asked for"


def test_shown_shares_never_round_to_zero(model):
    roles = HeadRoles(
        encoder={(1, 2): Role(1, 2, {}, 1.0, pronouns=0.5)}, pronoun_heads=((1, 2),),
        measured={"pronouns": {"taught": False}},
    )  # fmt: skip
    reading = read(SENTENCE, model=replace(model, roles=roles))
    for shown in (reading.highlight(word) for word in (None, "dog", "it", "food")):
        assert shown.link.weight >= MIN_SHOWN_WEIGHT
        assert percent(shown.link.weight) not in (percent(0), percent(1e-9))
        assert all(weight >= MIN_SHOWN_WEIGHT for _, weight in shown.others)
        row_k = reading.weights(layer=shown.link.layer, head=shown.link.head)[shown.link.query]
        rest = sorted(np.delete(row_k, shown.link.key), reverse=True)[: len(shown.others)]
        assert [weight for _, weight in shown.others] == pytest.approx(rest)
    told = reading.highlight().to_dict()
    assert told["sentence"] == reading.highlight().sentence
    assert set(told) >= {"weight", "reason", "disagreement"}


# Sentences and the nouns of their determiners.
NO_PRONOUN = """\
The cat sat on the mat; cat mat
The cat drinks the milk; cat milk
My sister reads a long book in the garden; sister book garden
The teacher gave the students a difficult exam; teacher students exam
We will visit our grandmother tomorrow; grandmother
Two black dogs were sleeping under the old table; table
Paris is the capital of France; capital
The big red car stopped; car
A bird sings in the tree; bird tree
The farmer sold three white horses; farmer
Our neighbours have a very old house; neighbours house
The train to London leaves at noon; train
My brother never eats fish; brother
Children play in the park every Sunday; park Sunday
The small boy broke a blue plate; boy plate
The king lives in a large castle; king castle
Every student needs a pen; student pen
The sun rises in the east; sun east
I love you;
Winter is cold;
The woman with the red hat smiled; woman hat
A good friend helped my father; friend father
The soup was too hot; soup
The doctor wrote a short letter; doctor letter
The river flows through the old town; river town
No child likes bitter medicine; child
The lazy dog sleeps all day; dog
Her mother works in a hospital; mother hospital
The children of the village sang a song; children village song
This bread tastes good; bread
Those mountains are high; mountains
The young queen opened the heavy door; queen door
A cat and a dog live here; cat dog
The police found the stolen money; police money
My uncle drives a yellow bus; uncle bus
The last bus has gone; bus
The student answered every question; student question
A strange noise woke the baby; noise baby
The moon shines on the quiet lake; moon lake
Their new teacher comes from Spain; teacher
The baker makes fresh bread every morning; baker morning
An old man opened the window; man window
The bridge over the river is closed; bridge river
My cousin wants to buy a new car; cousin car
The film was long and boring; film
Snow covers the roof; roof
The engineers tested a new engine; engineers engine
The wind moved the tall trees; wind trees
Some birds cannot fly; birds
The green apple fell from the tree; apple tree
The captain of the ship saw an island; captain ship island
Water boils at one hundred degrees;
The musicians played a slow song; musicians song
The old clock on the wall stopped; clock wall
The lawyer read the long contract; lawyer contract
The hungry wolf followed the sheep; wolf sheep
The nurse brought the patient a glass of water; nurse patient glass
A letter lay on the kitchen table; letter table
The students of this school speak three languages; students school
Thank you very much;""".splitlines()


def test_without_a_pronoun_a_determiner_is_shown_on_its_noun():
    """Sixty sentences: what the label says of the head is what its row does here."""
    named = 0
    for at, line in enumerate(NO_PRONOUN):
        sentence, _, nouns = line.partition(";")
        reading = read(sentence)
        shown = reading.highlight()
        link = shown.link
        row = reading.weights(layer=link.layer, head=link.head)[link.query]
        assert link.weight == row.max(), sentence
        if shown.reason == NOUN_REASON:
            named += 1
            assert link.role.startswith("looks from a determiner to its noun"), sentence
            assert link.key_word in nouns.split(), sentence
        usual = f"Usually this head {link.role}." if link.role else ""
        if at % 6:
            continue  # a page takes a translation
        told = " ".join(page(reading).split())
        assert f"{usual} Here {link.query_word} looks at {link.key_word}." in told, sentence
    assert named >= 50  # a model of other parameters may miss some, but says no wrong noun
