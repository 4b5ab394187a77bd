"""The view of a monitored training: every head over the steps, its curve, alerts, a live folder."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: pip install '.[models]'")

from regard.monitoring.events import Event
from regard.monitoring.folder import About, FolderWriter, History, Layer
from regard.monitoring.health import MEASURES

LAYERS = (Layer("decoder", 0, 2, "layers.0"), Layer("decoder", 1, 2, "layers.1"))
ALERT = Event("threshold", 20, "step 20, layer 1, head 0: largest score passed 100", [2]).fields()


@pytest.fixture
def training(tmp_path):
    """A folder of three observations, whose numbers say where they stand, and its writer."""
    writer = FolderWriter(tmp_path / "first")
    writer.begin(About(LAYERS, every=10))
    for step in range(21):
        writer.step(step, 4 - step / 10, np.zeros(2))
    for at in range(3):
        observe(writer, at)
    writer.event("alert", 20, **ALERT)
    yield writer
    writer.close()


def observe(writer, at):
    heads = np.arange(4, dtype=np.float32)
    table = np.stack([100 * row + 10 * at + heads for row in range(len(MEASURES))])
    writer.observed(10 * at, table)


@pytest.fixture
def opened(training, serve, noticed, page):
    home = serve(trainings=(training.folder,))
    noticed.homes.append(home)
    page.goto(f"{home}/#training")
    page.locator(".training-svg").wait_for()
    return page


def test_the_head_of_the_first_alert_is_shown_with_its_curve(opened):
    page = opened
    assert page.locator("h1").inner_text().endswith("first")
    assert page.locator(".training-head h2").inner_text() == "decoder layer 1, head 0: score"
    curve = page.locator(".training-svg")
    assert curve.get_attribute("aria-label") == "score from 2 to 22"
    assert page.locator(".training-svg .training-mark").count() == 1
    assert page.locator(".training-loss").get_attribute("aria-label") == "loss from 4 to 2"
    assert page.locator(".training-list > li > button").all_inner_texts() == [ALERT["line"]]
    assert page.locator(".training-steps").text_content() == "step 0step 10step 20"
    told = page.locator(".training-scale").text_content()
    assert told.startswith("score: largest score before softmax. Steady growth is the danger sign")
    page.locator(".training-picture").hover(position={"x": 120, "y": 4})
    title = page.locator(".training-picture").get_attribute("title")
    assert title == "decoder layer 0, head 0, step 0: score 0.000"


def test_a_click_on_a_row_opens_its_curve_and_another_measure_its_numbers(opened):
    page = opened
    box = page.locator(".training-picture").bounding_box()
    page.locator(".training-picture").click(position={"x": 200, "y": box["height"] * 7 / 8})
    page.locator(".training-head h2", has_text="layer 1, head 1: score").wait_for()
    page.locator(".training-picture").press("ArrowUp")
    page.locator(".training-picture").press("ArrowUp")
    page.locator(".training-head h2", has_text="layer 0, head 1: score").wait_for()
    page.get_by_label("Measure").select_option("entropy")
    page.locator(".training-head h2", has_text="layer 0, head 1: entropy").wait_for()
    label = page.locator(".training-svg").get_attribute("aria-label")
    at = 100 * list(MEASURES).index("entropy")
    assert label == f"entropy from {at + 1} to {at + 21}"
    assert "measure=entropy" in page.url
    page.locator(".training-list > li > button").click()
    page.locator(".training-head h2", has_text="layer 1, head 0: entropy").wait_for()


def test_an_event_of_many_heads_is_one_line_and_the_page_as_wide_as_the_window(
    training, serve, noticed, new_page, sideways, until
):
    line = "steps 20 to 20: 3 of 4 heads: no output"
    training.event("alert", 20, **Event("silent", 20, line, [0, 1, 3], number=1).fields())
    home = serve(trainings=(training.folder,))
    noticed.homes.append(home)
    page = new_page(width=390, height=844)
    page.goto(f"{home}/#training")
    page.locator(".training-svg").wait_for()
    assert page.locator(".training-list > li").count() == 2
    page.get_by_text("3 heads").click()
    page.locator(".training-heads button", has_text="1.1").click()
    page.locator(".training-head h2", has_text="layer 1, head 1").wait_for()
    assert page.locator(".training-list details[open]").count() == 1
    assert sideways(page) == 0
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator(".training-picture").wait_for()
    wide = "document.querySelector('.training-picture').clientWidth"
    until(page, f"{wide} === document.querySelector('.view').clientWidth")


SHADES = """() => {
  const canvas = document.querySelector(".training-picture");
  const row = canvas.height / 4, ratio = window.devicePixelRatio || 1;
  const across = (canvas.width - 96 * ratio) / 3;
  const light = (h, s) => canvas.getContext("2d").getImageData(
    96 * ratio + (s + 0.2) * across, (h + 0.5) * row, 1, 1).data.slice(0, 3)
    .reduce((a, b) => a + b);
  return [0, 1, 3].map((h) => [0, 1, 2].map((s) => light(h, s)));
}"""


def test_larger_numbers_are_darker(opened):
    shades = np.array(opened.evaluate(SHADES))
    assert (np.diff(shades, axis=1) < 0).all()  # over steps; every head grows by 10
    assert (np.diff(shades, axis=0) < 0).all()  # over heads


def test_a_training_that_runs_is_followed(opened, training):
    observe(training, 3)
    opened.locator(".training-about", has_text="4 observations").wait_for()
    assert opened.locator(".training-svg").get_attribute("aria-label") == "score from 2 to 32"


def test_what_the_page_asks_for_and_does_not_get(training):
    from regard.errors import ArgumentError
    from regard.view.page.answers import Sources, Stop
    from regard.view.page.routes.monitor import answers

    table = answers(Sources(trainings=(training.folder,)))
    for fields, sentence in (
        ({"measure": "joy"}, "measure must be one of score"),
        ({"measure": 3}, "measure must be a name, got 3"),
        ({"training": 1, "measure": "score"}, "training must be"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            table["/api/monitor/measure"](fields, Stop())
    answer = table["/api/monitor/measure"]({"measure": "score"}, Stop())
    values = np.frombuffer(answer.content, "<f4").reshape(3, 4)
    assert np.array_equal(values, History.load(training.folder)["score"])
