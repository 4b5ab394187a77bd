"""Layers without a softmax in the run view: arcs in two colours, what cancels, a diverging map."""

import re

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")

from tests.helpers.own_mixers import hybrid_model  # noqa: E402

import regard  # noqa: E402

IDS = torch.randint(3, 64, (1, 20), generator=torch.Generator().manual_seed(1))


def test_a_row_is_drawn_in_two_colours(serve, new_page, noticed, tmp_path):
    model = hybrid_model()
    with torch.no_grad(), regard.watch(model, mixers=True) as seen:
        model(input_ids=IDS)
    seen.save(tmp_path / "run.regard")
    home = serve(tmp_path / "run.regard")
    noticed.homes.append(home)
    page = new_page()
    page.goto(f"{home}/#map")
    panel = page.locator("section.mixers")
    panel.locator("svg").wait_for()
    (mixer,) = seen.mixers
    assert_row(panel, mixer, head=0, row=19)
    panel.get_by_label("Head of this layer").select_option("1")
    panel.get_by_label("Row of this layer").fill("12")
    assert_row(panel, mixer, head=1, row=12)
    colours = panel.locator("canvas").evaluate(
        """canvas => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, 20, 20);
            return Array.from({ length: 400 }, (_, at) => [data[4 * at], data[4 * at + 2]]);
        }"""
    )
    box = panel.locator("canvas").bounding_box()
    assert box["height"] == pytest.approx(box["width"], rel=0.02)  # 20 rows of 20 tokens
    drawn = mixer.drawn[1].reshape(-1)
    for share, (red, blue) in zip(drawn, colours, strict=True):
        if abs(share) > 0.3 * abs(drawn).max():
            assert (red > blue) == (share < 0)


def assert_row(panel, mixer, head, row):
    line = mixer.drawn[head, row]
    for kind, expected in (("adds", line >= 0.005), ("back", line <= -0.005)):
        assert panel.locator(f"path.{kind}").count() == expected.sum()
    told = panel.locator("p[role=status]").inner_text()
    parts = [int(x) for x in re.findall(r"(\d+)\s?%", told)]
    back = -line[line < 0].sum()
    shares = [1 - back, back, mixer.cancelled[head]]
    assert shares == pytest.approx([x / 100 for x in parts], abs=0.01)  # "< 1 %" is one of them
