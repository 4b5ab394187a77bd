"""Choosing words: by mouse, by keyboard, and by typing, in Look and in the Map."""

from tests.helpers.pronoun_head import HEAD, LAYER

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
SAID = "said => document.querySelector('#announcement').textContent.startsWith(said)"


def test_a_hover_shows_where_a_word_looks(page, open_read):
    open_read(page)
    page.locator(".english [data-position='7']").hover()
    page.locator(".english .asking", has_text="was").wait_for()
    weights_k = read(SENTENCE).weights(layer=LAYER, head=HEAD)[7]
    page.locator(".arcs text", has_text=f"{100 * weights_k.max():.0f} %").first.wait_for()
    page.mouse.move(5, 5)
    page.locator(".english .asking", has_text="it").wait_for()


def test_several_words_add_up(page, until, open_map):
    """Control and a click add a token: what is shown is the mean of their rows."""
    open_map(page, row=6)
    weights_qk = read(SENTENCE).weights(layer=LAYER, head=HEAD, by="tokens")
    for token in (7, 8):
        page.locator(f".t[data-t='{token}']").click(modifiers=["Control"])
    until(page, "location.hash.includes('also=7-8')")
    page.locator(".statement", has_text="look at").wait_for()
    mean_k = weights_qk[6:9].mean(axis=0)
    best = int(mean_k.argmax())
    assert page.text_content(".statement") == (
        f"it and was and hungry look at {read(SENTENCE).tokens[best]}, "
        f"{100 * mean_k[best]:.0f} % on average"
    )
    page.locator(".t[data-t='7']").click(modifiers=["Control"])  # and off again
    until(page, "location.hash.includes('also=8')")
    page.locator(".t[data-t='3']").click()
    until(page, "location.hash.includes('row=3') && !location.hash.includes('also')")


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
    until(page, "document.querySelectorAll('.english button.word').length === 6")
    assert page.locator(".french").text_content() == read("The cat sat on the mat.").translation


def test_a_paste_of_ten_megabytes_is_refused_politely(page, until, open_read):
    open_read(page)
    page.get_by_label("Type any English sentence").focus()
    page.keyboard.insert_text("dog " * 2_500_000)
    page.wait_for_selector(".scene-note .problem")
    assert page.text_content(".scene-note .problem") == (
        "A sentence needs at most 256 tokens, but this text has 10,000,000 characters: give its "
        "sentences one at a time, or watch a model read it and open the file: regard open "
        "FILE.regard."
    )
    until(page, SAID, "it looks at dog")
