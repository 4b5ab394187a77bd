"""The picture that a watched model was given, above the words of the Read view."""

import numpy as np
import pytest
import torch
from tests.helpers.media_models import IMAGE, llava, pixels

import regard
from regard.view.page.embed import offline_page as one_file
from regard.view.page.runs import open_run

COLOURS = np.zeros((40, 60, 3), np.uint8)
AREA = (1 / 6, 0.0, 5 / 6, 1.0)


@pytest.fixture(scope="module")
def seen():
    """A text of five tokens around an image of 4 x 4 patches."""
    model = llava()
    ids = torch.tensor([[1, 5, *[IMAGE] * 16, 6, 7, 8]])
    with torch.no_grad(), regard.watch(model) as seen:
        model(input_ids=ids, pixel_values=pixels(1, 3, 8, 8))
    return seen.with_picture(COLOURS, area=AREA)


def test_the_data_of_a_file(seen, tmp_path):
    seen.save(tmp_path / "run.regard")
    reading = open_run(tmp_path / "run.regard").reading
    assert [part["name"] for part in reading["parts"]] == ["decoder", "encoder"]
    (image,) = reading["images"]
    assert image["picture"].startswith("data:image/png;base64,")
    assert (image["width"], image["height"], image["area"]) == (60, 40, list(AREA))
    assert image["parts"]["decoder"]["cells"] == [-1, -1, *range(16), -1, -1, -1]
    assert image["parts"]["encoder"]["cells"] == [-1, *range(16)]
    for side in ("query", "key"):
        tokens = reading["parts"][0][side]["tokens"]
        assert tokens[1:4] == ["1", "patch 0,0", "patch 0,1"]


def test_words_light_patches_and_patches_words(offline_page, sideways, seen):
    page = offline_page(one_file(seen), width=390)
    boxes = page.locator(".image-overlay rect")
    boxes.first.wait_for(state="attached")
    assert boxes.count() == 16
    page.locator("[data-side=query]").last.hover()
    expected = seen.image(part="decoder", layer=0, head=0, query=-1)
    (row, column, weight), *_ = expected.strongest(1)
    caption = page.locator(".image-overlay figcaption")
    caption.get_by_text(f"{100 * expected.total:.1f} % on this image").wait_for()
    assert f"most in row {row}, column {column} ({100 * weight:.1f} %" in caption.inner_text()
    opacities = boxes.evaluate_all("all => all.map((box) => Number(box.style.fillOpacity))")
    np.testing.assert_allclose(
        opacities, 0.8 * expected.weights.reshape(-1) / weight, rtol=0, atol=1e-5
    )
    # The grid lies on the middle two thirds of the picture.
    frame, first = page.locator(".image-frame").bounding_box(), boxes.first.bounding_box()
    assert first["x"] == pytest.approx(frame["x"] + frame["width"] / 6, abs=1)
    assert first["width"] == pytest.approx(frame["width"] / 6, abs=1)
    boxes.nth(6).hover()
    page.locator(".statement", has_text="patch 1,2").wait_for()
    assert page.locator(".image-overlay rect.chosen").count() == 1
    boxes.nth(6).click()
    page.locator('[data-side=key][data-position="8"][aria-pressed=true]').wait_for()
    assert "k=8" in page.url
    assert sideways(page) == 0
    page.get_by_role("tab", name="encoder").click()
    page.locator(".image-overlay figcaption", has_text="all rows on average").wait_for()
