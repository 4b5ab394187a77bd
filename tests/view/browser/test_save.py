"""Save, in every view: the numbers of the library, the text as text, with and without a server."""

import csv
import io
import json
import struct
from xml.etree import ElementTree

import numpy as np
import pytest

import regard
from regard.view.page.embed import offline_page as one_file

SENTENCE = "A dog ate the food because it was hungry"
HOSTILE = "</script><img src=x onerror=alert(1)> dog"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def reading():
    return regard.read(SENTENCE)


def texts(svg: bytes) -> list[str]:
    return [x.text or "" for x in ElementTree.fromstring(svg).iter(SVG + "text")]  # noqa: S314


def test_a_read_head(page, saved, reading):
    page.goto(f"/#read?sentence={SENTENCE.replace(' ', '+')}&layer=3&head=6&q=6")
    page.locator(".head-said", has_text="Layer 3, head 6").wait_for()
    page.locator(".french .word").first.wait_for()
    files = saved(page)
    name = "a-dog-ate-the-food-because-it-was-hungry"
    endings = ("svg", "png", "pdf", "json", "csv", "html", "card.svg", "card.png")
    assert set(files) == {f"{name}.{x}" for x in endings}
    weights = reading.weights(layer=3, head=6)
    held = json.loads(files[f"{name}.json"])
    # The page computes between words in float32 from float32 weights between tokens.
    np.testing.assert_allclose(held["weights"], weights, atol=1e-6)
    rows = list(csv.reader(io.StringIO(files[f"{name}.csv"].decode())))
    np.testing.assert_allclose(np.array(rows)[1:, 1:].astype(float), weights, atol=1e-6)
    words = texts(files[f"{name}.svg"])
    assert {"query (looks)", "key (is looked at)", *reading.words} <= set(words)
    assert any(f"regard {regard.__version__}" in line for line in words)
    assert files[f"{name}.pdf"].startswith(b"%PDF")
    assert files[f"{name}.png"].startswith(b"\x89PNG")
    assert "it looks at" in " ".join(texts(files[f"{name}.card.svg"]))
    assert struct.unpack(">II", files[f"{name}.card.png"][16:24]) == (1200, 630)


def test_the_saved_page_opens_where_it_was(offline_page, page, saved):
    page.goto(f"/#read?sentence={SENTENCE.replace(' ', '+')}&part=cross&layer=1&head=2")
    page.locator(".head-said", has_text="Layer 1, head 2 (French looks at English)").wait_for()
    html = next(x for name, x in saved(page).items() if name.endswith(".html")).decode()
    opened = offline_page(html)
    opened.locator(".head-said", has_text="Layer 1, head 2 (French looks at English)").wait_for()
    opened.get_by_role("button", name="Other heads").click()
    opened.locator(".run-about", has_text="Layer 1, head 2").wait_for()
    assert opened.locator("canvas.map-canvas").count() == 1


def test_a_stage_of_the_steps(page, saved, reading):
    page.goto(f"/#steps?sentence={SENTENCE.replace(' ', '+')}&layer=3&head=6&cell=scaled.6.1")
    page.locator(".why:not(:empty)").wait_for()
    files = saved(page)
    held = json.loads(next(x for name, x in files.items() if name.endswith(".json")))
    assert held["what"] == "scaled"
    np.testing.assert_allclose(held["weights"], reading.steps(3, 6).scaled, rtol=1e-9, atol=1e-9)


def test_without_a_server_all_but_pdf_and_html(offline_page, saved):
    page = offline_page(one_file(regard.read(HOSTILE)))
    page.locator(".head-said span:not(:empty)").first.wait_for()
    files = saved(page)
    assert {name.rpartition(".")[2] for name in files} == {"svg", "png", "json", "csv"}
    svg = next(x for name, x in files.items() if name.endswith(".svg"))
    kinds = {x.tag.removeprefix(SVG) for x in ElementTree.fromstring(svg).iter()}  # noqa: S314
    assert kinds <= {"svg", "title", "desc", "rect", "g", "path", "text"}
    assert any("</script>" in text for text in texts(svg))


def test_a_file_saved_in_any_view_holds_the_experiments(offline_page, page, saved, reading):
    """Switched off in Look, saved in Map; a second run says the same as the page did."""
    head = reading.highlight().link
    change = f"ablate.encoder.{head.layer}.{head.head}"
    page.goto(f"/#read?sentence={SENTENCE.replace(' ', '+')}&changes=knock_out.1")
    page.locator(".tried .outcome").wait_for()
    page.evaluate(f"location.hash = location.hash.replace('knock_out.1', '{change}')")
    page.locator(".tried > ul > li").nth(1).wait_for()
    page.get_by_role("link", name="Map").click()
    page.locator(".map-what", has_text="exact").wait_for()
    html = next(x for name, x in saved(page).items() if name.endswith(".html")).decode()
    opened = offline_page(html)
    opened.locator(".map-what", has_text="exact").wait_for()  # the map, as it was
    opened.get_by_role("link", name="Look").click()
    opened.locator(".tried .odds").nth(1).wait_for()
    told = [x.replace("\xa0", " ") for x in opened.locator(".tried .outcome").all_text_contents()]
    again = [reading.ablate(head.layer, head.head, part="encoder"), reading.knock_out(1)]
    assert told == [x.after.translation for x in again]
    assert opened.locator(".tried button").count() == 0  # nothing can run there
