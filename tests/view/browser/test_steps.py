"""The Steps view in Chromium: the page's numbers and sentences are the library's own."""

import json
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.testing as npt
import pytest

from regard.textbook.examples import run_example
from regard.textbook.steps import Steps, attend, self_attention
from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
HEAD = f"/#steps?sentence={quote(SENTENCE)}&part=encoder&layer=3&head=6"
STAGES = ("query", "key", "value", "scores", "scaled", "masked", "weights", "output")
EVERYTHING = """async ([choice, switches, cells]) => {
  const [{ servedSource }, { attend }, { why }] =
    await Promise.all(["lib/api", "steps/attend", "steps/why"].map((x) => import(`/${x}.js`)));
  const steps = attend(await (await servedSource()).steps(choice), switches);
  const plain = (value) => (Number.isFinite(value) ? value : String(value));
  return {
    stages: Object.fromEntries(Object.entries(steps.stages).map(([name, { values }]) =>
      [name, [...values].map(plain)])),
    lines: cells.map(([name, row, column]) => why(steps, name, row, column).line),
  };
}"""


def some_cells(steps: Steps, most: int) -> list[tuple[str, int, int]]:
    """Cells of every stage, all where they are few."""
    random = np.random.default_rng(0)
    found = []
    for name, stage in steps.stages().items():
        every = [(name, row, column) for row, column in np.ndindex(stage.shape)]
        chosen = random.permutation(len(every))[:most]
        found += [every[i] for i in sorted(chosen.tolist())]
    return found


def compare(page: Any, choice: dict, switches: dict, steps: Steps, most: int = 24) -> None:
    """Every stage to rounding, every line letter by letter."""
    cells, named = some_cells(steps, most), f"{choice}, {switches}"
    sent = page.evaluate(EVERYTHING, [choice, switches, cells])
    for name, stage in steps.stages().items():
        found = np.array([float(x) for x in sent["stages"][name]]).reshape(stage.shape)
        # Sums of up to 512 products in another order, then three more such steps, and e^scores:
        # 512 eps times scores of up to 100, in units of the stage's largest number.
        seen = np.isfinite(stage)
        npt.assert_array_equal(np.isfinite(found), seen, err_msg=named)
        size = max(1.0, np.abs(stage[seen]).max(initial=0))
        allowed = 100 * 512 * 2.2e-16 * size
        npt.assert_allclose(found[seen], stage[seen], atol=allowed, rtol=0, err_msg=named)
    assert sent["lines"] == [str(steps.why(*cell)) for cell in cells], named


SWITCHES = (
    ({"divide": False}, {"scale": 1.0}),
    ({"causal": True}, {"causal": True}),
    ({"temperature": 2.5}, {"scale": 1 / np.sqrt(2) / 2.5}),
    ({"divide": False, "temperature": 0.01}, {"scale": 100.0}),
)


def test_examples_heads_and_switches_cell_by_cell(page):
    """One page for all: each asks the page's own modules, which no other one changes."""
    page.goto("/#steps?from=robots")
    for name in ("robots", "good", "cat"):
        compare(page, {"example": name}, {}, run_example(name).steps)
    for part, layer, head in (("encoder", 3, 6), ("decoder", 1, 2)):
        choice = {"sentence": SENTENCE, "part": part, "layer": layer, "head": head}
        compare(page, choice, {}, read(SENTENCE).steps(layer, head, part=part), most=8)
    given = run_example("robots").steps
    for switches, options in SWITCHES:
        steps = attend(given.query, given.key, given.value, **options)
        named = Steps(**{**vars(steps), "words": given.words, "x": given.x,
                         "w_query": given.w_query, "w_key": given.w_key,
                         "w_value": given.w_value})  # fmt: skip
        compare(page, {"example": "robots"}, switches, named)


def test_claims_and_digits_are_those_of_python(page):
    page.goto("/#steps?from=robots")
    claims = page.locator(".claims tbody tr")
    claims.first.wait_for()
    example = run_example("robots")
    assert claims.count() == len(example.claims)
    assert page.locator(".claims tr.differs").count() == sum(not x.agrees for x in example.claims)
    numbers = [0.0625, 0.125, 2.5, -0.0005, 1.5e-7, 2.5e8, 0.0, -3.0, 1e6, 999999.5, 0.3125, 1 / 3]
    found = page.evaluate("""async (numbers) => {
      const { writeNumber, showNumber } = await import("/lib/digits.js");
      return numbers.map((x) => [0, 1, 2, 3, 9].map((n) =>
        [writeNumber(x, n), showNumber(x, n).text, showNumber(x, n, Math.abs(x) / 50).text]));
    }""", numbers)  # fmt: skip
    from regard.textbook.digits import show, write

    for number, by_digits in zip(numbers, found, strict=True):
        assert by_digits == [
            [write(number, n), show(number, n).text, show(number, n, abs(number) / 50).text]
            for n in (0, 1, 2, 3, 9)
        ]


def line(page):
    """The expression of a cell as Python writes it: the page has real minus signs."""
    return page.text_content(".why .line").replace("−", "-")


def test_a_cell_shows_the_expression_that_made_it_and_lights_its_operands(page, until):
    page.goto("/#steps?from=robots")
    page.click('.matrix.weights td[data-row="1"][data-column="4"]')
    until(page, "location.hash.includes('cell=weights.1.4')")
    assert line(page) == str(run_example("robots").steps.why("weights", 1, 4))
    lit = page.eval_on_selector_all(
        "td.operand", "all => all.map((x) => [x.closest('table').dataset.stage, x.dataset.row])"
    )
    assert lit == [["scaled", "1"]] * 5
    page.click('.matrix.output td[data-row="1"][data-column="0"]')
    until(page, "location.hash.includes('cell=output.1.0')")
    lit = page.eval_on_selector_all("td.operand", "all => all.map((x) => "
        "x.closest('table').dataset.stage + x.dataset.row + x.dataset.column)")  # fmt: skip
    assert lit == [f"value{row}0" for row in range(5)] + [f"weights1{k}" for k in range(5)]
    # The same by keyboard.
    page.focus('.matrix.scores td[data-row="0"][data-column="0"]')
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    until(page, "location.hash.includes('cell=scores.1.1')")
    assert line(page) == str(run_example("robots").steps.why("scores", 1, 1))


def test_large_matrices_are_elided_and_whole_on_demand(page):
    page.goto(f"{HEAD}&stage=query")
    page.locator(".parameters summary").click()
    page.wait_for_selector(".matrix.w_query")
    assert page.locator(".matrix.w_query td[data-row]").count() == 6 * 6
    page.locator(".one", has=page.locator(".matrix.w_query")).get_by_text("show all").click()
    true = read(SENTENCE).steps(3, 6).w_query
    frame = page.locator(".matrix-frame", has=page.locator(".matrix.w_query"))
    frame.evaluate("frame => { frame.scrollTop = frame.scrollHeight; }")
    last = page.locator('.matrix.w_query td[data-row="511"][data-column="63"]')
    last.wait_for()
    assert last.text_content() == f"{true[511, 63]:.3f}".replace("-", "−")


def test_switches_show_what_was(page):
    page.goto("/#steps?from=robots&cell=weights.1.4")
    page.get_by_label("divide by √2").uncheck()
    page.wait_for_selector(".changed-statement:not(:empty)")
    steps = run_example("robots").steps
    now = attend(steps.query, steps.key, steps.value, scale=1.0)
    cell = page.locator('.matrix.weights td[data-row="1"][data-column="4"]')
    assert cell.text_content() == f"{now.weights[1, 4]:.3f}{steps.weights[1, 4]:.3f}"
    assert page.text_content(".changed-statement").startswith(
        "robots puts 50 % on tasks, where it put 40 %. The entropy of a row went from 1.34 to 1.15"
    )
    page.get_by_role("button", name="as it was").click()
    page.wait_for_selector(".changed-statement:empty", state="attached")
    assert "divide" not in page.url


def test_without_position_equal_words_score_alike(page):
    page.goto(
        f"/#steps?sentence={quote('The dog saw the dog.')}&part=encoder&layer=0&head=2&position=no"
        "&stage=weights"
    )
    page.wait_for_selector(".changed-statement:not(:empty)")
    row = page.locator(".matrix.weights tbody tr").nth(0).locator("td").all_text_contents()
    # 'dog' is asked about twice, at places 1 and 4; as it was stands behind in each.
    assert row[1][:5] == row[4][:5]


def test_ones_own_numbers(page, until):
    page.goto("/#steps?from=own")
    page.locator(".matrix.x input").nth(0).fill("3")
    page.keyboard.press("Tab")
    until(page, "location.hash.includes('own=')")
    # Whoever types goes on typing where they are.
    held = page.evaluate("document.activeElement.closest('td').dataset.column")
    assert (held, page.evaluate("document.activeElement.tagName")) == ("1", "INPUT")
    x = np.array([[3, 0], [0, 1], [1, 1], [2, 0], [0, 2]])
    steps = self_attention(
        x, *[np.eye(2)] * 3, words=["Smart", "robots", "perform", "complex", "tasks"]
    )
    shown = page.locator('.matrix.output td[data-row="0"]').all_text_contents()
    assert shown == [f"{value:.3f}" for value in steps.output[0]]
    page.reload()  # the numbers are in the address
    page.wait_for_selector(".matrix.output")
    assert page.locator('.matrix.output td[data-row="0"]').all_text_contents() == shown


def test_ones_own_mistakes_are_said(page):
    page.goto("/#steps?from=own")
    page.locator(".matrix.x input").nth(0).fill("three")
    page.keyboard.press("Tab")
    page.wait_for_selector(".origin .problem:not(:empty)")
    assert page.text_content(".origin .problem") == (
        'x needs a number between -1,000,000 and 1,000,000 here, but this is "three".'
    )


@pytest.mark.parametrize(
    "owns",
    [
        ("x", '{"x":"a","words":5}', '{"words":["<b>"],"x":[[1e999]]}'),
        pytest.param(("[]", "null"), marks=pytest.mark.nightly),
    ],
    ids=["wrong", "empty"],
)
def test_an_address_that_is_wrong_does_no_harm(page, owns):
    for own in owns:
        page.goto("about:blank")
        page.goto(f"/#steps?from=own&cell=weights.99.99&own={quote(own)}")
        page.wait_for_selector(".matrix.weights td[data-row]")
        assert page.locator(".matrix b").count() == 0


def test_an_unknown_head_is_a_sentence(page, noticed):
    noticed.expect("400")
    page.goto("/#steps?layer=6")
    page.wait_for_selector(".problem:not(:empty)")
    assert page.text_content(".flow .problem") == (
        "layer must be a number from 0 to 5 (layers count from 0), got 6."
    )


def test_it_fits_a_phone(new_page, sideways):
    page = new_page(width=390, height=844)
    # The overview and a document are measured in test_layout.py.
    for address in ("?stage=hidden", "?stage=weights", "?from=own"):
        page.goto("about:blank")
        page.goto(f"/#steps{address}")
        page.wait_for_selector(".statement:not(:empty)")
        assert (address, sideways(page)) == (address, 0)
    assert json.dumps(page.title()) == '"Steps \\u00b7 regard"'


def test_the_chosen_row_stays_when_a_switch_moves(page):
    page.goto(f"{HEAD}&stage=weights")
    page.wait_for_selector(".statement:not(:empty)")
    chosen = page.locator("td.chosen").evaluate("x => [x.dataset.row, x.dataset.column]")
    page.get_by_label("position").uncheck()
    page.wait_for_selector(".changed-statement:not(:empty)")
    now = page.locator("td.chosen").evaluate("x => [x.dataset.row, x.dataset.column]")
    assert now == chosen


def test_every_sum_opens_into_all_of_its_terms(page):
    page.goto(f"{HEAD}&cell=scores.6.1")
    page.locator(".terms-of-sum summary").click()
    steps = read(SENTENCE).steps(3, 6)
    rows = page.locator(".terms tbody tr")
    rows.first.wait_for()  # the table is made a moment after it is opened
    assert rows.count() == steps.query.shape[-1]
    shown = [float(x.replace("−", "-")) for x in page.locator(
        ".terms tbody td:last-child").all_inner_texts()]  # fmt: skip
    # Three decimals each.
    npt.assert_allclose(shown, steps.query[6] * steps.key[1], atol=5.1e-4)
    page.goto(f"{HEAD}&cell=query.6.0")
    page.locator(".terms-of-sum summary", has_text="All 512 terms").wait_for()


def test_matrices_are_pictures_too(page, until):
    page.goto(f"{HEAD}&stage=query")
    picture = page.get_by_role("img", name="query, 10 rows of 64 numbers as colours")
    picture.wait_for()
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] * 0.999, "y": box["height"] * 0.55})
    until(page, "location.hash.includes('cell=query.5.63')")
    # Blue above 0, orange below: the red of a pixel is more than its blue where a number is below.
    found = picture.evaluate("""(canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return [...Array(640).keys()].map((at) => data[4 * at] - data[4 * at + 2]);
    }""")
    query = read(SENTENCE).steps(3, 6).query.ravel()
    strong = np.abs(query) > 0.2 * np.abs(query).max()
    assert ((np.array(found) > 0) == (query < 0))[strong].all()


def test_another_sentence_is_typed_into_the_title(page, until):
    page.goto("/#steps?sentence=I+am+good&stage=weights")
    field = page.locator("h1 input")
    field.wait_for()
    assert field.input_value() == "I am good"
    field.fill("The cat sat")
    field.press("Enter")
    until(page, "location.hash.includes('sentence=The+cat+sat')")
    page.locator(".matrix.weights th", has_text="sat").first.wait_for()
    assert "stage=weights" in page.url  # where one was


@pytest.mark.parametrize("address", ["layer=77", "from=nope", "part=across"])
def test_an_address_of_what_there_is_not_has_a_way_back(page, noticed, address):
    noticed.expect("400")
    page.goto(f"/#steps?{address}")
    page.locator(".problem", has_text="must be").wait_for()
    page.get_by_role("button", name="Show the first head instead").click()
    page.locator(".path-map canvas").first.wait_for()
    assert page.locator(".problem", has_text="must be").count() == 0
    assert address not in page.url
