"""Questions of the Read view: why a weight is what it is, and what if something were changed."""

from typing import Any
from urllib.parse import parse_qs, urlparse

import numpy as np
import numpy.testing as npt

from regard.display import percent
from regard.transformer.model import Transformer
from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"


def link_of(reading: Any) -> Any:
    return reading.highlight().link


def test_all_numbers_are_the_true_sum(page, open_read, until):
    open_read(page, why="scores")
    reading = read(SENTENCE)
    link = link_of(reading)
    query, key = (
        reading.texts("encoder")[0].word_of_token.index(x) for x in (link.query, link.key)
    )
    steps = reading.steps(link.layer, link.head)
    page.get_by_text("All numbers").click()
    page.locator(".softmax").wait_for()
    scores_qk, scaled_qk = (np.squeeze(getattr(steps, x)) for x in ("scores", "scaled"))
    shown = page.locator(".sum .total b").text_content()
    npt.assert_allclose(float(shown), scores_qk[query, key], atol=0.005 + 1e-6)
    rows = [
        row.locator("th, td").all_text_contents() for row in page.locator(".softmax tbody tr").all()
    ]
    assert rows[0][0] == reading.words[link.key]
    assert rows[0][-1] == f"{100 * link.weight:.0f} %"
    npt.assert_allclose(float(rows[0][2]), scaled_qk[query, key], atol=0.005 + 1e-6)
    assert len(rows) == len(reading.tokens) + 1  # and their sum
    assert not any("NaN" in cell for row in rows for cell in row)
    page.get_by_text("All 64 products").click()
    until(page, "document.querySelectorAll('.products span').length === 64")


def test_a_french_word_has_its_shares_under_the_english_ones(page):
    """Bars of a cross head, whose lines from the French would run through them."""
    head = "part=cross&layer=1&head=2&q=7"
    page.goto(f"/#read?sentence={SENTENCE.replace(' ', '+')}&{head}&why=weights")
    page.locator(".bars text").first.wait_for()
    row = read(SENTENCE).weights(1, 2, part="cross")[7]
    bars = page.locator(".bars rect").evaluate_all(
        "all => all.map((one) => ['x', 'height'].map((name) => Number(one.getAttribute(name))))"
    )
    heights = np.array([height for _, height in sorted(bars)])
    npt.assert_allclose(heights / heights.max(), row / row.max(), atol=2e-3)  # two decimals
    told = set(page.locator(".bars text").all_text_contents())
    assert percent(row.max()) in told
    assert told <= {percent(one) for one in row} | {""}
    assert page.locator(".arc").count() == 0


def test_because_opens_term_by_term(page, open_read):
    open_read(page, why="yes")
    reading = read(SENTENCE)
    link = link_of(reading)
    page.get_by_text("All numbers").click()
    page.locator(".because > summary").first.click()
    terms = page.locator(".because-terms > ul > li > .because > summary")
    terms.first.wait_for()
    true = reading.because(link.query, link.key, link.layer, link.head)
    first = true.terms[0]
    assert terms.first.text_content() == f"{first.value:+.3f}{first.query} × {first.key}".replace(
        "-", "−", 1 if first.value < 0 else 0
    )
    others = page.locator(".because-terms").first.text_content()
    assert f"the other {len(true.terms) - 12} terms" in others
    terms.first.click()
    page.locator(".because-terms .because-terms li").first.wait_for()
    assert "because=score~0" in page.url.replace("%7E", "~")
    inner = true.because(0)
    shown = page.locator(".because-terms .because-terms").first
    assert f"is the sum of {len(inner.terms)} terms" in shown.text_content()
    # An embedding is where a score begins: it has nothing to open.
    closed = [not x.opens() for x in inner.terms[:12]]
    assert shown.locator("li:not(.quiet) > .leaf").count() == sum(closed)
    page.reload()
    page.locator(".because-terms .because-terms li").first.wait_for()


def test_what_if_it_looked_elsewhere(page, open_read, until):
    open_read(page)
    reading = read(SENTENCE)
    link = link_of(reading)
    nouns = {reading.words.index(noun) for noun in ("dog", "food")}
    (rival,) = nouns - {link.key}
    button = page.locator(".questions button", has_text="Make")
    does = f"Make {reading.words[link.query]} look at {reading.words[rival]}"
    assert button.text_content() == f"{does}and watch the French"
    button.click()
    page.locator(".odds").wait_for()
    experiment = reading.redirect(link.query, rival, link.layer, link.head)
    marked = page.locator(".french .changed").all_text_contents()
    assert marked == [experiment.after.translation_words[i] for i in experiment.differing[1]]
    assert page.locator(".french").text_content() == experiment.after.translation
    assert page.locator(".former").text_content() == f"before: {reading.translation}"
    assert f"changes=redirect.{link.query}.{rival}.encoder.{link.layer}.{link.head}" in page.url
    page.reload()
    page.locator(".odds").wait_for()
    page.locator(".questions button", has_text="look freely").click()
    page.locator(".former s").first.wait_for(state="detached")
    assert page.locator(".french").text_content() == reading.translation
    assert page.locator(".tried li .outcome").all_text_contents() == [experiment.after.translation]
    page.go_back()
    page.locator(".odds").wait_for()


def test_a_word_covered_and_a_head_switched_off(page, open_read):
    open_read(page)
    reading = read(SENTENCE)
    link = link_of(reading)
    page.locator(".english button", has_text=reading.words[link.key]).click()
    page.locator(".odds").wait_for()
    page.locator(".questions button", has_text="Switch this head off").click()
    page.locator(".tried [aria-current] .changed li:nth-child(2)").wait_for()
    page.locator(".odds").wait_for()
    experiment = reading.knock_out(link.key).ablate(link.layer, link.head)
    phrases = page.locator(".tried [aria-current] .changed li").all_text_contents()
    assert [x.removesuffix("take it out") for x in phrases] == list(experiment.changed)
    assert page.locator(".french").text_content() == experiment.after.translation


def test_a_change_that_cannot_be_made_is_said(page, open_read, noticed):
    noticed.expect("400")
    page.goto("/#read?changes=redirect.6.40.encoder.3.6")
    page.locator(".scene-note .problem").wait_for()
    assert page.locator(".french").text_content() == read(SENTENCE).translation


def test_nothing_of_an_old_sentence_stays(page, open_read, noticed):
    noticed.expect("400")
    open_read(page)
    field = page.get_by_label("Type any English sentence")
    field.fill("A dog")
    field.fill("")
    page.locator(".tried").wait_for(state="hidden")
    assert page.locator(".french").text_content() == ""
    assert page.locator(".arcs > :not(.bars)").count() == 0
    assert field.get_attribute("placeholder").startswith("Type any English sentence")
    field.fill("dog " * 900)
    page.locator(".scene-note .problem").wait_for()
    field.fill(SENTENCE)
    page.locator(".french:not(.waiting) .word").first.wait_for()
    assert page.locator(".scene-note .problem").count() == 0
    # While another sentence is read, nothing of this one stands under it.
    held = []
    page.route("**/api/read", lambda route: held.append(route), times=1)
    page.get_by_role("button", name="Another one").click()
    assert page.locator(".french").inner_text() == "translating …"
    assert page.locator(".arcs > :not(.bars)").count() == 0
    while held:
        held.pop(0).continue_()
    page.unroute("**/api/read")
    page.locator(".head-said", has_text="looks at trophy").wait_for()


def test_the_rival_is_a_noun(page, open_read):
    """Not the adjective that stands before it."""
    open_read(page, sentence="The old woman gave the little boy a heavy key because he was tired.")
    asked = page.locator(".questions button", has_text="Make").text_content()
    assert asked.split("look at ")[1].removesuffix("and watch the French") in {
        "woman", "boy", "key",
    }  # fmt: skip


def test_the_effect_grid_has_the_effect_of_every_head(page, serve, noticed):
    model = Transformer.random(SENTENCE, layers=2, heads=3, width=48)
    reading = read(SENTENCE, model=model)
    address = serve(model=model)
    noticed.homes.append(address)
    page.goto(f"{address}/#read?q=6&part=encoder&layer=1&head=0")
    page.locator(".head-said button", has_text="Which heads decide").click()
    page.locator(".effects .numbers").wait_for(state="attached")
    number = int(parse_qs(urlparse(page.url).fragment.partition("?")[2])["effects"][0])
    made = reading.effects(number).to_dict()
    heading = page.locator(".effects h2").text_content()
    assert heading == f"Which heads decide {reading.translation_words[number]}?"
    for part, rows in made["effect"].items():
        for layer, effect_h in enumerate(rows):
            names = page.locator(f".effect-cells [aria-label^='{part}, layer {layer}, head']")
            shown = [x.get_attribute("aria-label") for x in names.all()]
            numbers = [float(x.split()[-2].replace("−", "-")) for x in shown]
            npt.assert_allclose(numbers, effect_h, atol=0.005 + 1e-5)
    page.locator("[aria-label^='cross, layer 1, head 2: effect']").click()
    page.locator(".odds").wait_for()
    assert "changes=ablate.cross.1.2" in page.url
    assert page.locator(".effect-cells [aria-current]").count() == 1
    page.locator(".head-said", has_text="Layer 1, head 2 (French looks at English)").wait_for()
    changed = page.locator(".tried [aria-current] .changed li").all_text_contents()
    assert changed == list(reading.ablate(1, 2, part="cross").changed)
    page.reload()
    page.locator(".effects .numbers").wait_for(state="attached")
