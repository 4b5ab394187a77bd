"""Names of head measures and of heads: one table, and the sentences made from it."""

from dataclasses import fields
from importlib.resources import files

import pytest

from regard.heads.measures import HeadMeasures
from regard.heads.names import MEASURES, TARGETS, Resting, head_name, looks_at


def test_every_measure_has_a_name():
    assert [*MEASURES, "distance"] == [field.name for field in fields(HeadMeasures)]


def test_the_page_has_no_table_of_its_own():
    folder = files("regard.view") / "web" / "survey"
    scripts = "".join(x.read_text("utf-8") for x in folder.iterdir() if x.name.endswith(".js"))
    assert [target for target in TARGETS.values() if target in scripts] == []


def test_sentences_of_tokens_and_of_words():
    assert looks_at("induction") == "looks at what follows the same token elsewhere"
    assert looks_at("itself", unit="word") == "looks at the word itself"


UNIFORM = {"entropy": 3.0, "first": 0.1, "itself": 0.1, "previous": 0.1, "next": 0.1,
        "duplicate": 0.1, "induction": 0.1}  # fmt: skip
QUIET = dict.fromkeys(UNIFORM, 0.05) | {"entropy": 2.0}
MANY = dict.fromkeys(UNIFORM, 20)


@pytest.mark.parametrize(
    ("measured", "rests", "name"),
    [
        ({"first": 0.9}, 0.9, "rests on the first token: 90 % (evenly 10 %)"),
        ({"induction": 0.58}, 0.2,
         "looks at what follows the same token elsewhere: 58 % (evenly 10 %)"),
        ({"duplicate": 0.7, "itself": 0.5}, 0.2,
         "looks at the same token elsewhere: 70 % (evenly 10 %)"),
        ({}, 0.8, "rests on 'the' (token 4): 80 %"),
        ({"first": 0.57, "induction": 0.34}, 0.57,
         "rests on the first token: 57 % (evenly 10 %)"),  # three times the even share, not five
        ({}, 0.1, "mixes: 2.00 nats (evenly 3.00)"),
        ({"entropy": 2.9}, 0.1, "spreads its attention evenly: 2.90 nats (evenly 3.00)"),
        ({"entropy": 1.0}, 0.1, "picks a few tokens: 1.00 nats (evenly 3.00)"),
    ],
)  # fmt: skip
def test_names_of_heads(measured, rests, name):
    position = 0 if "first" in measured else 4
    assert head_name(QUIET | measured, UNIFORM, MANY, Resting("the", position, rests)) == name


@pytest.mark.parametrize(("position", "resting"), [(0, "first token"), (4, "'the'")])
@pytest.mark.parametrize("rare", ["previous", "next", "duplicate", "induction"])
def test_what_few_heads_do_names_a_head_that_rests_otherwise(rare, position, resting):
    measured = QUIET | {"first": 0.57 if position == 0 else 0.05, rare: 0.34}
    rests = Resting("the", position, 0.57)
    name = head_name(measured, UNIFORM | {rare: 0.01}, MANY, rests)
    assert name == f"{looks_at(rare)}: 34 % (evenly 1 %); {resting} 57 %"
    few = head_name(measured | {rare: 0.19}, UNIFORM | {rare: 0.01}, MANY, rests)
    assert few.startswith("rests on")


def test_few_queries_name_no_head():
    measured = QUIET | {"induction": 1.0}
    few = MANY | {"induction": 2}
    assert (
        head_name(measured, UNIFORM, few, Resting("a", 1, 0.1)) == "mixes: 2.00 nats (evenly 3.00)"
    )
