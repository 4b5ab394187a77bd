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


LONG_READING = """async ({ tokens: n, kept }) => {
  const [{ showRead }, { createState }] =
    await Promise.all(["/read/read.js", "/lib/state.js"].map((name) => import(name)));
  const tokens = Array.from({ length: n }, (_, at) => `t${at}`);
  const side = { language: "", tokens, words: tokens, word_of_token: tokens.map((_, at) => at) };
  const part = { name: "self", title: "self", about: "", layers: 12, heads: 12, causal: false,
    steps: false, query: side, key: side, roles: null, ways: ["head"], thumbnail: [2, 2] };
  const keys = new Uint16Array(n * kept), weights = new Float32Array(n * kept);
  for (let q = 0; q < n; q++) for (let at = 0; at < kept; at++) {
    keys[q * kept + at] = (q + at) % n;
    weights[q * kept + at] = 0.5 ** (at + 1);
  }
  const table = { rows: n, columns: n, keys, weights, rest: new Float32Array(n).fill(0.5 ** kept),
    starts: Uint32Array.from({ length: n + 1 }, (_, q) => q * kept) };
  const source = { views: ["read"], live: false, page: {},
    reading: async () => ({ sentence: "x", translation: "", quick: false, parts: [part],
      alignment: null, highlight: null, notes: [], caution: "" }),
    weights: async () => table,
    thumbnails: async () => ({ rows: 2, columns: 2, weights: new Float32Array(144 * 4) }) };
  const root = document.createElement("div");
  document.getElementById("view").replaceChildren(root);
  await showRead(root, createState(() => {}), source);
}"""


def test_a_model_of_twelve_by_twelve_heads_and_512_tokens(page, until, word):
    """Any source of the same shape will do: here one that holds each row's largest weights."""
    page.goto("/#learn")
    page.wait_for_selector("#views a")
    page.evaluate(LONG_READING, {"tokens": 512, "kept": 4})
    page.wait_for_selector(".side li:nth-child(512)", state="attached")
    assert page.locator(".layer button").count() == 144
    assert page.locator(".french").is_hidden()
    word(page, "query", 3).hover()
    until(page, "document.querySelector('.statement').textContent.startsWith('t3 looks')")
    assert told(page) == "t3 looks at t3 50 % in layer 0, head 0; at t4 25 %, at t5 13 %."
    assert page.locator(".notes").text_content() == (
        "Each word's largest weights are held one by one; the others have 6 % of a row together "
        "and are not drawn."
    )
    page.get_by_text("As a table").click()
    page.wait_for_selector(".as-table tbody tr:nth-child(512)", state="attached")
