"""The worksheet in a real browser: it prints on A4, and asks nobody for anything."""

import re

import pytest

from regard.textbook.examples import run_example
from regard.view.worksheet.worksheet import by_hand

A4 = (595, 842)  # points


def pages(pdf: bytes) -> list[tuple[int, int]]:
    """The sizes of the pages, in points."""
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf)
    return [(round(float(width)), round(float(height))) for width, height in boxes]


@pytest.mark.parametrize("name", ["robots", "good"])
def test_it_prints_on_a4_with_the_key_apart(offline_page, name):
    steps = run_example(name).steps
    page = offline_page(steps.worksheet().html())
    with_key = pages(page.pdf(prefer_css_page_size=True))
    page = offline_page(steps.worksheet().html(answers=False))
    without = pages(page.pdf(prefer_css_page_size=True))
    assert len(with_key) > len(without) >= 1
    assert all(abs(a - b) <= 1 for size in with_key for a, b in zip(size, A4, strict=True))


def test_nothing_is_wider_than_the_paper(offline_page, sideways):
    """Twelve long words, 182 mm of room: 688 pixels."""
    sentence = " ".join(f"extraordinarily{letter}" for letter in "abcdefghijkl")
    page = offline_page(by_hand(sentence).worksheet(every_row=True).html(), width=720)
    page.emulate_media(media="print")
    assert sideways(page) == 0
