"""The shipped model's taught head, moved: the French gender follows as its own figures say.

The figures are those that the judge measured and stored beside the model (heads.json).
"""

import math
import random
from pathlib import Path

import numpy as np
import pytest

import regard
from judge.frames import contrasts
from judge.french_gender import gender, may_differ
from judge.judge import pronoun_rows
from judge.measure_heads import all_sentences
from regard.transformer.checkpoint import PARAMETERS, SHIPPED
from regard.transformer.reading import read, read_all, shipped_model

pytestmark = pytest.mark.skipif(
    not (SHIPPED / PARAMETERS).is_file(), reason="this checkout has no shipped parameters"
)
SENTENCES = 16


def judged():
    """The head that the judge measured and its figures; skips where there are none."""
    figures = shipped_model().roles.measured.get("judge")
    if not figures or "changed" not in figures["contrast_pairs"]:
        pytest.skip("heads.json of the shipped model has no figures of the judge yet")
    head = figures["head"]
    return (head["layer"], head["head"]), figures["contrast_pairs"]["changed"]


def chosen_items():
    """Some of all frames: the figures are of all of them."""
    items = [x for x in all_sentences(contrasts()) if x.pronoun == "it" and may_differ(x)]
    return random.Random(0).sample(items, SENTENCES)


@pytest.fixture(scope="module")
def readings():
    items = chosen_items()
    return list(zip(items, read_all([x.sentence for x in items]), strict=True))


def verdicts(readings, change):
    """Right and wrong genders after a change, where the French shows one."""
    genders = [gender(change(item, x).after.translation, item) for item, x in readings]
    return [x for x in genders if x in ("right", "wrong")]


def enough(share, number):
    """The least that so many draws of this share give, but in one of a thousand cases."""
    return number * share - 3.1 * math.sqrt(number * share * (1 - share)) - 1


def test_turned_to_the_wrong_noun_the_gender_follows_as_measured(readings):
    (layer, head), figures = judged()
    genders = verdicts(readings, lambda item, x: x.redirect("it", item.wrong, layer, head))
    share = figures["row turned to wrong"]["gender_follows"]
    assert genders.count("wrong") >= enough(share, len(genders))


def test_turned_to_the_right_noun_the_gender_is_right_as_measured(readings):
    (layer, head), figures = judged()
    genders = verdicts(readings, lambda item, x: x.redirect("it", item.right, layer, head))
    share = figures["row turned to right"]["gender_right"]
    assert genders.count("right") >= enough(share, len(genders))


def test_turned_to_the_end_the_gender_is_right_as_often_as_measured(readings):
    (layer, head), figures = judged()
    genders = verdicts(readings, lambda item, x: x.redirect("it", "(end)", layer, head))
    share = figures["row turned to end"]["gender_right"]
    assert genders.count("right") >= enough(share, len(genders))
    assert genders.count("wrong") >= enough(1 - share, len(genders))


def test_a_redirected_reading_translates_as_the_judges_turned_row(readings):
    """Two ways to write the same change; four sentences of them."""
    head = shipped_model().roles.pronoun_heads[0]
    items = [item for item, _ in readings[:4]]
    rows = pronoun_rows(shipped_model(), items, head, "wrong")
    after = [x.redirect("it", item.wrong, *head).after for item, x in readings[:4]]
    assert [x.translation for x in after] == [row.translation for row in rows]


def test_a_row_put_where_it_looked_already_changes_no_bit():
    reading = read("A dog ate the food because it was hungry")
    counts = np.bincount(reading.source.word_of_token)
    query, key = np.flatnonzero(counts == 1)[-2:].tolist()
    weight = float(np.float32(reading.weights(layer=3, head=6)[query, key]))
    after = reading.redirect(query, key, 3, 6, weight=weight).after
    assert after.translated == reading.translated
    np.testing.assert_array_equal(after.weights(part="cross"), reading.weights(part="cross"))


def test_the_block_of_the_page_shows_changes_that_change_something():
    """Its head is the one of these parameters: turning or patching it turns the French pronoun."""
    page = (Path(__file__).parents[2] / "docs/experiments.md").read_text(encoding="utf-8")
    first, *lines = page.split("```python\n")[1].split("\n```")[0].splitlines()
    names = {"regard": regard}
    exec(first, names)  # noqa: S102 (our own page)
    for line in lines:
        experiment = eval(line, names)  # noqa: S307
        assert experiment.before.translation.endswith("qu'il avait faim")
        if "redirect" in line or "patch" in line or "replace" in line:
            assert "qu'elle" in experiment.after.translation, line
