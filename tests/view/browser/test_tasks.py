"""What a new user clicks first: each click shows what it promises, inside the window."""

from collections import Counter

import pytest

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
PHONE = {"width": 390, "height": 844}
SIZES = [pytest.param({}, marks=pytest.mark.nightly), PHONE]
IN_SIGHT = """selector => {
  const { top, bottom } = document.querySelector(selector).getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}"""


@pytest.mark.parametrize("size", SIZES, ids=["wide", "phone"])
def test_why_comes_into_sight(new_page, open_read, until, size):
    page = new_page(**size)
    open_read(page)
    page.click(".questions .primary")
    page.wait_for_selector(".why-weight table")
    until(page, IN_SIGHT, ".why-weight h2")


@pytest.mark.parametrize("size", SIZES, ids=["wide", "phone"])
def test_the_earlier_sentence_stands_beside_the_typed_one(new_page, open_read, until, size):
    page = new_page(**size)
    open_read(page)
    page.click("#sentence")
    page.keyboard.insert_text("A dog ate the food because it was ")
    page.keyboard.type("delicious", delay=150)  # each letter is a sentence of its own
    page.locator(".statement", has_text="food").wait_for()
    earlier = page.locator(".further button", has_text="compare")
    assert earlier.text_content() == "Beside … hungry compare"
    earlier.click()
    page.locator(".difference", has_text="of its attention elsewhere").wait_for()
    until(page, IN_SIGHT, ".difference")
    assert page.text_content(".beside .title").startswith(
        "Beside it: “A dog ate the food because it was hungry”"
    )


def test_questions_about_french_wait_for_its_translation(page, open_read, until):
    open_read(page)
    page.get_by_role("button", name="delicious").click()
    page.locator(".statement", has_text="food").wait_for()
    asked = page.locator(".questions button", has_text="Which heads decide")
    until(page, lambda: asked.count() == 1 and page.locator(".french .word").count() > 0)
    words = page.locator(".french .word").all_text_contents()
    assert asked.text_content() in [f"Which heads decide {word}? effects" for word in words]


ALIGNED = """async (sources) => {
  const { wordToExplain } = await import("/read/effect_grid.js");
  const words = ["parce", "qu'", "il", "avait"];
  const part = { query: { language: "English", words: ["because", "it", "was"] } };
  return wordToExplain({ words, sources }, part, { query: 1 });
}"""


BECAME = {
    "pronoun": ([0, 0.6, 0.4, 0], 2),
    "most": ([0, 0.3, 0, 0.5], 3),
    "only": ([0, 0.5, 0, 0], 1),
    "none": ([0, 0, 0, 0], 3),
}


def test_the_word_that_a_word_became(page, open_read):
    open_read(page)
    for case, (weights, word) in BECAME.items():
        sources = [[{"key": 1, "weight": weight}] if weight else [] for weight in weights]
        assert page.evaluate(ALIGNED, sources) == word, case


def test_a_role_shows_its_heads_one_after_the_other(page, open_read, until):
    open_read(page)
    names = Counter(role.name for role in read(SENTENCE).model.roles.heads("encoder").values())
    name, many = min((one for one in names.items() if one[1] > 1), key=lambda one: one[1])
    role = page.locator(".part.current .roles button", has_text=f"{name} {many}")
    shown = []
    for _ in range(many + 1):
        before = page.text_content(".main .title")
        role.click()
        until(page, lambda old=before: page.text_content(".main .title") != old)
        shown.append(page.text_content(".main .title"))
    assert all(name in title for title in shown)
    assert len(set(shown)) == many
    assert shown[-1] == shown[0]


def test_formats_to_save_say_what_they_are_for(page, open_read):
    open_read(page)
    page.click(".export-menu summary")
    page.locator(".export-list button").first.wait_for()
    rows = page.locator(".export-list [role=group]").all()
    assert {row.get_attribute("aria-label"): row.locator("button").all_text_contents()
            for row in rows} == {
        "a figure": ["SVG", "PNG", "PDF"],
        "its numbers": ["JSON", "CSV"],
        "this page": ["HTML"],
        "to share": ["card.svg", "card.png"],
    }  # fmt: skip
