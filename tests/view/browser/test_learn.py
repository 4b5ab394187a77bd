"""The Learn view in a real browser: ask first, answer after, by mouse and by keyboard."""

import pytest

import regard
from regard.view.page.routes.learn_routes import course_page

PAGES = range(1, 10)


def opened(page, fields=""):
    page.goto(f"/#learn{fields}")
    page.locator(".lesson-page h1").wait_for()


@pytest.mark.parametrize("number", PAGES)
def test_every_page_asks_before_it_answers(page, number):
    opened(page, f"?page={number}")
    answer, choices = page.locator(".answer"), page.locator(".choices button")
    assert answer.is_hidden()
    assert choices.count() >= 2
    assert page.locator(".choices .right").count() == 0
    choices.first.click()
    assert answer.is_visible()
    assert page.locator(".choices .right").count() == 1
    said = page.locator(".verdict").inner_text()
    assert said == "Yes." or said.startswith("Not quite. It is: ")
    text = page.locator(".lesson-page").inner_text()
    for fault in ("{", "}", "undefined", "NaN", "null", "[object"):
        assert fault not in text
    assert f"page={number}&answer=1" in page.url or page.url.endswith("#learn?answer=1")


def test_progress_is_in_the_address_and_going_back_works(page):
    opened(page)
    page.get_by_role("button", name="Next").click()
    page.get_by_role("heading", name="One asks, the others answer").wait_for()
    assert page.url.endswith("#learn?page=2")
    page.get_by_role("link", name="5. Why divide?").click()
    page.get_by_role("heading", name="Why divide?").wait_for()
    page.go_back()
    page.get_by_role("heading", name="One asks, the others answer").wait_for()
    page.reload()
    page.get_by_role("heading", name="One asks, the others answer").wait_for()


def test_a_course_done_by_keyboard(page):
    opened(page)
    page.locator(".choices button").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".verdict").inner_text() == "Yes."
    page.locator("[data-side=query]", has_text="it").first.focus()
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.textContent") == "because"
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="One asks, the others answer").wait_for()
    # The new page begins at its heading, so that a screen reader goes on there.
    assert page.evaluate("document.activeElement.tagName") == "H1"


def test_the_divisor_moves_the_row(page):
    opened(page, "?page=5&answer=3")
    slider = page.get_by_label("Divide the scores by")
    largest = page.locator(".answer .share .number").first
    before = float(largest.inner_text())
    slider.focus()
    page.keyboard.press("End")
    flat = float(largest.inner_text())
    page.keyboard.press("Home")
    sharp = float(largest.inner_text())
    assert flat < before < sharp == 1.0


def test_a_phone_shows_it_without_scrolling_sideways(new_page, sideways):
    page = new_page(width=390, height=844)
    for number in PAGES:
        opened(page, f"?page={number}&answer=1")
        page.locator(f"p:text('Page {number} of')").wait_for()
        page.locator(".verdict").wait_for()
        assert sideways(page) == 0, f"page {number}"


def test_an_odd_address_is_taken_as_a_page(page):
    for fields in ("?page=99", "?page=-3", "?page=x&answer=77"):
        opened(page, fields)
        assert page.locator(".choices button").count() >= 2
        assert page.locator(".answer").is_hidden()


@pytest.mark.parametrize(
    ("number", "address", "statement"),
    [
        (1, "sentence=A+dog+ate+the+food+because+it+was+hungry", "it looks at dog"),
        (5, "#steps?from=good&divide=no", "I puts 100 % on I"),
        (8, "#steps?sentence=The+cat+sat+on+the+mat", "The entropy of a row went from"),
        (9, "sentence=A+dog+ate+the+food+because+it+was+delicious", "it looks at dog"),
    ],
)
def test_on_to_the_live_views(page, number, address, statement):
    opened(page, f"?page={number}&answer=1")
    page.locator(".onward").focus()
    page.keyboard.press("Enter")  # a mouse would point at whatever appears under it
    page.locator(".statement, .changed-statement", has_text=statement).first.wait_for()
    assert address in page.url


def test_a_lesson_can_be_kept_once_it_is_answered(page):
    opened(page, "?page=3")
    page.get_by_text("Save", exact=True).click()
    page.get_by_text("There is nothing to save here yet.").wait_for()
    page.keyboard.press("Escape")
    page.locator(".choices button").first.click()
    page.get_by_text("Save", exact=True).click()
    with page.expect_download() as kept:
        page.get_by_role("menuitem", name="CSV").click()
    text = kept.value.path().read_text()
    assert "0.404" in text


def test_the_whole_course_from_a_file(offline_page):
    kept = {}
    read = lambda text: kept.setdefault(text, regard.read(text))  # noqa: E731
    page = offline_page(course_page(read, read))
    for number in PAGES:
        page.locator(f"p:text('Page {number} of')").wait_for()
        page.locator(".choices button").last.click()
        page.locator(".verdict").wait_for()
        assert page.locator(".onward").count() == 0  # the other views are not in the file
        if number < len(PAGES):
            page.get_by_role("button", name="Next").click()
