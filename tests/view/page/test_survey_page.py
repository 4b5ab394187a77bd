"""The report of a survey as one HTML file; text of documents is never markup."""

from pathlib import Path

import pytest

import regard
from regard.corpus.survey import Survey
from regard.view.page.embed import (
    survey_page,
)

pytest.importorskip("pyarrow", reason="needs pyarrow: pip install '.[survey]'")

HOSTILE = "</script><img src=x onerror=\"document.title='caught'\"><b>bold</b> {report} {style}"
TEXTS = [HOSTILE, "A dog ate the food because it was hungry.", "The cat saw the cat.", "I am good."]


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """A few documents through the shipped model."""
    place = tmp_path_factory.mktemp("survey")
    (place / "corpus.txt").write_text("\n".join(TEXTS * 2), encoding="utf-8")
    return regard.survey(place / "corpus.txt", out=place / "out", workers=1).report


@pytest.fixture(scope="session")
def html(report):
    return survey_page(Survey(Path(), report))


def test_a_grid_of_heads_and_the_one_that_is_chosen(offline_page, html, report):
    page = offline_page(html)
    assert page.locator(".survey-cell").count() == 48
    assert page.locator("h1").inner_text() == "48 heads over 8 documents"
    page.locator("#cell-13").click()
    page.get_by_role("heading", name="Layer 1, head 5").wait_for()
    role = report["heads"][13]["role"]  # layer 1, head 5
    assert f"{role['mean']:.0%}" in page.locator(".statement").inner_text()
    assert page.locator("#cell-13").get_attribute("aria-pressed") == "true"
    assert "head=encoder.1.5" in page.url


PRESSED = "id => document.getElementById(id).getAttribute('aria-pressed') === 'true'"


def test_another_measure_and_the_way_back(offline_page, html, report, until):
    page = offline_page(html)
    page.get_by_role("button", name="entropy", exact=True).click()
    page.get_by_role("button", name="entropy", exact=True, pressed=True).wait_for()
    first = report["heads"][0]["measures"]["entropy"]["mean"]
    page.locator("#cell-0", has_text=f"{first:.2f}").wait_for()
    before = page.locator('.survey-cell[aria-pressed="true"]').get_attribute("id")
    other = "cell-4" if before == "cell-3" else "cell-3"
    page.locator(f"#{other}").click()
    until(page, PRESSED, other)
    page.go_back()
    until(page, PRESSED, before)
    entropy = page.get_by_role("button", name="entropy", exact=True)
    assert entropy.get_attribute("aria-pressed") == "true"


def test_by_keyboard(offline_page, html):
    page = offline_page(html)
    page.locator("#cell-0").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Layer 1, head 1").wait_for()
    assert page.evaluate("document.activeElement.id") == "cell-9"


def test_documents_are_text_and_nothing_else(offline_page, html, report, until):
    page = offline_page(html)
    shown = set()
    hostile = [
        number
        for number, head in enumerate(report["heads"])
        if any(HOSTILE in one["text"] for one in head["examples"]["most"])
    ]
    for number in hostile[:3]:
        page.locator(f"#cell-{number}").click()
        until(page, PRESSED, f"cell-{number}")
        shown |= set(page.locator(".survey-examples .serif").all_inner_texts())
    assert HOSTILE in shown
    assert page.title() == "Survey · regard"
    assert page.locator("img").count() == 0


def test_the_policy_lets_nothing_else_in(html):
    assert "default-src 'none'" in html
    assert "unsafe-inline" not in html
    assert "innerHTML" not in html
    assert html.count("</script>") == 2


def test_it_fits(offline_page, sideways, html):
    page = offline_page(html)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert sideways(page) == 0, width
