"""The Look view while a sentence is typed: what is chosen stays with its words."""

from typing import Any

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
DELICIOUS = "A dog ate the food because it was delicious"


def asking(page: Any) -> list[str]:
    return page.locator(".english .asking").all_text_contents()


def test_the_chosen_word_stays_chosen_when_another_is_typed(page, open_read, until):
    open_read(page, layer=1, head=1, q=6)
    page.locator("#sentence").fill(DELICIOUS)
    page.locator(".arcs text").first.wait_for()
    until(page, lambda: asking(page) == ["it"] and "q=6" in page.url)
    row = read(DELICIOUS).weights(layer=1, head=1)[6]
    page.locator(".arcs text", has_text=f"{100 * row.max():.0f} %").first.wait_for()


def test_the_second_of_two_like_words_stays_the_second(page, open_read, until):
    open_read(page, sentence="The dog saw the cat", layer=1, head=1, q=3)
    page.locator("#sentence").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.type("Today ")
    until(page, lambda: "q=4" in page.url)
    until(page, lambda: asking(page) == ["the"])
    assert page.locator(".english .asking").get_attribute("data-position") == "4"


def test_a_word_that_is_typed_over_is_chosen_no_more(page, open_read, until):
    """The page then shows the word that it would have shown first."""
    open_read(page, layer=1, head=1, q=8)
    page.locator("#sentence").fill(DELICIOUS)
    until(page, lambda: "delicious" in page.url and asking(page) == ["it"])
    assert "q=" not in page.url


def test_another_example_is_shown_at_its_own_word(page, open_read, until):
    """Even when it is asked for before the words typed last were read."""
    open_read(page, layer=1, head=1, q=6)
    page.locator("#sentence").fill(DELICIOUS)
    page.locator(".own-sentence button").click()
    until(page, lambda: "Another one" in page.text_content(".own-sentence") and "fit" in page.url)
    sentence = "The trophy does not fit in the suitcase because it is too big"
    highlight = read(sentence).highlight()
    told = "document.querySelector('#announcement').textContent"
    until(page, f"said => {told} === said", f"{highlight.sentence}.")
    assert "q=" not in page.url


def test_a_click_in_the_field_chooses_no_word(page, open_read):
    open_read(page, sentence=f"{SENTENCE}.")
    before = page.url
    page.locator("#sentence").click(position={"x": 60, "y": 20})
    assert page.url == before
    assert asking(page) == ["it"]


def test_words_stay_while_the_whole_reading_comes(page, open_read, until):
    """The English side is there first; the words of the scene are not made anew after it."""
    open_read(page)
    page.evaluate("""() => {
      globalThis.made = 0;
      const look = () => { globalThis.made += 1; };
      const line = document.querySelector(".sentence-stage .english");
      new MutationObserver(look).observe(line, { childList: true });
    }""")
    page.get_by_role("button", name="delicious").click()
    page.locator(".french:not(.waiting)", has_text="elle").wait_for()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("globalThis.made") == 1
