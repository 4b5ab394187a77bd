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
    page.locator(".statement:not(:empty)").wait_for()
    assert page.locator("img, #bold").count() == 0
    assert sideways(page) == 0
    words = page.locator("[data-side=query]").all_inner_texts()
    assert words == list(reading.words)
    page.locator("[data-side=query]").first.hover()
    page.locator(".statement", has_text=f"in layer {reading.highlight().link.layer}").wait_for()


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
    page.locator(".statement:not(:empty)").wait_for()
    page.locator("[data-side=query]").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("[data-side=query][aria-pressed=true]", has_text="am").wait_for()
