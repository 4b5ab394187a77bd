"""The first scene: one question, one picture, few controls, and nothing that moves by itself."""

from typing import Any

import pytest
from tests.helpers.pronoun_head import HEAD, LAYER

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
DELICIOUS = "A dog ate the food because it was delicious"
SIZES = ((1440, 900), (1024, 768), (390, 844))
# In sight: the link that skips to the view shows itself to the keyboard alone.
CONTROLS = """() => [...document.querySelectorAll(
    "a:not(.skip), button, input, select, textarea, summary, [tabindex='0']")]
  .filter((one) => one.checkVisibility() ).length"""
# What is drawn of the picture: from the highest line to the French, in pixels of the window.
PICTURE = """() => {
  const boxes = [...document.querySelectorAll(".arcs > *, .english .word, .switch, .french .word")]
    .map((one) => one.getBoundingClientRect());
  return [Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom)),
    Math.min(...boxes.map((box) => box.left)), Math.max(...boxes.map((box) => box.right))];
}"""
SHIFTS = """() => {
  globalThis.shifted = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) globalThis.shifted += one.value;
  }).observe({ type: "layout-shift", buffered: true });
}"""


def open_first(page: Any) -> None:
    page.goto("/")
    page.wait_for_selector(".french .word")
    page.wait_for_selector(".arcs text")
    page.wait_for_load_state("networkidle")


def told_colour(page: Any, selector: str) -> str:
    return page.locator(selector).evaluate("one => getComputedStyle(one).color")


def test_few_controls_the_whole_picture_and_nothing_moves(new_page):
    """At three sizes, from the first paint to the French."""
    for width, height in SIZES:
        page = new_page(width=width, height=height)
        page.add_init_script(f"({SHIFTS})()")
        open_first(page)
        case = f"{width} x {height}"
        assert page.evaluate(CONTROLS) <= 25, case
        top, bottom, left, right = page.evaluate(PICTURE)
        assert top >= 0, case
        assert bottom <= height, case
        assert left >= 0, case
        assert right <= width, case
        assert page.evaluate("globalThis.shifted") < 0.01, case


def test_the_line_swings_with_the_ending_and_the_french_follows(page):
    open_first(page)
    for sentence in (SENTENCE, DELICIOUS):
        reading = read(sentence)
        link = reading.highlight().link
        ending = sentence.split()[-1]
        page.get_by_role("button", name=ending).click()
        page.locator(".french:not(.waiting)", has_text=reading.translation_words[-1]).wait_for()
        share = reading.weights(layer=LAYER, head=HEAD)[link.query, link.key]
        colour = "one" if link.key_word == "dog" else "two"
        label = page.locator(f".arcs text.{colour}")
        label.wait_for()
        assert label.text_content() == f"{100 * share:.0f} %"
        assert page.locator(".arc").first.get_attribute("class") == f"arc {colour}"
        assert page.locator(".french").text_content().endswith(reading.translation)
        # it, the line, and what it became in French have the colour of the noun.
        pronoun = reading.translation_words[reading.alignment.words.index("il" if "dog" in
                                            link.key_word else "elle")]  # fmt: skip
        word = page.locator(f".french .word.{colour}", has_text=pronoun)
        assert told_colour(page, ".english .asking") == word.last.evaluate(
            "one => getComputedStyle(one).color"
        )


def test_a_word_struck_out_and_a_line_dragged_to_another(page):
    open_first(page)
    reading = read(SENTENCE)
    page.locator("button.word", has_text="dog").click()
    page.locator(".english .struck").wait_for()
    page.locator(".former s").first.wait_for()
    covered = reading.knock_out(1)
    assert page.locator(".french").text_content().endswith(covered.after.translation)
    changed = page.locator(".french .changed").all_text_contents()
    assert changed == [covered.after.translation_words[i] for i in covered.differing[1]]
    former = page.locator(".former s").all_text_contents()
    assert former == [covered.before.translation_words[i] for i in covered.differing[0]]
    page.locator("button.word", has_text="dog").click()  # and back
    page.locator(".english .struck").wait_for(state="detached")
    assert "changes" not in page.url
    page.locator(".arcs text.one").wait_for()
    foot = page.locator(".foot").bounding_box()
    food = page.locator("button.word", has_text="food").bounding_box()
    page.mouse.move(foot["x"] + foot["width"] / 2, foot["y"] + foot["height"] / 2)
    page.mouse.down()
    page.mouse.move(food["x"] + food["width"] / 2, food["y"] + 5, steps=4)
    page.locator(".english .aimed", has_text="food").wait_for()
    page.mouse.up()
    page.locator(".former s").first.wait_for()
    assert f"changes=redirect.6.4.encoder.{LAYER}.{HEAD}" in page.url
    redirected = reading.redirect(6, 4, LAYER, HEAD)
    assert page.locator(".french").text_content().endswith(redirected.after.translation)
    # Both are in the list of what was tried, and a click brings one back.
    assert page.locator(".tried > ul > li").count() == 2
    page.locator(".tried button", has_text="Show").click()
    page.locator(".english .struck").wait_for()
    assert "changes=knock_out.1" in page.url


@pytest.mark.parametrize("ends", ["by itself", "at any input"])
def test_it_plays_once_on_a_first_visit(new_page, until, ends):
    page = new_page(alone=True)
    page.emulate_media(reduced_motion="no-preference")
    page.clock.install()
    page.goto("/")
    page.wait_for_selector(".sentence-stage")
    if ends == "at any input":
        page.keyboard.press("Shift")
        page.clock.run_for(10_000)
        assert "delicious" not in page.url
        return
    until(page, lambda: page.clock.run_for(100) or "delicious" in page.url)
    until(page, lambda: page.clock.run_for(100) or page.url.endswith("hungry"))
    page.reload()
    page.wait_for_selector(".french .word")
    page.goto("/")
    page.wait_for_selector(".french .word")
    page.clock.run_for(10_000)
    assert page.url.endswith("/")


def test_with_calm_it_does_not_play(new_page):
    page = new_page(alone=True)
    page.clock.install()
    page.goto("/")
    page.wait_for_selector(".french .word")
    page.clock.run_for(10_000)
    assert "sentence" not in page.url


def test_each_example_flips_and_a_wrong_head_is_said(page, until):
    """The nouns that two endings mean, as the page has them, against the model."""
    page.goto("/#learn")
    examples = page.evaluate("""async () => (await import("/read/examples.js")).EXAMPLES""")
    wrong = []
    for example in examples:
        for ending, meant in zip(example["endings"], example["meant"], strict=True):
            sentence = f"{example['start']} {ending}"
            if read(sentence).highlight().link.key_word != meant:
                wrong.append(sentence)
    assert len(examples) >= 6
    assert len(wrong) == 1
    page.goto(f"/#read?sentence={wrong[0].replace(' ', '+')}")
    page.locator(".scene-note", has_text="This head is wrong here").wait_for()


def test_where_a_head_is_sure_or_in_doubt_the_page_says_so(page):
    for sentence, doubt in (
        (SENTENCE, "sure"),
        ("The cat saw the mouse. It was slow.", "in doubt"),
    ):
        highlight = read(sentence).highlight()
        assert highlight.doubt == doubt
        page.goto(f"/#read?sentence={sentence.replace(' ', '+')}")
        page.locator(".scene-note .doubt", has_text=doubt).wait_for()
        assert page.text_content(".scene-note .accuracy") == highlight.accuracy
    # Of a word or a head that no one counted, nothing is told but what is in the picture.
    page.goto("/#read?sentence=The+cat+saw+the+mouse.+It+was+slow.&q=1")
    page.locator(".asking", has_text="cat").wait_for()
    page.locator(".scene-note .accuracy").wait_for(state="detached")
