"""Files opened from disk: the same page, offline, and text that stays text in HTML and in SVG."""

from xml.etree import ElementTree

import pytest

import regard
from regard.view.page.embed import offline_page as one_file

HOSTILE = "</script><img src=x onerror=alert(1)>]]><b id='bold'>"
TEXTS = (HOSTILE, "مرحبا 🍕", "I am " + "very" * 12 + " good")


@pytest.fixture(scope="module", params=TEXTS, ids=["hostile", "right to left", "long"])
def reading(request):
    return regard.read(request.param)


def test_a_reading_from_disk(offline_page, sideways, reading):
    page = offline_page(one_file(reading), width=390)
    page.locator(".head-said span:not(:empty)").first.wait_for()
    assert page.locator("img, #bold").count() == 0
    assert sideways(page) == 0
    words = page.locator(".english [data-position]").all_text_contents()
    assert words == list(reading.words)
    page.locator(".english .word").first.hover()
    page.locator(".english .asking", has_text=reading.words[0]).wait_for()
    page.get_by_role("button", name="Other heads").click()
    page.locator(".ranked button").first.wait_for()
    assert page.locator("img, #bold").count() == 0
    assert sideways(page) == 0


def test_a_picture_as_svg(offline_page, reading):
    svg = reading.picture().svg()
    root = ElementTree.fromstring(svg)  # noqa: S314 (made here)
    kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert kinds.isdisjoint({"script", "image", "img", "a", "foreignObject", "b"})
    assert not any(name.startswith("on") for element in root.iter() for name in element.attrib)
    page = offline_page(f"<!doctype html><meta charset=utf-8>{svg}")
    assert page.locator("svg").count() == 1
    assert page.locator("img, #bold").count() == 0


def test_every_view_of_a_file_by_keyboard(offline_page):
    page = offline_page(one_file(regard.read("I am good")))
    page.locator(".asked").focus()
    page.keyboard.press("Home")
    page.locator(".english .asking", has_text="I").wait_for()
    page.get_by_role("link", name="Map").press("Enter")
    page.locator(".text-frame:visible .t").first.wait_for()
    page.locator(".text-frame:visible [tabindex]").first.focus()
    page.keyboard.press("End")
    page.locator(".statement", has_text="(end) looks at").wait_for()
