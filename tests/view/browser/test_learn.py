"""The Learn view in a real browser: ask first, answer after, by mouse and by keyboard."""

import numpy as np
import pytest

import regard
from regard.view.page.lessons.scenes import SENTENCE
from regard.view.page.routes.learn import PAGES, course_page

SCENES = range(1, len(PAGES) + 1)
NUMBER = {name: number for number, name in enumerate(PAGES, 1)}


def opened(page, fields="", number=1):
    page.goto(f"/#learn{fields}")
    scene = page.locator(f'.scene[data-scene="{number}"]')
    scene.locator(".choices button").first.wait_for()
    return scene


def answered(page, name, choice=1):
    scene = opened(page, f"?page={NUMBER[name]}&answer={choice}", NUMBER[name])
    scene.locator(".verdict").wait_for()
    return scene


def test_every_scene_asks_before_it_answers_and_fits(new_page, until, sideways):
    page = new_page(width=390, height=844)
    scene = opened(page)
    for number in SCENES:
        until(page, f"document.querySelector('.scene').dataset.scene === '{number}'")
        answer, choices = scene.locator(".answer"), scene.locator(".choices button")
        scene = page.locator(".scene")
        assert answer.is_hidden()
        assert choices.count() >= 2
        assert scene.locator(".choices .right").count() == 0
        assert sideways(page) == 0, f"scene {number}, asked"
        choices.first.click()
        assert answer.is_visible()
        assert scene.locator(".choices .right").count() == 1
        said = scene.locator(".verdict").inner_text()
        assert said == "Yes." or said.startswith("Not quite. It is: ")
        text = scene.inner_text()
        for fault in ("{", "}", "undefined", "NaN", "null", "[object", "nought", "^"):
            assert fault not in text, f"{fault} in scene {number}"
        # The order of the fields is that in which they were set.
        fields = ["answer=1", *([f"page={number}"] if number > 1 else [])]
        until(page, lambda fields=fields: sorted(page.url.split("?")[1].split("&")) == fields)
        assert sideways(page) == 0, f"scene {number}, answered"
        if number < len(PAGES):
            scene.get_by_role("button", name="Next").click()


def test_progress_is_kept_and_going_back_works(new_page, until):
    page = new_page(alone=True)
    scene = opened(page)
    scene.locator(".choices button").first.click()
    scene.get_by_role("button", name="Next").click()
    page.locator('.scene[data-scene="2"]').wait_for()
    page.locator(".contents a", has_text="Why divide?").click()
    page.locator('.scene[data-scene="5"]').wait_for()
    assert page.url.endswith("#learn?page=5")
    page.go_back()
    page.locator('.scene[data-scene="2"]').wait_for()
    # Another visit: the answer is still there, and so is the way to where one was.
    page.goto("about:blank")
    scene = opened(page)
    assert scene.locator(".verdict").inner_text() == "Yes."
    assert page.locator(".contents .answered").count() == 1
    scene.get_by_role("button", name="Go on where you stopped").click()
    page.locator('.scene[data-scene="2"]').wait_for()


def test_without_storage_the_course_works(new_page):
    page = new_page(alone=True)
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('none'); } })"
    )
    scene = opened(page)
    scene.locator(".choices button").first.click()
    assert scene.locator(".verdict").inner_text() == "Yes."


def test_a_course_done_by_keyboard(page, until):
    scene = opened(page)
    scene.locator(".choices button").first.focus()
    page.keyboard.press("Enter")
    assert scene.locator(".verdict").inner_text() == "Yes."
    scene.get_by_role("button", name="cat", exact=True).last.focus()
    page.keyboard.press("Enter")
    until(page, "document.querySelector('.stage-caption').textContent.startsWith('cat looks at')")
    assert page.evaluate("document.activeElement.textContent") == "cat"
    scene.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    # The new scene begins at its heading, so that a screen reader goes on there.
    until(page, "document.activeElement.textContent === 'Guess: one word changes'")


def test_an_arrow_is_dragged_and_its_score_follows(page, until):
    """Scores after a drag are the products of what is drawn; put back, the model's own."""
    scene = answered(page, "arrows")
    kept = {}
    read = lambda text: kept.setdefault(text, regard.read(text))  # noqa: E731
    facts = PAGES["arrows"](read, read)
    scores = {word: cells[0] for word, cells in number_cells(scene).items()}
    assert scores["cat"] == pytest.approx(facts["scores"][1], abs=5e-7)  # six decimals are shown
    ring = scene.get_by_role("slider", name="Query of It")
    box = ring.bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] - 52, box["y"] - 82, steps=4)
    page.mouse.up()
    turned = {word: cells[0] for word, cells in number_cells(scene).items()}
    assert turned["cat"] > scores["cat"] + 20  # it turned towards the keys of the nouns
    keys = np.array(facts["keys"])[[1, 4]]
    query = np.linalg.solve(keys, [turned["cat"], turned["mouse"]])
    # Two scores fix the query: the others follow from it.
    expected = float(query @ np.array(facts["keys"])[8])
    assert turned["slow"] == pytest.approx(expected, abs=1e-4)
    ring.focus()
    page.keyboard.press("ArrowDown")
    assert number_cells(scene)["cat"][0] < turned["cat"]
    scene.get_by_role("button", name="Put the arrows back").click()
    assert number_cells(scene)["cat"][0] == pytest.approx(scores["cat"])


def number_cells(scene):
    """The numbers of the stage by the name of the row; tiny shares count as 0."""
    if not scene.locator(".as-table[open]").count():
        scene.locator(".as-table summary").click()
    number = lambda x: 0.0 if x.startswith("<") else float(x.replace("−", "-"))  # noqa: E731
    found = {}
    for row in scene.locator(".as-table tbody tr").all():
        found.setdefault(
            row.locator("th").inner_text(),
            [number(x) for x in row.locator("td").all_inner_texts()],
        )
    return found


def test_temperature_and_the_division_move_the_bars(page):
    scene = answered(page, "division", 3)
    assert number_cells(scene)["mouse"][0] > 0.999
    scene.get_by_label("Divide the scores by 8").check()
    before = number_cells(scene)["mouse"][0]
    slider = scene.get_by_role("slider", name="Temperature")
    slider.focus()
    page.keyboard.press("End")
    flat = number_cells(scene)["mouse"][0]
    page.keyboard.press("Home")
    sharp = number_cells(scene)["mouse"][0]
    assert flat < before < sharp


def test_a_mask_is_shown_with_exact_zeros(page):
    scene = answered(page, "mask")
    scene.locator(".as-table summary").click()
    rows = scene.locator(".as-table tbody tr")
    for row in range(rows.count()):
        cells = rows.nth(row).locator("td").all_inner_texts()
        assert cells[row + 1 :] == ["0"] * (len(cells) - row - 1)
        assert "0" not in cells[: row + 1]


# Width of the line to the first noun, frame by frame, from the click to the end; and its number.
WATCH_LINES = """() => new Promise((done) => {
  const line = document.querySelector(".stage-arc.of-one");
  const number = document.querySelector(".stage-number.of-one");
  const seen = [];
  const note = () => {
    seen.push([Number(line.getAttribute("stroke-width")), number.textContent]);
    if (document.querySelector(".stage-picture").dataset.moving) requestAnimationFrame(note);
    else done({ seen, same: line.isConnected });
  };
  document.querySelectorAll(".stage-controls button")[2].click();
  note();
})"""


def test_lines_move_and_numbers_change_once(new_page):
    """With motion the same line goes from one ending to another, and a number is never between."""
    page = new_page(alone=True)
    page.emulate_media(reduced_motion="no-preference")
    scene = answered(page, "ending")
    scene.locator(".stage-picture:not([data-moving]) .stage-arc").first.wait_for()
    found = page.evaluate(WATCH_LINES)
    widths = [x[0] for x in found["seen"]]
    assert found["same"]
    assert any(widths[0] > x > widths[-1] for x in widths[1:-1])
    assert len({x[1] for x in found["seen"]}) == 2


def test_with_reduced_motion_the_same_states_come_at_once(page):
    answered(page, "ending")
    found = page.evaluate(WATCH_LINES)
    assert len(found["seen"]) == 1


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)])
def test_the_stage_is_in_sight_and_stays_in_place(new_page, until, size):
    page = new_page(width=size[0], height=size[1])
    scene = opened(page)
    box = scene.locator(".stage-host").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size[1]
    if size[0] > 820:
        text = scene.locator(".scene-text").bounding_box()
        assert box["x"] >= text["x"] + text["width"]
    scene.get_by_role("button", name="Next").click()
    second = page.locator('.scene[data-scene="2"]')
    second.wait_for()
    after = second.locator(".stage-host").bounding_box()
    if size[0] > 820:
        assert after == box
    else:  # the reader had scrolled down to the button, and is back at the stage
        assert 0 <= after["y"] <= box["y"]
        assert after["height"] == box["height"]


def test_an_odd_address_is_taken_as_a_scene(page):
    for fields, number in (("?page=99", len(PAGES)), ("?page=-3", 1), ("?page=x&answer=77", 1)):
        page.goto("about:blank")
        scene = opened(page, fields, number)
        assert scene.locator(".choices button").count() >= 2
        assert scene.locator(".answer").is_hidden()


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("look", "#read?"),
        ("division", "divide=no"),
        pytest.param("position", "position=no", marks=pytest.mark.nightly),
    ],
)
def test_on_to_the_live_views(page, name, address):
    scene = answered(page, name)
    scene.locator(".onward").first.focus()
    page.keyboard.press("Enter")  # a mouse would point at whatever appears under it
    page.locator(".view.read, .view.steps").wait_for()
    assert address in page.url
    assert "sentence=The+cat+saw+the+mouse" in page.url


def test_a_scene_can_be_saved(page):
    answered(page, "look")
    page.get_by_text("Save", exact=True).click()
    with page.expect_download() as kept:
        page.get_by_role("menuitem", name="CSV").click()
    text = kept.value.path().read_text()
    assert '"mouse"' in text
    reading = regard.read(SENTENCE)
    row_k = reading.weights(part="encoder")[5, 6][reading.words.index("It")]
    assert str(row_k.max())[:5] in text


def test_the_whole_course_from_a_file(offline_page, until):
    kept = {}
    read = lambda text: kept.setdefault(text, regard.read(text))  # noqa: E731
    page = offline_page(course_page(read, read))
    # One scene of each kind: words, arrows, and a table of the appendix.
    for number in (1, NUMBER["arrows"], NUMBER["training"], len(PAGES)):
        page.locator(".contents a").nth(number - 1).click()
        scene = page.locator(f'.scene[data-scene="{number}"]')
        scene.locator(".choices button").last.click()
        scene.locator(".verdict").wait_for()
        assert scene.locator(".answer .onward").count() == 0  # the other views are not in the file
    page.emulate_media(media="print")
    until(page, "document.querySelectorAll('.scene-on-paper').length > 0")
    assert page.locator(".scene-on-paper").count() == len(PAGES)
    assert not page.locator(".course").is_visible()
    assert page.locator(".scene-on-paper .stage-word").count() > 100
    page.emulate_media(media="screen")
    page.locator(".contents a", has_text="Watch one learn").click()
    watch_training(page, until)


# The largest weight of each row, in the picture of the transformer that the page trains.
LARGEST = """() => [...document.querySelectorAll(".letter-grid tbody tr")].map((row) => {
  const weights = [...row.querySelectorAll("td")].map((x) => Number(x.textContent) || 0);
  return weights.indexOf(Math.max(...weights));
})"""


def watch_training(page, until):
    """From the first step to the last, with letters of one's own, and another task."""
    page.locator(".training-status", has_text="step 0").wait_for()
    page.locator(".train").click()
    until(page, "document.querySelector('.train').disabled")
    assert page.locator(".letters .wrong").count() == 0
    # The first letter looks at the last, and so on: the other diagonal has the largest weights.
    assert page.evaluate(LARGEST) == list(range(7, -1, -1))
    page.get_by_label("Your letters").fill("aabbccdd")
    assert page.locator(".letters").inner_text().split() == [*"aabbccdd", "→", *"ddccbbaa"]
    page.get_by_label("Your letters").fill("xyz")
    page.get_by_text("8 letters from a to h").wait_for()
    page.get_by_role("button", name="sort").click()
    assert page.locator(".training-status").inner_text().startswith("step 0")


@pytest.mark.nightly
def test_watching_it_learn(page, until):
    """The same with a server."""
    answered(page, "training")
    watch_training(page, until)
