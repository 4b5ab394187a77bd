"""The whole path on the page: overview, stage, cell, and every number as NumPy has it."""

import base64
import re
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.testing as npt
import pytest

from regard.textbook.examples import EXAMPLES, run_example
from regard.transformer.config import NORM_EPSILON, positions
from regard.transformer.layers import in_dtype, join_heads
from regard.transformer.reading import Reading, read
from regard.transformer.residual import ResidualRun
from regard.view.page.embed import offline_page as one_file

SENTENCE = "A dog ate the food because it was hungry"
HEAD = f"/#steps?sentence={quote(SENTENCE)}&part=encoder&layer=3&head=6"
LAYERS = [("encoder", 0), ("decoder", 2), ("cross", 5)]
STAGES_OF_LAYER = """async ([sentence, layers]) => {
  const [{ servedSource }, { attend }, { layerPath }, { explainCell }] = await Promise.all(
    ["lib/api", "steps/attend", "steps/layer_path", "steps/path_why"].map(
      (x) => import(`/${x}.js`)));
  const source = await servedSource();
  const coded = (values) => {
    const bytes = new Uint8Array(values.slice().buffer);
    let text = "";
    for (let at = 0; at < bytes.length; at += 8192)
      text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return btoa(text);
  };
  const made = [];
  for (const [part, layer] of layers) {
    const steps = attend(await source.steps({ sentence, part, layer, head: 1 }));
    const path = layerPath(await source.layer({ sentence, part, layer }), steps);
    const stages = path.names.filter((name) => name === "x" || !steps.stages[name]);
    made.push(Object.fromEntries(stages.map((name) => {
      const { rows, columns, values } = path.matrix(name);
      const column = Math.min(7, columns - 1);
      const { line, value, terms } = explainCell(path, name, 1, column);
      const sum = terms && [...terms.left.values].reduce(
        (total, one, at) => total + one * terms.right.values[at],
        (terms.extra || []).reduce((total, [, bias]) => total + bias, 0));
      return [name, { shape: [rows, columns], bytes: coded(values), line, value, sum }];
    })));
  }
  return made;
}"""


def norm(x_te: np.ndarray, layer: Any) -> np.ndarray:
    spread = np.sqrt(x_te.var(axis=1, keepdims=True) + NORM_EPSILON)
    return (x_te - x_te.mean(axis=1, keepdims=True)) / spread * layer.gain + layer.bias


@pytest.fixture(scope="module")
def reading() -> Reading:
    return read(SENTENCE)


@pytest.fixture(scope="module")
def run(reading: Reading) -> ResidualRun:
    return ResidualRun.from_reading(reading)


def path_in_numpy(run: ResidualRun, part: str, layer: int) -> dict[str, np.ndarray]:
    """Every stage around the heads of a layer, in plain float64."""
    reading = run.reading
    model = reading.model
    ids = reading.translated.source if part == "encoder" else run.given
    block = (model.encoders if part == "encoder" else model.decoders)[layer]
    block = in_dtype(block, np.float64)
    name = "cross_attention" if part == "cross" else "self_attention"
    stages = {"tokens": np.array(ids, np.float64)[:, None]}
    scale = np.float32(np.sqrt(model.config.width))
    stages["embedding"] = np.asarray(model.embedding_ve[np.array(ids)]) * scale
    stages["position"] = positions(len(ids), model.config.width)
    stages["start"] = stages["embedding"] + stages["position"]
    stream = run.stream(part)
    stages["input"] = stream.x_te(stream.before(part, layer))
    stages["x"] = norm(stages["input"], getattr(block, f"{name}_norm"))
    stages["joined"] = join_heads(run.attention(part, layer).output_bhqd)[0]
    stages["projected"] = stages["joined"] @ getattr(block, name).w_output
    stages["residual"] = stages["input"] + stages["projected"]
    if part != "decoder":
        stages["normed"] = norm(stages["residual"], block.feed_forward_norm)
        inner, outer = block.feed_forward, block.feed_forward
        stages["hidden"] = np.maximum(stages["normed"] @ inner.w_in + inner.b_in, 0)
        stages["feed_forward"] = stages["hidden"] @ outer.w_out + outer.b_out
        stages["layer_output"] = stages["residual"] + stages["feed_forward"]
        if layer == model.config.layers - 1:
            last = model.encoder_norm if part == "encoder" else model.decoder_norm
            stages["last"] = norm(stages["layer_output"], in_dtype(last, np.float64))
    return stages


def test_every_number_of_a_layer_is_numpys(page, run):
    page.goto("/#steps?from=robots")
    made = page.evaluate(STAGES_OF_LAYER, [SENTENCE, LAYERS])
    for (part, layer), stages in zip(LAYERS, made, strict=True):
        true = path_in_numpy(run, part, layer)
        assert set(stages) == set(true)
        for name, shown in stages.items():
            values = np.frombuffer(base64.b64decode(shown["bytes"])).reshape(shown["shape"])
            # Sums of up to 1,024 products in another order, of numbers up to 100: in units of the
            # stage's largest number 100 * 1024 eps.
            size = max(1.0, np.abs(true[name]).max())
            npt.assert_allclose(values, true[name], rtol=0, atol=100 * 1024 * 2.2e-16 * size)
            if shown["sum"] is not None:
                total = max(shown["sum"], 0) if name == "hidden" else shown["sum"]
                npt.assert_allclose(total, shown["value"], rtol=0, atol=1e-10 * size)
            # The line ends in the number, to the digits shown.
            last = re.search(r"= (-?[\d.e+-]+)(?: \([^()]*\))?$", shown["line"])
            npt.assert_allclose(float(last[1]), shown["value"], rtol=1e-3, atol=5.1e-4)


def test_overview_stage_and_cell_have_their_addresses(page, until, reading):
    page.goto(HEAD)
    cards = page.locator(".path-map canvas")
    cards.first.wait_for()
    tokens = len(reading.tokens)
    card = page.locator('[data-card="hidden"]')
    assert card.inner_text().split("\n") == ["feed-forward inside", f"{tokens} × 1024"]
    assert page.locator(".why").is_hidden()
    page.click('[data-card="scores"]')
    until(page, "location.hash.includes('stage=scores')")
    page.locator(".stage.opened h2", has_text="scores").wait_for()
    assert page.locator('[data-card="scores"]').get_attribute("aria-current") == "step"
    page.click('.matrix.scores td[data-row="6"][data-column="1"]')
    until(page, "location.hash.includes('cell=scores.6.1')")
    assert page.locator(".crumbs li").last.inner_text() == "it, dog"
    line = str(reading.steps(3, 6).why("scores", 6, 1))
    assert page.text_content(".why .line").replace("−", "-") == line
    # The row and the column that meet stand beside the sum.
    strips = page.locator(".sum-picture .term-strip.operand")
    assert strips.all_inner_texts() == ["query: it", "key: dog"]
    page.reload()
    page.locator(".why .line").wait_for()
    assert page.text_content(".why .line").replace("−", "-") == line
    page.go_back()
    until(page, "!location.hash.includes('cell=')")
    page.locator(".stage.opened h2", has_text="scores").wait_for()
    page.go_back()
    until(page, "!location.hash.includes('stage=')")
    until(page, "document.querySelector('.steps').classList.contains('at-overview')")
    # Calm: nothing moves for who asked for it; for the others a passage takes 280 ms at most.
    assert page.evaluate("document.getAnimations().length") == 0
    page.emulate_media(reduced_motion="no-preference")
    lasting = page.evaluate("""() => {
      document.querySelector('[data-card="weights"]').click();
      return document.getAnimations().map((x) => x.effect.getTiming().duration);
    }""")
    assert lasting
    assert max(lasting) <= 280


def test_the_row_stays_and_what_it_was_is_outlined(page, reading):
    page.goto(f"{HEAD}&cell=weights.6.1")
    page.locator(".row-bars").wait_for()
    assert page.locator(".row-bars .ghost").count() == 0
    page.get_by_label("divide by √64").uncheck()
    page.locator(".row-bars .ghost").first.wait_for()
    # Whoever moves a switch by the keyboard is still on it.
    assert page.evaluate("document.activeElement.type") == "checkbox"
    assert page.locator(".row-bars h3").inner_text() == "The row of it"
    assert page.locator(".row-bars tr.chosen th").inner_text() == "dog"
    steps = reading.steps(3, 6)
    most = np.abs(steps.scores[6]).max()
    widths = page.locator('.row-bars [data-bar^="scaled 6 "]').evaluate_all(
        "all => all.map((bar) => parseFloat(bar.style.width))"
    )
    # Undivided, the scaled scores are the scores; a bar is half as wide as its track at most.
    npt.assert_allclose(widths, 50 * np.abs(steps.scores[6]) / most, atol=5.1e-3)
    ghosts = page.locator(".row-bars td:nth-child(3) .ghost").evaluate_all(
        "all => all.map((bar) => parseFloat(bar.style.width))"
    )
    npt.assert_allclose(ghosts, 50 * np.abs(steps.scaled[6]) / most, atol=5.1e-3)
    # What a switch changes in one head changes the layer's output.
    page.click('[data-card="layer_output"]')
    page.locator(".stage.opened .differs").wait_for()


def test_the_next_words_probabilities(page, until, reading, run):
    page.goto(f"/#steps?sentence={quote(SENTENCE)}&part=decoder&stage=next_word&cell=next_word.2.1")
    page.locator(".likely li").first.wait_for()
    model = reading.model
    final = norm(run.target.x_te(), in_dtype(model.decoder_norm, np.float64))[2]
    vectors = np.asarray(model.embedding_ve[np.arange(model.config.vocabulary)], np.float64)
    logits = vectors @ final
    share = np.exp(logits - logits.max())
    share /= share.sum()
    best = np.argsort(-logits, kind="stable")[:10]
    shown = page.locator(".likely-share").all_inner_texts()[:10]
    npt.assert_allclose([float(x.rstrip(" %")) for x in shown], 100 * share[best],
                        rtol=0.051, atol=0.51)  # fmt: skip
    numbers = page.locator(".likely .logit").all_inner_texts()[:10]
    npt.assert_allclose([float(x.replace("−", "-")) for x in numbers], logits[best], atol=5.1e-3)
    lines = page.locator(".why .line").all_inner_texts()
    assert lines[0].replace("−", "-").endswith(f"= {logits[best[1]]:.3f}")
    assert f"{model.config.vocabulary:,} tokens" in lines[1]
    page.locator(".terms-of-sum summary").click()
    page.locator(".terms tbody tr").first.wait_for()  # made a moment after it is opened
    texts = page.locator(".terms tbody td:last-child").all_inner_texts()
    assert any(x.startswith("−") for x in texts)  # a real minus sign
    products = [float(x.replace("−", "-")) for x in texts]
    npt.assert_allclose(products, vectors[best[1]] * final, atol=5.1e-4)
    page.locator(".so-far button").nth(1).click()
    until(page, "location.hash.includes('cell=next_word.1.0')")


def test_a_saved_file_holds_the_layer(offline_page):
    reading = read("I am good")
    state = {"view": "steps", "part": "cross", "layer": 5, "head": 1, "stage": "hidden"}
    html = one_file(reading, state)
    assert len(html) < 6_000_000  # three matrices of half a million parameters, and the rest
    page = offline_page(html)
    page.locator(".stage.opened h2", has_text="feed-forward inside").wait_for()
    page.locator(".terms-of-sum summary", has_text="All 512 terms").wait_for()
    page.click('[data-card="next_word"]')
    page.locator(".likely li").first.wait_for()


def test_documents_are_under_their_names(page):
    page.goto("/#steps?from=own")
    page.get_by_role("button", name="A document's example").click()
    buttons = page.get_by_role("group", name="The document").get_by_role("button")
    buttons.first.wait_for()
    names = [re.sub("[“”]", '"', x) for x in buttons.all_inner_texts()]
    for example in map(run_example, EXAMPLES):
        buttons.nth(names.index(example.title)).click()
        page.locator("h1", has_text=example.sentence).wait_for()
        assert page.locator(".claims tbody tr").count() == len(example.claims)
