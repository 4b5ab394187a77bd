"""A link that carries what it shows: nothing is lost on the way, and nothing else is let in."""

import numpy as np
import numpy.testing as npt
import pytest

from regard.transformer.reading import read

SENTENCE = "The cat saw the mouse. It was slow."
CARRIED = """async ([sentence, fields]) => {
  const [{ servedSource }, { carriedField, carriedReading }] =
    await Promise.all([import("/lib/api.js"), import("/lib/carried.js")]);
  const source = await servedSource();
  const all = { sentence, ...fields };
  const state = { view: "read", get: (name, other = "") => all[name] ?? other,
    number: (name, other) => Number(all[name] ?? other) };
  const field = await carriedField(state, source);
  const known = await source.reading("A dog ate the food because it was hungry");
  const reading = carriedReading(field, sentence, known);
  if (!reading) return { field, reading };
  const bytes = Uint8Array.from(atob(reading.first.weights), (one) => one.charCodeAt(0));
  return { field, reading, weights: [...new Float32Array(bytes.buffer)] };
}"""
CHANGED = """async ([sentence, change]) => {
  const [{ servedSource }, { carriedField, carriedReading }] =
    await Promise.all([import("/lib/api.js"), import("/lib/carried.js")]);
  const source = await servedSource();
  const state = { view: "read", get: (name, other = "") => ({ sentence })[name] ?? other,
    number: (name, other) => other };
  const field = await carriedField(state, source);
  const known = await source.reading("A dog ate the food because it was hungry");
  const plain = field.replace(/-/g, "+").replace(/_/g, "/");
  const bytes = Uint8Array.from(atob(plain), (one) => one.charCodeAt(0));
  const value = JSON.parse(new TextDecoder().decode(bytes));
  eval(change);
  const text = String.fromCharCode(...new TextEncoder().encode(JSON.stringify(value)));
  const made = btoa(text).replace(/\\+/g, "-").replace(/\\//g, "_").replace(/=/g, "");
  return carriedReading(made, sentence, known);
}"""
WRONG = (
    "value[0] = 7", "value[1].push('more')", "value[2][0] = {}", "value[3][0] = 99",
    "value[3][0] = -1", "value[4][0] = 'x'.repeat(99)", "value[5][0] = [[99, 1]]",
    "value[5][0] = [[0, 256]]", "value[6] = 6", "value[7] = 1.5", "value[8] = 40",
    "value[9] = 'a'", "value[10] = value[10].slice(4)", "value[10] = 'Ā' + value[10].slice(1)",
    "value.length = 3", "value[1] = Array(500).fill('a')",
)  # fmt: skip


def test_words_french_and_one_head_travel_in_the_link(page):
    page.goto("/#learn")
    reading = read(SENTENCE)
    link = reading.highlight().link
    made = page.evaluate(CARRIED, [SENTENCE, {}])
    assert len(made["field"]) < 1100  # characters: it is read from a screen or a paper
    side = made["reading"]["parts"][0]["query"]
    assert side["tokens"] == list(reading.tokens)
    assert side["words"] == list(reading.texts("encoder")[0].words)
    assert made["reading"]["translation"] == reading.translation
    assert made["reading"]["alignment"]["words"] == list(reading.alignment.words)
    true = reading.weights(layer=link.layer, head=link.head, by="tokens")
    # One byte a weight: half a step of 1/255 on each side.
    npt.assert_allclose(np.reshape(made["weights"], true.shape), true, atol=0.5 / 255 + 1e-6)
    other = page.evaluate(CARRIED, [SENTENCE, {"layer": "0", "head": "2", "q": "1"}])
    true = reading.weights(layer=0, head=2, by="tokens")
    npt.assert_allclose(np.reshape(other["weights"], true.shape), true, atol=0.5 / 255 + 1e-6)
    assert page.evaluate(CARRIED, [SENTENCE, {"changes": "knock_out.1"}])["field"] == ""


@pytest.fixture
def learning(new_page):
    """A page that may call eval, as the explorer's own policy does not."""
    page = new_page(bypass_csp=True)
    page.goto("/#learn")
    return page


def test_what_no_link_of_this_page_holds_is_refused(learning):
    assert learning.evaluate(CHANGED, [SENTENCE, "value[0] = 'other words'"]) is not None
    for change in WRONG:
        assert learning.evaluate(CHANGED, [SENTENCE, change]) is None, change


def test_a_sentence_is_read_again_when_the_link_no_longer_stands_for_it(page, until):
    """What a site does once the model has arrived: the field goes, and all is asked for."""
    asked = []
    page.on("request", lambda one: one.url.endswith("/api/read") and asked.append(one.post_data))
    page.goto(f"/#read?sentence={SENTENCE.replace(' ', '+')}&seen=x")
    page.locator(".french .word").first.wait_for()
    page.wait_for_load_state("networkidle")
    before = len(asked)
    page.evaluate("location.hash = location.hash.replace('&seen=x', '')")
    until(page, lambda: len(asked) >= before + 2)  # the English side, then the whole
    page.locator(".french:not(.waiting) .word").first.wait_for()
