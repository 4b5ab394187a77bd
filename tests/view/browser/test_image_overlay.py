"""The picture that a watched model was given, above its text."""

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
    about = open_run(tmp_path / "run.regard").about()
    assert [part["name"] for part in about["parts"]] == ["decoder", "encoder"]
    (image,) = about["images"]
    assert image["picture"].startswith("data:image/png;base64,")
    assert (image["width"], image["height"], image["area"]) == (60, 40, list(AREA))
    assert image["parts"]["decoder"]["cells"] == [-1, -1, *range(16), -1, -1, -1]
    assert image["parts"]["encoder"]["cells"] == [-1, *range(16)]


def test_tokens_light_patches_and_patches_are_compared(offline_page, sideways, seen):
    page = offline_page(one_file(seen), width=390)
    boxes = page.locator(".image-overlay rect")
    boxes.first.wait_for(state="attached")
    assert boxes.count() == 16
    assert page.locator(".t.patch").count() == 16
    page.get_by_label("Order of the heads").select_option("layer")
    page.locator('.head[data-layer="0"][data-head="0"]').click()
    page.locator(".text-frame:visible .t").last.click()
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
    boxes.nth(6).click()
    page.locator('.text-frame:visible .aimed[data-t="8"]').wait_for()
    assert page.locator('[data-t="8"]').get_attribute("title") == "patch 1,2"
    assert page.locator(".image-overlay rect.chosen").count() == 1
    assert "key=8" in page.url
    assert sideways(page) == 0
    page.get_by_role("button", name="encoder").click()
    page.locator(".image-overlay figcaption", has_text="on this image").wait_for()
