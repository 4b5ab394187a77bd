"""The course: every number in it is computed, and its answers are the computed ones."""

import re
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.errors import ArgumentError
from regard.textbook.stages import softmax
from regard.transformer.layers import in_dtype
from regard.transformer.residual import ResidualRun
from regard.view.page.routes.learn import PAGES as KNOWN
from regard.view.page.routes.learn import page_facts

STATIC = Path(regard.__file__).parent / "view" / "web"
COURSE = (STATIC / "learn" / "course.js").read_text(encoding="utf-8")
PAGES = re.findall(r'^    name: "(\w+)",$', COURSE, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def facts():
    kept = {}

    def read(sentence):
        if sentence not in kept:
            kept[sentence] = regard.read(sentence)
        return kept[sentence]

    return {page: page_facts(page, read, read) for page in KNOWN}


def text_of(page: str) -> str:
    """One page of the course, as it is written."""
    start = COURSE.index(f'name: "{page}"')
    end = COURSE.find("\n  {\n", start)
    return COURSE[start : end if end > 0 else len(COURSE)]


def test_the_course_has_the_pages_that_the_server_knows():
    assert list(KNOWN) == PAGES
    story = PAGES[: PAGES.index("printed")]
    assert 12 <= len(story) <= 15
    assert PAGES[len(story) :] == ["printed", "order", "batch"]  # the appendix


def test_an_unknown_page_is_said():
    with pytest.raises(ArgumentError) as error:
        page_facts("nowhere", regard.read, regard.read)
    assert str(error.value) == (
        "page must be one of look, ending, arrows, shares, division, values, heads, position, "
        "mask, cross, layers, training, experiment, tell, printed, order, batch, got 'nowhere'."
    )


def test_no_number_is_written_in_the_course():
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', COURSE.split("export const")[1])
    written = [re.sub(r"\{[^}]*\}", "", text) for text in strings]
    assert len(written) > 120
    assert [text for text in written if re.search(r"\d", text)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_placeholder_is_filled(facts, page):
    names = re.findall(r"\{([\w.]+)(?:\|[%e\d])?\}", text_of(page))
    for name in names:
        found = facts[page]
        for key in name.split("."):
            found = found[int(key)] if isinstance(found, list | tuple) else found[key]
        assert found is not None
    conditions = re.findall(r'(?:when|unless): "(\w+)"', text_of(page))
    assert all(isinstance(facts[page][name], bool) for name in conditions)


@pytest.mark.parametrize("page", PAGES)
def test_there_are_choices_and_one_is_right(facts, page):
    own = re.search(r"choices: \[(.*?)\n?\s*\],\n", text_of(page), flags=re.DOTALL)
    choices = re.findall(r'"([^"]+)"', own[1]) if own else facts[page]["choices"]
    assert len(choices) == len(set(choices)) >= 2
    assert 0 <= facts[page]["right"] < len(choices)


def test_the_documents_are_put_right(facts):
    """The mistakes that the three documents make, by their own inputs."""
    added = facts["printed"]
    np.testing.assert_allclose(added["true"], softmax(np.array([added["scaled"]]))[0], atol=1e-12)
    assert added["document"][0] == 0 < added["smart"]
    assert added["followed"] == pytest.approx(np.dot(added["weights"], added["values"]))
    assert added["correct"] == pytest.approx(np.dot(added["true"], added["values"]))
    assert added["choices"][added["right"]] == f"{added['followed']:.2f}" != f"{added['printed']}"
    order = facts["order"]
    assert order["sum_before"] == pytest.approx(1)
    assert order["sum_after"] == pytest.approx(1 / 8)
    assert order["choices"][order["right"]] == "softmax(Q K^T / √d_k)"
    batch = facts["batch"]
    assert (batch["meant"], batch["written"]) == ("(2, 6, 6)", "(2, 6, 2, 6)")
    assert sum(batch["stray"]) == pytest.approx(1)


def test_one_sentence_runs_through_the_story(facts):
    """Every word is one token, and no share is so large that the others teach nothing."""
    reading = regard.read(facts["look"]["sentence"])
    assert len(reading.tokens) == len(reading.words)
    for page in PAGES[: PAGES.index("printed")]:
        assert facts[page].get("sentence", reading.sentence) == reading.sentence
    look = facts["look"]
    assert 0.5 < look["share"] < 0.9
    row = reading.weights(look["layer"], look["head"])[look["position"]]
    # Rounded to six decimals on their way to the page.
    np.testing.assert_allclose(look["weights"][look["position"]], row, atol=1e-6)
    assert {x["row"].index(max(x["row"])) for x in facts["ending"]["endings"]} == {
        reading.words.index(noun) for noun in ("cat", "mouse")
    }


def test_products_in_the_plane_are_the_models_scores(facts):
    arrows, shares = facts["arrows"], facts["shares"]
    flat = np.array(arrows["keys"]) @ np.array(arrows["query"])
    # Sums of 64 products in float64, in another order.
    np.testing.assert_allclose(flat, arrows["scores"], rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(arrows["scores"], shares["scores"], rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(np.array(shares["scores"]) / shares["root"], shares["scaled"])
    np.testing.assert_allclose(shares["shares"], softmax(np.array([shares["scaled"]]))[0])
    assert facts["division"]["largest"] > shares["best_share"]


def test_values_in_the_plane_add_up(facts):
    found = facts["values"]
    mixed = np.array(found["shares"]) @ np.array(found["values"])
    np.testing.assert_allclose(mixed, found["output"], rtol=1e-9, atol=1e-9)


def test_two_heads_disagree(facts):
    found = facts["heads"]
    reading = regard.read(found["sentence"])
    rows = [reading.weights(*at)[found["position"]] for at in heads_of(found)]
    first, second = (reading.words[int(row.argmax())] for row in rows)
    assert (first, second) == (found["noun"], found["best"])
    assert first != second


def heads_of(found):
    return ((found["layer"], found["head"]), (found["other_layer"], found["other_head"]))


def test_without_places_a_sentence_is_a_bag_of_words(facts):
    found = facts["position"]
    assert found["right"] == 1
    base = np.array(found["orders"][0]["without"])
    for order in found["orders"]:
        places = order["order"]
        moved = base[np.ix_(places, places)]
        np.testing.assert_allclose(order["without"], moved, atol=1e-5)
    with_places = [np.array(x["with"]) for x in found["orders"]]
    places = found["orders"][-1]["order"]
    assert np.abs(with_places[-1] - with_places[0][np.ix_(places, places)]).max() > 0.1
    assert found["after"] < found["before"]


def test_a_mask_gives_exact_zeros(facts):
    assert facts["mask"]["hidden"] == 0.0 == np.triu(np.array(facts["mask"]["weights"]), 1).max()
    assert facts["mask"]["right"] == 0


def test_the_residual_stream_is_what_the_encoder_makes(facts):
    found = facts["layers"]
    reading = regard.read(found["sentence"])
    stream = ResidualRun.from_reading(reading).source.x_te()[found["position"]]
    assert found["end"] == pytest.approx(np.linalg.norm(stream), abs=5e-4)
    assert found["right"] == 1
    # The model's own last vectors are those, normalised.
    model = reading.model
    memory = model.encode(np.array([reading.translated.source]), dtype=np.float64).memory_bke[0]
    normed = in_dtype(model.encoder_norm, np.float64)(stream[None])[0]
    np.testing.assert_allclose(memory[found["position"]], normed, atol=1e-9)


def test_the_experiments_are_further_runs(facts):
    found = facts["experiment"]
    reading = regard.read(found["sentence"])
    at = (found["layer"], found["head"])
    changed = reading.redirect("It", found["rival"], layer=at[0], head=at[1])
    assert (found["first"], found["second"]) == (reading.translation, changed.after.translation)
    assert found["third"] == reading.ablate(*at).after.translation
    assert found["runs"][1]["row"][found["words"].index(found["rival"])] == 1.0
    assert found["right"] == int(found["same"])


def test_what_was_measured_is_told(facts):
    tell = facts["tell"]
    roles = regard.read(tell["sentence"]).model.roles
    assert tell["accuracy"] == roles.accuracy.summary
    assert tell["caution"].startswith("Attention is evidence, not explanation")
    figures = tell["people_right"], tell["generated_right"]
    judge = roles.measured["judge"]
    people, generated = judge["everyday"]["pronouns"]["it"], judge["contrast_pairs"]
    assert figures == (people["right"], generated["right"])
