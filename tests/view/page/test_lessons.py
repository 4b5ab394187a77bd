"""The course: every number in it is computed, and its answers are the computed ones."""

import re
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.errors import ArgumentError
from regard.textbook.stages import softmax
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
        "page must be one of look, vectors, query, scores, shares, division, sum, habit, "
        "position, mask, cross, layers, training, experiment, tell, printed, order, batch, got "
        "'nowhere'."
    )


def test_no_number_is_written_in_the_course():
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', COURSE.split("export const")[1])
    written = [re.sub(r"\{[^}]*\}", "", text) for text in strings]
    assert len(written) > 120
    assert [text for text in written if re.search(r"\d", text)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_placeholder_is_filled(facts, page):
    names = re.findall(r"\{([\w.]+)(?:\|[%\d])?\}", text_of(page))
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
    shares = facts["shares"]
    np.testing.assert_allclose(shares["true"], softmax(np.array([shares["scaled"]]))[0], atol=1e-12)
    assert shares["document"][0] == 0 < shares["smart"]
    assert facts["printed"]["document"] == shares["document"]
    whole = facts["sum"]
    assert whole["true"] == pytest.approx(np.dot(whole["weights"], whole["values"]))
    assert whole["choices"][whole["right"]] == f"{whole['true']:.2f}"
    added = facts["printed"]
    assert added["correct"] == whole["true"]
    assert added["followed"] == pytest.approx(np.dot(added["weights"], added["values"]))
    assert added["choices"][added["right"]] == f"{added['followed']:.2f}" != f"{added['printed']}"
    order = facts["order"]
    assert order["sum_before"] == pytest.approx(1)
    assert order["sum_after"] == pytest.approx(1 / facts["division"]["root"])
    assert order["choices"][order["right"]] == "softmax(Q K^T / √d_k)"
    assert facts["division"]["largest"] > facts["division"]["before"]
    batch = facts["batch"]
    assert (batch["meant"], batch["written"]) == ("(2, 6, 6)", "(2, 6, 2, 6)")
    assert sum(batch["stray"]) == pytest.approx(1)


def test_the_model_is_shown_as_it_is(facts):
    look, tell = facts["look"], facts["tell"]
    reading = regard.read(look["sentence"])
    row = reading.weights(layer=look["layer"], head=look["head"])[look["position"]]
    # Rounded to six decimals on their way to the page.
    np.testing.assert_allclose(look["weights"][look["position"]], row, atol=1e-6)
    assert look["choices"][look["right"]] == reading.words[int(row.argmax())]
    assert tell["moved"] is (tell["best"] != tell["noun"])
    assert tell["accuracy"] == reading.model.roles.accuracy.summary
    assert tell["caution"].startswith("Attention is evidence, not explanation")
    habit = facts["habit"]
    role = reading.model.roles.encoder[habit["layer"], habit["head"]]
    assert habit["usual"] == max(role.usual.values())


def test_the_path_is_the_models_own(facts):
    reading = regard.read(facts["vectors"]["sentence"])
    vectors, query = facts["vectors"], facts["query"]
    own, position, both = (np.array(x) for x in vectors["parts"])
    np.testing.assert_allclose(own + position, both, atol=2e-3)  # three roundings to a thousandth
    assert vectors["ids"] == list(reading.translated.source)
    steps = reading.steps(query["layer"], query["head"])
    np.testing.assert_allclose(query["query"], steps.query[query["position"]], atol=5.1e-4)
    np.testing.assert_array_equal(query["scores"], steps.scores[query["position"]])
    cross = facts["cross"]
    row = reading.weights(part="cross", layer=cross["layer"], head=cross["head"])[cross["position"]]
    assert cross["best"] == reading.words[int(row.argmax())]


def test_a_mask_gives_exact_zeros_and_ties_are_ties(facts):
    mask, position = np.array(facts["mask"]["weights"]), facts["position"]
    assert facts["mask"]["hidden"] == 0.0 == np.triu(mask, 1).max()
    assert facts["mask"]["right"] == 0
    first, second = (i for i, word in enumerate(position["words"]) if word == "dog")
    without = np.array(position["without"])
    np.testing.assert_array_equal(without[first], without[second])
    assert position["after"] < position["before"]


def test_the_learnt_numbers_are_counted(facts):
    layers, model = facts["layers"], regard.read("I am good").model
    norms = sum(x.size for name, x in model.parameters().items() if "norm" in name)
    assert sum(layers["counts"]) + norms == sum(x.size for x in model.parameters().values())
    assert sum(layers["shares"]) == pytest.approx(1)


def test_the_experiment_is_a_second_run(facts):
    found = facts["experiment"]
    reading = regard.read(found["sentence"])
    changed = reading.redirect("it", found["rival"], layer=found["layer"], head=found["head"])
    assert (found["first"], found["second"]) == (reading.translation, changed.after.translation)
    assert found["weights"][found["position"]][found["words"].index(found["rival"])] == 1.0
    assert found["right"] == int(found["same"])
