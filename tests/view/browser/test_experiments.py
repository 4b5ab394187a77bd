"""Questions of the Read view: why a weight is what it is, and what if something were changed."""

from typing import Any
from urllib.parse import parse_qs, urlparse

import numpy as np
import numpy.testing as npt

from regard.transformer.model import Transformer
from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"


def link_of(reading: Any) -> Any:
    return reading.highlight().link


def test_why_unfolds_the_true_sum(page, open_read, until):
    open_read(page)
    reading = read(SENTENCE)
    link = link_of(reading)
    query, key = (
        reading.texts("encoder")[0].word_of_token.index(x) for x in (link.query, link.key)
    )
    steps = reading.steps(link.layer, link.head)
    page.locator(".questions .primary").click()
    page.locator(".softmax").wait_for()
    assert "why=yes" in page.url
    assert page.text_content(".why-weight h2") == f"Why {100 * link.weight:.0f} %?"
    scores_qk, scaled_qk = (np.squeeze(getattr(steps, x)) for x in ("scores", "scaled"))
    shown = page.locator(".sum .total b").text_content()
    npt.assert_allclose(float(shown), scores_qk[query, key], atol=0.005 + 1e-6)
    divided = page.locator(".sum li:nth-child(2) b").text_content()
    npt.assert_allclose(float(divided), scaled_qk[query, key], atol=0.005 + 1e-6)
    rows = page.locator(".softmax tbody tr").all_text_contents()
    assert rows[0].startswith(reading.words[link.key])
    assert rows[0].endswith(f"{100 * link.weight:.0f} %")
    page.get_by_text("All 64 products").click()
    until(page, "document.querySelectorAll('.products span').length === 64")
    page.reload()
    page.locator(".softmax").wait_for()


def test_because_opens_term_by_term(page, open_read):
    open_read(page, why="yes")
    reading = read(SENTENCE)
    link = link_of(reading)
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
    until(page, "document.querySelector('.statement').textContent.includes('100 %')")
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
    page.locator(".columns").wait_for(state="hidden")
    assert page.locator(".french").text_content() == ""
    assert page.locator(".arcs > *").count() == 0
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
    page.locator(".columns").wait_for(state="hidden")
    assert page.locator(".french").text_content() == "translating …"
    assert page.locator(".arcs > *").count() == 0
    while held:
        held.pop(0).continue_()
    page.unroute("**/api/read")
    page.locator(".statement", has_text="trophy").wait_for()
    page.locator(".columns").wait_for(state="visible")


def test_one_grid_of_heads_at_a_time(page, open_read, until):
    open_read(page)
    assert page.locator(".part:visible").count() == 1
    page.get_by_role("tab", name="Cross").click()
    page.locator('.part[aria-label="cross"]').wait_for()
    page.locator('.part[aria-label="encoder"]').wait_for(state="hidden")
    assert "part=cross" in page.url  # the picture goes with the tab
    page.get_by_label("cross, layer 2, head 3").click()
    until(page, "location.hash.includes('layer=2&head=3')")
    page.go_back()
    page.go_back()
    page.locator('.part[aria-label="encoder"]').wait_for()


def test_on_a_phone_the_picture_stays_with_the_heads(new_page, open_read):
    page = new_page(width=390, height=844)
    open_read(page)
    page.get_by_label("encoder, layer 5, head 2").click()
    page.locator(".title", has_text="layer 5, head 2").wait_for()
    box = page.locator(".picture").bounding_box()
    assert box["y"] > -1
    assert box["y"] + box["height"] < 844


def test_a_word_dragged_onto_another_is_an_experiment(page, open_read, word):
    open_read(page)
    choice = link_of(read(SENTENCE))
    word(page, "query", 8).hover()
    page.mouse.down()
    word(page, "key", 2).hover()
    page.mouse.up()
    page.locator(".odds").wait_for()
    assert f"changes=redirect.8.2.encoder.{choice.layer}.{choice.head}" in page.url
    page.locator(".statement", has_text="hungry looks at ate").wait_for()


def test_the_rival_is_a_noun(page, open_read):
    """Not the adjective that stands before it."""
    open_read(page, sentence="The old woman gave the little boy a heavy key because he was tired.")
    asked = page.locator(".questions button", has_text="Make").text_content()
    assert asked.split("look at ")[1].removesuffix("and watch the French") in {
        "woman", "boy", "key",
    }  # fmt: skip


def test_two_sentences_side_by_side(page, open_read):
    open_read(page)
    other = page.get_by_label("Another sentence to compare with")
    other.fill(SENTENCE.replace("hungry", "delicious"))
    other.press("Enter")
    page.locator(".beside .answers li").first.wait_for()
    assert page.locator(".beside .differs").all_text_contents() == ["delicious"]
    assert "delicious" in page.text_content(".beside .title")
    assert "beside=sentence." in page.url
    page.reload()
    page.locator(".beside .answers li").first.wait_for()
    page.get_by_label("Compare with", exact=True).select_option("")
    page.locator(".beside").wait_for(state="hidden")


def test_two_heads_side_by_side(page, open_read):
    open_read(page, q="-")
    reading = read(SENTENCE)
    link = link_of(reading)
    page.get_by_label("Compare with", exact=True).select_option(index=1)
    page.get_by_label("encoder, layer 0, head 1:").click()
    page.locator(".first .title", has_text="layer 0, head 1").wait_for()
    beside = f"Beside it: encoder: layer {link.layer}, head {link.head}⇄ swap"
    page.locator(".difference", has_text="They differ most").wait_for()
    assert page.text_content(".beside .title") == beside
    one, other = (reading.weights(layer=x, head=y) for x, y in ((0, 1), (link.layer, link.head)))
    moved_q = np.abs(one - other).sum(1) / 2
    told = page.text_content(".difference")
    most = int(moved_q.argmax())
    assert told.startswith(
        f"They differ most at {reading.words[most]}, where {100 * moved_q[most]:.0f} % lies"
    )
    assert f"On average {100 * moved_q.mean():.0f} % of" in told
    marked = page.locator(".beside .asks .moves").all_text_contents()
    assert set(marked) == {(*reading.words, "(end)")[q] for q in np.argsort(-moved_q)[:3]}
    page.get_by_role("button", name="swap").click()
    page.locator(".first .title", has_text=f"layer {link.layer}, head {link.head}").wait_for()
    assert "beside=head.encoder.0.1" in page.url


def test_before_and_after_side_by_side(new_page, open_read, sideways):
    page = new_page(width=390, height=844)
    open_read(page, changes="knock_out.1", beside="before")
    page.locator(".beside .answers li").first.wait_for()
    assert page.text_content(".beside .title") == "Before the change"
    assert sideways(page) == 0


def test_the_effect_grid_has_the_effect_of_every_head(page, serve, noticed):
    model = Transformer.random(SENTENCE, layers=2, heads=3, width=48)
    reading = read(SENTENCE, model=model)
    address = serve(model=model)
    noticed.homes.append(address)
    page.goto(f"{address}/#read?q=6&part=encoder&layer=1&head=0&more=yes")
    page.locator(".questions button", has_text="Which heads decide").click()
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
    page.locator(".title", has_text="cross: layer 1, head 2").wait_for()
    changed = page.locator(".tried [aria-current] .changed li").all_text_contents()
    assert changed == list(reading.ablate(1, 2, part="cross").changed)
    page.reload()
    page.locator(".effects .numbers").wait_for(state="attached")
