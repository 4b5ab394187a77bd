"""Choosing words and heads in the Read view: by mouse, by keyboard, and by typing."""

from typing import Any

from tests.helpers.pronoun_head import HEAD, HEAD_NAME, LAYER

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"


def told(page: Any) -> str:
    return page.text_content(".statement")


def test_a_hover_isolates_and_a_click_pins(page, until, open_read, word):
    open_read(page)
    weights_k = read(SENTENCE).weights(layer=LAYER, head=HEAD)[8]
    word(page, "query", 8).hover()
    best = int(weights_k.argmax())
    said = f"hungry looks at {read(SENTENCE).words[best]} {100 * weights_k[best]:.0f} %"
    until(page, "said => document.querySelector('.statement').textContent.startsWith(said)",
                           said)  # fmt: skip
    page.mouse.move(5, 5)
    until(page, "document.querySelector('.statement').textContent.startsWith('it looks')")
    word(page, "query", 8).click()
    page.mouse.move(5, 5)
    until(page, "location.hash.includes('q=8')")
    assert told(page).startswith(said)
    word(page, "query", 8).click()  # and off again
    page.mouse.move(5, 5)
    until(page, "location.hash.includes('q=-')")
    assert told(page).startswith(f"The strongest link of {HEAD_NAME}")


def test_several_words_add_up(page, until, open_read, word):
    open_read(page)
    weights_qk = read(SENTENCE).weights(layer=LAYER, head=HEAD)
    word(page, "query", 6).click()
    word(page, "query", 8).click(modifiers=["Shift"])
    until(page, "location.hash.includes('q=6-8')")
    word(page, "key", 1).click(modifiers=["Control"])
    page.mouse.move(5, 5)
    until(page, "location.hash.includes('k=1')")
    share = weights_qk[6:9, 1].sum() / 3
    until(page, "document.querySelector('.statement').textContent.includes('give')")
    assert told(page) == (
        f"it, was and hungry give {100 * share:.0f} % of their attention to dog in {HEAD_NAME}."
    )


def test_a_span_by_dragging_on_the_side_of_the_keys(page, until, open_read, word):
    open_read(page)
    word(page, "key", 1).hover()
    page.mouse.down()
    word(page, "key", 2).hover()
    word(page, "key", 4).hover()
    page.mouse.up()
    page.mouse.move(5, 5)
    until(page, "location.hash.includes('k=1-4')")
    assert page.locator(".answers [aria-pressed]").all_text_contents() == [
        "dog", "ate", "the", "food",
    ]  # fmt: skip


def test_words_by_keyboard(page, until, open_read, word):
    open_read(page, q="-")
    word(page, "query", 0).focus()
    for _ in range(6):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, "location.hash.includes('q=6')")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.side") == "key"
    page.keyboard.press("Escape")
    until(page, "location.hash.includes('q=-')")


def test_heads_by_keyboard_and_going_back(page, until, open_read):
    open_read(page)
    page.get_by_label("encoder, layer 0, head 0:").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    until(page, "location.hash.includes('layer=1&head=1')")
    until(
        page, "document.querySelector('.title').textContent.startsWith('encoder: layer 1, head 1')"
    )
    page.go_back()
    starts = "title => document.querySelector('.title').textContent.startsWith(title)"
    until(page, starts, f"encoder: {HEAD_NAME}")


def test_french_words_lead_to_the_english(page, open_read):
    open_read(page)
    alignment = read(SENTENCE).alignment
    chien = alignment.words.index("chien")
    page.locator(f'.french [data-position="{chien}"]').hover()
    lit = page.locator(".english .lit").all_text_contents()
    assert lit == [alignment.sources[k] for k in sorted(alignment.source_columns(chien))]
    assert page.locator(".link-line").count() == len(lit)
    assert page.text_content(".scene-note").startswith("chien came from dog")
    # What cannot be pressed is no stop of the keyboard.
    assert page.locator(".french button, .french [tabindex]").count() == 0


def test_typing_reads_as_one_types(page, until, open_read):
    open_read(page)
    field = page.get_by_label("Type any English sentence")
    field.fill("The cat sat on the mat.")
    until(page, "location.hash.includes('The+cat+sat')")
    page.wait_for_selector(".french:not(.waiting) .word")
    until(page, "document.querySelectorAll('.asks li').length === 8")
    assert page.locator(".french").text_content() == read("The cat sat on the mat.").translation


def test_the_heatmap_by_keyboard(page, until, open_read):
    open_read(page, **{"as": "map", "q": "-"})
    page.focus(".heat")
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    weights_qk = read(SENTENCE).weights(layer=LAYER, head=HEAD)
    share = f"{100 * weights_qk[1, 1]:.0f} %" if weights_qk[1, 1] >= 0.005 else "< 1 %"
    said = f"dog gives {share} of its attention to dog in {HEAD_NAME}."
    until(page, "said => document.querySelector('.statement').textContent === said", said)
    assert page.get_attribute(".heat", "aria-label") == said


def test_a_paste_of_ten_megabytes_is_refused_politely(page, open_read):
    open_read(page)
    page.get_by_label("Type any English sentence").focus()
    page.keyboard.insert_text("dog " * 2_500_000)
    page.wait_for_selector(".scene-note .problem")
    assert page.text_content(".scene-note .problem") == (
        "A sentence needs at most 256 tokens, but this text has 10,000,000 characters: give its "
        "sentences one at a time, or watch a model read it and open the file: regard open "
        "FILE.regard."
    )
    assert told(page).startswith("it looks at dog")
