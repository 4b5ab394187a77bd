"""The Learn view in a real browser: ask first, answer after, by mouse and by keyboard."""

import re

import pytest

import regard
from regard.view.page.routes.learn import PAGES, course_page

SCENES = range(1, len(PAGES) + 1)
# Words stand between isolates, which the page shows as quotation marks.
IT_LOOKS = re.compile(r"\bit\b.* looks at .*\b(dog|food)\b")
NUMBER = {name: number for number, name in enumerate(PAGES, 1)}


def scene_of(page, number):
    return page.locator(f'[data-scene="{number}"]')


def opened(page, fields="", number=1):
    page.goto(f"/#learn{fields}")
    page.locator(".lesson-page h1").wait_for()
    scene_of(page, number).locator(".choices button").first.wait_for()
    return scene_of(page, number)


def in_view(page, number):
    """Whether a scene's heading is in the window."""
    return page.evaluate(
        """(number) => {
          const heading = document.querySelector(`[data-scene="${number}"] h2`);
          if (!heading) return false;
          const { top } = heading.getBoundingClientRect();
          return top >= 0 && top < innerHeight;
        }""",
        number,
    )


# The most pixels that the page was wider than its window after any change, measured at once: a
# picture that is made for another width is too wide until the next frame.
MEASURE_WIDEST = """
  window.widest = 0;
  new MutationObserver(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    window.widest = Math.max(window.widest, scrollWidth - clientWidth);
  }).observe(document, { subtree: true, childList: true, attributes: true });
"""


def test_every_scene_asks_before_it_answers_and_fits(new_page, until, sideways):
    page = new_page(width=390, height=844)
    page.add_init_script(MEASURE_WIDEST)
    opened(page)
    for number in SCENES:
        scene = scene_of(page, number)
        answer, choices = scene.locator(".answer"), scene.locator(".choices button")
        choices.first.wait_for()
        assert answer.is_hidden()
        assert choices.count() >= 2
        assert scene.locator(".choices .right").count() == 0
        choices.first.click()
        assert answer.is_visible()
        assert scene.locator(".choices .right").count() == 1
        said = scene.locator(".verdict").inner_text()
        assert said == "Yes." or said.startswith("Not quite. It is: ")
        assert scene.locator(".scene-picture .live").count() == 1
        text = scene.inner_text()
        for fault in ("{", "}", "undefined", "NaN", "null", "[object"):
            assert fault not in text
        # The order of the fields is that in which they were set.
        fields = ["answer=1", *([f"page={number}"] if number > 1 else [])]
        until(page, lambda fields=fields: sorted(page.url.split("?")[1].split("&")) == fields)
        assert sideways(page) == 0, f"scene {number}"
    assert page.evaluate("window.widest") == 0
    page.set_viewport_size({"width": 1024, "height": 844})
    assert sideways(page) == 0, "all scenes with their answers, 1024 wide"


def test_progress_is_in_the_address_and_going_back_works(page, until):
    scene = opened(page)
    scene.get_by_role("button", name="Next").click()
    until(page, lambda: page.url.endswith("#learn?page=2") and in_view(page, 2))
    page.get_by_role("link", name="6. Why divide?").click()
    until(page, lambda: page.url.endswith("#learn?page=6") and in_view(page, 6))
    page.go_back()
    until(page, lambda: page.url.endswith("#learn?page=2") and in_view(page, 2))
    page.reload()
    until(page, lambda: page.url.endswith("#learn?page=2") and in_view(page, 2))


def test_scrolling_turns_the_address(page, until):
    opened(page)
    scene_of(page, 4).locator(".choices button").first.wait_for()
    page.evaluate("""document.querySelector('[data-scene="4"]').scrollIntoView()""")
    page.mouse.wheel(0, 1)  # a reader who scrolls is on no way of ours
    until(page, "location.hash === '#learn?page=4'")
    assert page.locator(".contents [aria-current=step]").inner_text() == "4. The fit is a score"


def test_a_copied_address_opens_its_scene_with_its_answer(page, until):
    scene = opened(page, "?page=9&answer=2", 9)
    scene.locator(".verdict").wait_for()
    until(page, lambda: in_view(page, 9))
    assert page.url.endswith("#learn?page=9&answer=2")


def test_a_course_done_by_keyboard(page, until):
    scene = opened(page)
    scene.locator(".choices button").first.focus()
    page.keyboard.press("Enter")
    assert scene.locator(".verdict").inner_text() == "Yes."
    scene.locator("[data-side=query]", has_text="it").first.focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.textContent") == "because"
    scene.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    # The new scene begins at its heading, so that a screen reader goes on there.
    until(page, "document.activeElement.textContent === 'Words become vectors'")


def test_the_divisor_moves_the_row(page):
    scene = opened(page, f"?page={NUMBER['division']}&answer=3", NUMBER["division"])
    slider = scene.get_by_label("Divide the scores by")
    largest = scene.locator(".scene-picture .share .number").first
    before = float(largest.inner_text())
    slider.focus()
    page.keyboard.press("End")
    flat = float(largest.inner_text())
    page.keyboard.press("Home")
    sharp = float(largest.inner_text())
    assert flat < before < sharp == 1.0


def test_a_mask_is_shown_with_exact_zeros(page):
    scene = opened(page, f"?page={NUMBER['mask']}&answer=1", NUMBER["mask"])
    rows = scene.locator(".weights-grid tbody tr")
    scene.locator(".weights-grid").wait_for()
    for row in range(rows.count()):
        cells = rows.nth(row).locator("td")
        assert cells.all_inner_texts()[row + 1 :] == ["0"] * (cells.count() - row - 1)


def test_the_picture_stands_beside_its_text(page):
    scene = opened(page, "?answer=1")
    text, picture = (scene.locator(x).bounding_box() for x in (".scene-text", ".scene-picture"))
    assert picture["x"] >= text["x"] + text["width"]


def test_an_odd_address_is_taken_as_a_scene(page):
    for fields, number in (("?page=99", len(PAGES)), ("?page=-3", 1), ("?page=x&answer=77", 1)):
        page.goto("about:blank")
        scene = opened(page, fields, number)
        assert scene.locator(".choices button").count() >= 2
        assert scene.locator(".answer").is_hidden()


@pytest.mark.parametrize(
    ("name", "address", "statement"),
    [
        ("look", "sentence=A+dog+ate+the+food+because+it+was+hungry", IT_LOOKS),
        ("division", "#steps?from=good&divide=no", "I puts 100 % on I"),
        ("position", "#steps?sentence=the+dog+saw+the+dog", "The entropy of a row went from"),
        pytest.param(
            "tell",
            "sentence=A+dog+ate+the+food+because+it+was+delicious",
            IT_LOOKS,
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_on_to_the_live_views(page, name, address, statement):
    scene = opened(page, f"?page={NUMBER[name]}&answer=1", NUMBER[name])
    scene.locator(".onward").focus()
    page.keyboard.press("Enter")  # a mouse would point at whatever appears under it
    page.locator(".statement, .changed-statement", has_text=statement).first.wait_for()
    assert address in page.url


def test_a_scene_can_be_saved_and_before_any_answer_the_first(page):
    scene = opened(page, f"?page={NUMBER['shares']}", NUMBER["shares"])
    page.get_by_text("Save", exact=True).click()
    with page.expect_download() as first:
        page.get_by_role("menuitem", name="CSV").click()
    assert '"hungry"' in first.value.path().read_text()
    page.keyboard.press("Escape")
    scene.locator(".choices button").first.click()
    page.get_by_text("Save", exact=True).click()
    with page.expect_download() as kept:
        page.get_by_role("menuitem", name="CSV").click()
    text = kept.value.path().read_text()
    assert "0.404" in text


def test_the_whole_course_from_a_file(offline_page, until):
    kept = {}
    read = lambda text: kept.setdefault(text, regard.read(text))  # noqa: E731
    page = offline_page(course_page(read, read))
    for number in SCENES:
        scene = scene_of(page, number)
        scene.locator(".choices button").last.click()
        scene.locator(".verdict").wait_for()
        assert scene.locator(".onward").count() == 0  # the other views are not in the file
        if number < len(PAGES):
            scene.get_by_role("button", name="Next").click()
            until(page, lambda number=number: in_view(page, number + 1))
    page.emulate_media(media="print")
    assert not page.locator(".contents").is_visible()
    assert all(scene_of(page, number).locator(".verdict").is_visible() for number in SCENES)
    assert page.locator(".turns:visible, .training-buttons:visible").count() == 0
    page.emulate_media(media="screen")
    watch_training(page, until)


# The largest weight of each row, in the picture of the transformer that the page trains.
LARGEST = """() => [...document.querySelectorAll(".training .weights-grid tbody tr")].map((row) => {
  const weights = [...row.querySelectorAll("td")].map((x) => Number(x.textContent) || 0);
  return weights.indexOf(Math.max(...weights));
})"""


def watch_training(page, until):
    """From the first step to the last, and back to the first."""
    assert page.locator(".training-status").inner_text().startswith("step 0")
    page.locator(".train").click()
    until(page, "document.querySelectorAll('.letters .right').length === 8")
    until(page, "document.querySelector('.train').disabled")
    assert page.locator(".letters .wrong").count() == 0
    # The first letter looks at the last, and so on: the other diagonal has the largest weights.
    assert page.evaluate(LARGEST) == list(range(7, -1, -1))
    page.get_by_role("button", name="Start again").click()
    assert page.locator(".training-status").inner_text().startswith("step 0")


@pytest.mark.nightly
def test_watching_it_learn(page, until):
    """The same with a server."""
    page.goto("/#learn?page=13")
    page.locator(".train").wait_for()
    watch_training(page, until)
