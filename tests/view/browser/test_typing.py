"""The Read view while a sentence is typed: what is chosen and shaded stays with its words."""

from typing import Any

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
DELICIOUS = "A dog ate the food because it was delicious"
BESIDE_THE_WORDS = {"x": 1000, "y": 20}  # of the field, at a width of 1280


def shaded(page: Any) -> list[str]:
    return page.locator(".english .shaded").all_text_contents()


def shaded_by(sentence: str, layer: int, head: int, query: int) -> list[str]:
    reading = read(sentence)
    row = reading.weights(layer=layer, head=head)[query]
    words = [word for word, weight in zip(reading.words, row, strict=True) if weight >= 0.005]
    return [word for word in words if word != "(end)"]


def retype_the_last_word(page: Any, word: str) -> None:
    page.locator("#sentence").click(position=BESIDE_THE_WORDS)
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+Shift+ArrowLeft")
    page.keyboard.type(word)


def test_the_chosen_word_stays_chosen_when_another_is_typed(page, open_read, until):
    open_read(page, layer=1, head=1, q=6)
    retype_the_last_word(page, "delicious")
    until(page, lambda: page.text_content(".statement").startswith("it looks at"))
    until(page, lambda: shaded(page) == shaded_by(DELICIOUS, 1, 1, 6))
    assert "q=6" in page.url


def test_the_second_of_two_like_words_stays_the_second(page, open_read, until):
    open_read(page, sentence="The dog saw the cat", layer=1, head=1, q=3)
    page.locator("#sentence").click(position=BESIDE_THE_WORDS)
    page.keyboard.press("Control+Home")
    page.keyboard.type("Today ")
    until(page, lambda: "q=4" in page.url)
    pressed = page.locator(".side.asks [aria-pressed=true], .asks [aria-pressed]")
    until(page, lambda: pressed.all_text_contents() == ["the"])


def test_a_word_that_is_typed_over_is_chosen_no_more(page, open_read, until):
    open_read(page, layer=1, head=1, q=8)
    retype_the_last_word(page, "delicious")
    until(page, lambda: page.text_content(".statement").startswith("The strongest link"))
    assert "q=" not in page.url
    assert shaded(page) == []


def test_an_offered_sentence_is_shown_at_its_own_word(page, open_read, until):
    """Even when it is clicked before the words typed last were read."""
    open_read(page, layer=1, head=1, q=6)
    retype_the_last_word(page, "delicious")
    page.locator(".offers button", has_text="it was hungry").click()
    highlight = read(SENTENCE).highlight()
    until(page, lambda: page.text_content(".statement") == f"{highlight.sentence}.")
    assert "q=" not in page.url


def test_a_click_beside_the_words_chooses_none(page, open_read):
    open_read(page)
    before = page.url
    page.locator("#sentence").click(position=BESIDE_THE_WORDS)
    assert page.url == before
    page.locator("#sentence").click(position={"x": 60, "y": 20})  # dog
    assert "q=1" in page.url


def test_shades_stay_while_the_whole_reading_comes(page, open_read, until):
    """The English side is there first; the words of the line are not made anew after it."""
    open_read(page)
    page.evaluate("""() => {
      globalThis.unshaded = 0;
      const line = document.querySelector(".english");
      const look = () => {
        const isThere = line.textContent.endsWith("delicious");
        const isShaded = line.querySelector(".shaded");
        if (isThere && isShaded) globalThis.wasShaded = true;
        if (isThere && globalThis.wasShaded && !isShaded) globalThis.unshaded += 1;
      };
      const all = { childList: true, subtree: true, attributes: true };
      new MutationObserver(look).observe(line, all);
    }""")
    retype_the_last_word(page, "delicious")
    page.wait_for_selector(".translation:not(.waiting) .french button")
    until(page, "globalThis.wasShaded")
    page.wait_for_load_state("networkidle")
    assert page.evaluate("globalThis.unshaded") == 0


def test_a_head_that_was_only_pointed_at_does_not_come_late(new_page, open_read, until):
    """Its weights may arrive after the pointer has left: the chosen head stays."""
    page = new_page(alone=True)  # its clock is that of all pages of its profile
    page.clock.install()
    open_read(page)
    title = page.text_content(".main .title")
    waiting = []

    def hold(route: Any) -> None:
        waiting.append(route)

    page.route("**/weights*", hold)
    page.locator('.part[aria-label="encoder"] .layer button').nth(1).hover()
    until(page, lambda: bool(waiting))
    page.mouse.move(2, 2)
    page.clock.fast_forward(1000)  # a pointer may come back for a moment: that is over
    with page.expect_response("**/weights*"):
        waiting[0].continue_()
    page.wait_for_load_state("networkidle")
    assert page.text_content(".main .title") == title
