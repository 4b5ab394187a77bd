"""A sentence in Look and in the Map: what is drawn and said is what was computed."""

from itertools import product

import numpy as np
import numpy.testing as npt
import pytest
from tests.helpers.pronoun_head import HEAD, LAYER

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
TABLE = """async ([sentence, choice, by, fields]) => {
  const [{ servedSource }, { wordGrid }, { shapedWeights }] =
    await Promise.all(["/lib/api.js", "/read/weights.js", "/run/ways.js"].map((x) => import(x)));
  const source = await servedSource();
  const reading = await source.reading(sentence);
  const part = reading.parts.find((one) => one.name === choice.part);
  const table = await source.weights(reading, choice);
  const state = { get: (name, other = "") => fields[name] ?? other,
    number: (name, other) => Number(fields[name] ?? other) };
  if (by === "words") {
    const { queries, weights } = wordGrid(table, part);
    return { queries, weights: [...weights] };
  }
  const { weights, notes } = shapedWeights(table, part, state);
  return { queries: part.query.tokens, weights: [...weights], notes };
}"""


def test_a_sentence_its_translation_the_highlight_and_every_head(page, until, open_read):
    open_read(page)
    reading = read(SENTENCE)
    link = reading.highlight().link
    told = "document.querySelector('#announcement').textContent"
    until(page, f"said => {told} === said", f"{reading.highlight().sentence}.")
    assert page.locator(".french").text_content() == reading.translation
    role = reading.model.roles.heads("encoder")[link.layer, link.head].name
    assert page.text_content(".head-said").startswith(
        f"Layer {link.layer}, head {link.head} (English looks at English) usually {role}. "
        f"Here {link.query_word} looks at {link.key_word}."
    )
    page.get_by_role("button", name="Other heads").click()
    page.locator(".statement", has_text="it looks at dog").wait_for()
    for name in ("encoder", "decoder", "cross"):
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(".panel-title", has_text="48 heads").wait_for()
        every = page.get_by_role("button", name="Show all 48 heads")
        if every.is_visible():
            every.click()
        until(page, "document.querySelectorAll('.ranked button').length === 48")
        role = reading.model.roles.heads(name)[2, 1].described
        assert page.get_by_title(f"layer 2, head 1: {role}", exact=True).count() == 1


def test_grids_are_the_readings_weights(page):
    sentence = "The unbelievable grasshoppers jumped."
    reading = read(sentence)
    assert len(reading.tokens) > len(reading.words)
    page.goto("/#learn")
    for part, by in product(("encoder", "decoder", "cross"), ("words", "tokens")):
        choice = {"part": part, "show": "head", "layer": 1, "head": 4}
        grid = page.evaluate(TABLE, [sentence, choice, by, {}])
        true = reading.weights(part=part, layer=1, head=4, by=by)
        assert grid["queries"] == list(reading.texts(part)[0].names(by))
        # Sent as float32; sums of a few of them are sure to some units of its last place.
        npt.assert_allclose(np.reshape(grid["weights"], true.shape), true, atol=4e-7)


def test_without_the_end_rows_sum_to_one_again_and_it_is_said(page, open_map):
    open_map(page)
    choice = {"part": "encoder", "show": "head", "layer": LAYER, "head": HEAD}
    made = page.evaluate(TABLE, [SENTENCE, choice, "tokens", {"marks": "hidden"}])
    weights = np.reshape(made["weights"], (10, 10))
    true = read(SENTENCE).weights(layer=LAYER, head=HEAD, by="tokens")[:-1, :-1]
    npt.assert_allclose(weights[:-1, :-1], true / true.sum(axis=1, keepdims=True), atol=1e-6)
    assert not weights[-1].any()
    assert not weights[:, -1].any()
    page.get_by_text("Averages, threshold").click()
    page.get_by_label("Hide (end)").check()
    gone = 100 * read(SENTENCE).weights(layer=LAYER, head=HEAD, by="tokens")[:-1, -1].mean()
    page.locator(".map .notes p").first.wait_for()
    assert page.locator(".map .notes p").first.text_content() == (
        "Without (end) the weights of each row are divided by their sum, so that they add up to "
        f"100 % again; it had {gone:.0f} % of a row on average."
    )


def test_averages_and_rollout_say_what_they_are(page, open_map):
    open_map(page)
    page.get_by_text("Averages, threshold").click()
    for show, title, said in (
        ("layer average", f"The average of layer {LAYER}", "An average shows"),
        ("all averaged", "The average of all layers", "An average shows"),
        ("rolled out", "All layers followed down to the words", "Rolled out"),
    ):
        page.get_by_role("button", name=show).click()
        page.locator(".run-about", has_text=title).wait_for()
        page.locator(".map .notes", has_text=said).wait_for()
    page.get_by_role("button", name="one head").click()
    page.locator(".run-about", has_text=f"Layer {LAYER}, head {HEAD} usually").wait_for()


def test_lines_are_where_the_weights_are_and_a_table_stands_behind(page, open_read, open_map):
    """As thick as the weights, from the chosen word to the words it looks at."""
    open_read(page, q=8)
    row = read(SENTENCE).weights(layer=LAYER, head=HEAD)[8]
    page.locator(".arcs text").first.wait_for()
    arcs = page.locator(".arc").evaluate_all(
        "all => all.map((one) => Number(one.getAttribute('stroke-width')))"
    )
    drawn = sorted(1 + 11 * weight for weight in row if weight >= 0.005)
    npt.assert_allclose(sorted(arcs), drawn, atol=0.01 + 1e-3)  # written to two decimals
    open_map(page, row=8)
    page.get_by_text("As a table").click()
    rows = page.locator(".as-table tbody tr")
    rows.first.wait_for()
    found = rows.evaluate_all(
        "rows => rows.map((row) => [...row.children].map((x) => x.textContent))"
    )
    true = read(SENTENCE).weights(layer=LAYER, head=HEAD, by="tokens")
    order = np.argsort(-true, axis=None, kind="stable")[: len(found)]
    for (query, key, share), at in zip(found, order, strict=True):
        q, k = divmod(int(at), true.shape[1])
        assert (query.split()[0], key.split()[0]) == (str(q), str(k))
        assert abs(float(share.strip("< %")) - 100 * true[q, k]) <= 0.51


def test_a_threshold_hides_small_weights(page, until, open_map):
    open_map(page, row=8)
    row = read(SENTENCE).weights(layer=LAYER, head=HEAD, by="tokens")[8]
    listed = "document.querySelectorAll('.row-list li').length"
    assert page.evaluate(listed) > (row >= 0.3).sum()
    page.get_by_text("Averages, threshold").click()
    page.get_by_label("Threshold").fill("30")
    until(page, "location.hash.includes('least=30')")
    until(page, f"{listed} === {(row >= 0.3).sum()}")
    assert page.text_content(".least") == "30 %"
    # The others are hidden, which is not to say that the word saw no other.
    page.goto(page.url.replace("row=8", "row=6"))
    page.locator(".statement", has_text="it looks at dog").wait_for()


def test_a_sentence_that_cannot_be_read_is_a_sentence(page, noticed):
    noticed.expect("400")
    page.goto("/#read?sentence=" + "dog+" * 900)
    page.wait_for_selector(".scene-note .problem")
    assert page.text_content(".scene-note .problem").startswith(
        "a sentence must have at most 256 tokens"
    )


WRONG = ("layer=99&head=-3", "part=nowhere", "show=nothing&as=smoke", "least=-5&marks=none",
         "q=900-1000&also=a.b", "q=0-999999999&row=-7")  # fmt: skip


@pytest.mark.parametrize(
    "states",
    [("&".join(WRONG[:5]), WRONG[5]), pytest.param(WRONG, marks=pytest.mark.nightly)],
    ids=["together", "alone"],
)
def test_an_address_that_is_wrong_does_no_harm(page, states):
    for state in states:
        page.goto("about:blank")
        page.goto(f"/#read?{state}")
        page.wait_for_selector(".head-said:not(:empty)")
        page.goto("about:blank")
        page.goto(f"/#map?{state}")
        page.wait_for_selector(".row-list li")


def test_light_and_dark_by_the_switch(page, open_read):
    open_read(page)
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    page.get_by_label("Switch between light and dark").click()
    assert page.evaluate(paper) != light
    page.reload()
    page.wait_for_selector(".french .word")
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
    page.evaluate("location.hash += '&layer=0&head=0'")  # another head: what was said is over
    page.locator(".scene-note .problem").wait_for(state="detached")
