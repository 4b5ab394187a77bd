"""What a new user clicks first: each click shows what it promises, inside the window."""

import pytest

PHONE = {"width": 390, "height": 844}
SIZES = [pytest.param({}, marks=pytest.mark.nightly), PHONE]
IN_SIGHT = """selector => {
  const { top, bottom } = document.querySelector(selector).getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}"""


@pytest.mark.parametrize("size", SIZES, ids=["wide", "phone"])
def test_why_is_in_sight_and_scrolls_nothing(new_page, open_read, until, size):
    page = new_page(**size)
    open_read(page)
    page.click(".questions .primary")
    page.wait_for_selector(".bars text")
    until(page, IN_SIGHT, ".why-caption")
    until(page, IN_SIGHT, ".why-buttons .primary")
    assert page.evaluate("scrollY") == 0


def test_questions_about_french_wait_for_its_translation(page, open_read, until):
    open_read(page)
    page.get_by_role("button", name="delicious").click()
    page.locator(".head-said", has_text="looks at food").wait_for()
    asked = page.locator(".head-said button", has_text="Which heads decide")
    until(page, lambda: asked.count() == 1 and page.locator(".french .word").count() > 0)
    words = page.locator(".french .word").all_text_contents()
    assert asked.text_content() in [f"Which heads decide {word}?" for word in words]


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
