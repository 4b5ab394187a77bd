"""The Read view in Chromium: what is drawn and said is what was computed."""

from itertools import product
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from tests.helpers.pronoun_head import HEAD, LAYER

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
GRID = """async ([sentence, choice, options]) => {
  const [{ servedSource }, { buildGrid }] =
    await Promise.all(["/lib/api.js", "/read/weights.js"].map((name) => import(name)));
  const source = await servedSource();
  const reading = await source.reading(sentence);
  const part = reading.parts.find((one) => one.name === choice.part);
  const grid = buildGrid(await source.weights(reading, choice), part, options);
  return { ...grid, weights: [...grid.weights], rest: null };
}"""


def told(page: Any) -> str:
    return page.text_content(".statement")


def test_a_sentence_its_translation_the_highlight_and_every_head(page, open_read):
    open_read(page)
    reading = read(SENTENCE)
    assert told(page) == f"{reading.highlight().sentence}."
    french = page.locator(".french").text_content()
    assert french == reading.translation
    link = reading.highlight().link
    assert page.text_content(".main .title").startswith(
        f"encoder: layer {link.layer}, head {link.head}"
    )
    pressed = page.locator(".side [aria-pressed]").all_text_contents()
    assert pressed == [link.query_word]
    for name in ("encoder", "decoder", "cross"):
        part = page.locator(f'.part[aria-label="{name}"]')
        assert part.locator(".layer button").count() == 48
        role = reading.model.roles.heads(name)[2, 1].name
        assert part.get_by_label(f"{name}, layer 2, head 1: {role}").count() == 1


def test_grids_are_the_readings_weights(page):
    sentence = "The unbelievable grasshoppers jumped."
    reading = read(sentence)
    assert len(reading.tokens) > len(reading.words)
    page.goto("/#learn")
    for part, by in product(("encoder", "decoder", "cross"), ("words", "tokens")):
        choice = {"part": part, "show": "head", "layer": 1, "head": 4}
        grid = page.evaluate(GRID, [sentence, choice, {"by": by, "hide": False}])
        true = reading.weights(part=part, layer=1, head=4, by=by)
        assert grid["queries"] == list(reading.texts(part)[0].names(by))
        # Sent as float32; sums of a few of them are sure to some units of its last place.
        npt.assert_allclose(np.reshape(grid["weights"], true.shape), true, atol=4e-7)


def test_without_the_end_rows_sum_to_one_again_and_it_is_said(page, until, open_read):
    open_read(page)
    choice = {"part": "encoder", "show": "head", "layer": LAYER, "head": HEAD}
    grid = page.evaluate(GRID, [SENTENCE, choice, {"by": "words", "hide": True}])
    true = read(SENTENCE).weights(layer=LAYER, head=HEAD)[:-1, :-1]
    true = true / true.sum(axis=1, keepdims=True)
    npt.assert_allclose(np.reshape(grid["weights"], true.shape), true, atol=1e-6)
    page.get_by_label("Hide (end)").check()
    until(page, "document.querySelectorAll('.asks li').length === 9")
    assert "(end)" not in page.locator(".side").all_text_contents()[0]
    gone = 100 * read(SENTENCE).weights(layer=LAYER, head=HEAD)[:-1, -1].mean()
    assert page.locator(".notes p").first.text_content() == (
        "Without (end) the weights of each row are divided by their sum, so that they add up to "
        f"100 % again; it had {gone:.0f} % of a row on average."
    )


def test_averages_and_rollout_say_what_they_are(page, until, open_read):
    open_read(page)
    for show, title, said in (
        ("layer average", f"encoder: the average of layer {LAYER}", "An average shows"),
        ("all averaged", "encoder: the average of all layers", "An average shows"),
        ("rolled out", "encoder: all layers followed down to the words", "Rolled out"),
    ):
        page.get_by_role("button", name=show).click()
        starts = "title => document.querySelector('.title').textContent.startsWith(title)"
        until(page, starts, title)
        assert page.locator(".notes p").first.text_content().startswith(said)


def test_lines_are_where_the_weights_are_and_a_table_stands_behind(page, until, open_read):
    open_read(page)
    compare_lines(page, until)
    page.get_by_text("As a table").click()
    rows = page.locator(".as-table tbody tr")
    rows.first.wait_for()
    found = np.array(rows.evaluate_all(
        "rows => rows.map((row) => [...row.querySelectorAll('td')].map((x) => x.textContent))"
    ))  # fmt: skip
    true = 100 * read(SENTENCE).weights(layer=LAYER, head=HEAD)
    small = found == "< 0.1"
    assert found.shape == true.shape
    assert small.any()
    assert ((true[small] > 0) & (true[small] < 0.05 + 1e-4)).all()
    shown = found[~small].astype(float)
    npt.assert_allclose(shown, true[~small], atol=0.05 + 1e-4)  # shown to one decimal


def test_a_threshold_hides_small_weights(page, until, open_read):
    open_read(page, q="-")
    full = page.evaluate("document.querySelector('.threads').toDataURL()")
    page.get_by_label("Threshold").fill("50")
    until(page, "location.hash.includes('least=50')")
    until(page, "full => document.querySelector('.threads').toDataURL() !== full", full)
    assert page.text_content(".least") == "50 %"


def compare_lines(page: Any, until: Any) -> None:
    """The pixels between the sides: a thick line from it to dog, hardly one from it to (end)."""
    until(page, "document.querySelector('.threads').width > 0")
    ends = page.evaluate("""() => {
      const canvas = document.querySelector(".threads");
      const ratio = canvas.width / canvas.clientWidth;
      const style = getComputedStyle(document.querySelector(".lines"));
      const side = parseFloat(style.getPropertyValue("--side"));
      const x = Math.round((canvas.clientWidth - side - 14) * ratio);
      const step = canvas.height / document.querySelectorAll(".answers li").length;
      const { data } = canvas.getContext("2d").getImageData(x, 0, 1, canvas.height);
      const alpha = data.filter((_, at) => at % 4 === 3);
      const drawn = (place) => alpha.slice(Math.round(place * step), Math.round((place + 1) * step))
        .reduce((sum, one) => sum + one / 255, 0);
      return [...document.querySelectorAll(".answers li")].map((_, place) => drawn(place));
    }""")  # fmt: skip
    weights_k = read(SENTENCE).weights(layer=LAYER, head=HEAD)[6]
    assert int(np.argmax(ends)) == int(weights_k.argmax())
    assert ends[1] > 10
    assert ends[-1] < 1


def test_a_sentence_that_cannot_be_read_is_a_sentence(page, noticed):
    noticed.expect("400")
    page.goto("/#read?sentence=" + "dog+" * 900)
    page.wait_for_selector(".scene-note .problem")
    assert page.text_content(".scene-note .problem").startswith(
        "a sentence must have at most 256 tokens"
    )


WRONG = ("layer=99&head=-3", "part=nowhere", "show=nothing&by=letters&as=smoke", "least=-5",
         "q=900-1000&k=a.b", "q=0-999999999")  # fmt: skip


@pytest.mark.parametrize(
    "states",
    [("&".join(WRONG[:5]), WRONG[5]), pytest.param(WRONG, marks=pytest.mark.nightly)],
    ids=["together", "alone"],
)
def test_an_address_that_is_wrong_does_no_harm(page, states):
    for state in states:
        page.goto("about:blank")
        page.goto(f"/#read?more=yes&{state}")
        page.wait_for_selector(".statement:not(:empty)")
        page.wait_for_selector(".picture canvas")


def test_light_and_dark_by_the_switch(page, open_read):
    open_read(page)
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_label("Switch between light and dark").click()
    assert page.evaluate(paper) != light
    page.reload()
    page.wait_for_selector(".statement:not(:empty)")
    assert page.evaluate(paper) != light


@pytest.mark.parametrize(
    ("address", "told"),
    [("layer=77", "There is no layer 77 (0 to 5)."),
     ("part=across&head=99",
      "There is no part across (encoder, decoder, cross). There is no head 99 (0 to 7).")],
)  # fmt: skip
def test_what_an_address_names_and_is_not_there_is_said(page, until, address, told):
    page.goto(f"/#read?{address}")
    page.locator(".scene-note .problem").wait_for()
    assert page.text_content(".scene-note .problem") == told
    assert not set(address.split("&")) & set(page.url.partition("?")[2].split("&"))
    page.locator(".mark-slider").focus()  # another head: what was said is over
    page.keyboard.press("Home")
    page.locator(".scene-note .problem").wait_for(state="detached")


def test_two_sentences_side_by_side_line_up_and_the_french_is_compared(new_page, open_read):
    page = new_page(width=1440, height=900)
    other = SENTENCE.replace("hungry", "delicious")
    open_read(page, beside=f"sentence.{other}")
    page.locator(".french-beside mark").first.wait_for()
    tops = [
        page.locator(f"{x} [data-side=query]").first.bounding_box()["y"]
        for x in (".picture", ".beside")
    ]
    assert tops[0] == pytest.approx(tops[1], abs=1)
    one, two = read(SENTENCE), read(other)
    assert page.text_content(".french-beside") == two.translation
    changed = [x for x in two.translation_words if x not in one.translation_words]
    assert page.locator(".french-beside mark").all_text_contents() == changed
