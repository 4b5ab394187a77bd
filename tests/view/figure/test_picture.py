"""Pictures: the numbers drawn are the numbers computed, in every format, with any text."""

import csv
import io
import json
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import regard
from regard.errors import ArgumentError, BackendError, FileError
from regard.transformer import Transformer
from regard.view.figure.picture import Picture

SENTENCE = "A dog ate the food because it was hungry"
HOSTILE = '</script><img src=x onerror="alert(1)"> & \x07 $x_1$'
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def reading():
    return regard.read(SENTENCE, model=Transformer.random(SENTENCE, layers=2, heads=2, width=16))


@pytest.fixture(scope="module")
def seen():
    x = np.random.default_rng(0).normal(size=(2, 90, 4))
    return regard.observe(x, x, x, map=30)


def elements(svg: str, name: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(SVG + name))  # noqa: S314 (our own)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in elements(svg, "text")]


def picture_of(weights, names=None, **options) -> Picture:
    rows, columns = np.shape(weights)
    names = names or (tuple("abcdefgh"[:rows]), tuple("abcdefgh"[:columns]))
    return Picture(np.asarray(weights, float), names, options.pop("kind", "lines"), "T", **options)


def test_a_line_is_as_thick_as_its_weight():
    svg = picture_of([[0.25, 0.75], [0.995, 0.005]]).svg()
    widths = sorted(float(path.get("stroke-width")) for path in elements(svg, "path"))
    # In points at two digits: half a hundredth either way.
    np.testing.assert_allclose(widths, [7 * 0.25, 7 * 0.75, 7 * 0.995], atol=0.005)
    assert "Weights under 1 % are not drawn." in texts(svg)


def test_the_rows_drawn_are_those_of_the_reading(reading):
    picture = reading.picture(layer=1, head=0, word="it")
    np.testing.assert_array_equal(picture.weights, reading.weights(layer=1, head=0))
    assert picture.names == (reading.words, reading.words)
    assert picture.chosen == (6,)
    found = texts(picture.svg())
    assert {"query (looks)", "key (is looked at)", *reading.words} <= set(found)
    assert f'"{SENTENCE}"' in picture.provenance
    assert "encoder, layer 1, head 0" in picture.provenance
    assert f"regard {regard.__version__}" in picture.provenance


def test_without_a_head_it_is_the_highlight(reading):
    link = reading.highlight().link
    title = reading.picture().title
    assert title.startswith(f"Layer {link.layer}, head {link.head}")


def test_tokens_and_cross(reading):
    picture = reading.picture(0, 0, part="cross", by="tokens", kind="heatmap")
    assert picture.names == (reading.target.tokens, reading.source.tokens)


def test_a_cell_is_as_dark_as_its_number():
    picture = picture_of([[0.0, 1.0], [0.5, 0.5]], kind="heatmap")
    fills = [rect.get("fill") for rect in elements(picture.svg(), "rect")]
    assert fills[2:6] == ["#ffffff", "#0a306c", "#8fbfe0", "#8fbfe0"]
    assert {"0", "100", "50"} <= set(texts(picture.svg()))


def test_numbers_below_zero_have_their_own_colour_and_hidden_ones_none():
    picture = picture_of([[-2.0, -np.inf], [0.0, 1.0]], kind="heatmap", what="masked")
    fills = [rect.get("fill") for rect in elements(picture.svg(), "rect")]
    assert fills[2:6] == ["#732d02", "#ebebeb", "#ffffff", "#8fbfe0"]
    assert "-∞" in texts(picture.svg())


def test_every_stage_of_steps_can_be_drawn(reading):
    steps = reading.steps(0, 0, part="decoder")
    for stage in steps.stages():
        assert stage in texts(steps.picture(stage).svg())
    assert steps.picture("query").axes == ("token", "feature")
    assert steps.picture().kind == "lines"


def test_a_mixed_table_brings_its_explanation(reading):
    picture = reading.average().picture()
    assert picture.caption == reading.average().explanation
    np.testing.assert_array_equal(picture.weights, reading.average().weights_qk)


def test_few_weights_are_drawn_one_by_one_and_many_as_means_of_blocks(seen):
    picture = seen.picture(head=1)
    np.testing.assert_array_equal(picture.weights, seen.map[1].astype(float))
    assert picture.caption == (
        "Mean weight that a block of up to 4 queries gives to a block of up to 4 keys; each row "
        "sums to 1."
    )
    assert picture.names == (tuple(map(str, range(0, 90, 4))),) * 2
    assert len(elements(picture.svg(), "rect")) > 23 * 23
    x = np.eye(4)
    assert regard.observe(x, x, x).picture().caption == "Every weight."


def test_the_weights_between_two_sentences_of_a_pair(seen):
    picture = seen.picture(head=1, between=((0, 3), (40, 45)))
    np.testing.assert_array_equal(picture.weights, seen.tile(slice(0, 3), slice(40, 45), 1))
    assert picture.names == (("0", "1", "2"), ("40", "41", "42", "43", "44"))
    assert picture.title == "Head 1, queries 0 to 2, keys 40 to 44"
    for between, message in {
        ((0, 3), (4, 91)): "between must have 0 <= start < stop <= 90, got (4, 91).",
        (0, 3): "between must be two spans, (start, stop) of the queries and of the keys, got "
        "(0, 3).",
    }.items():
        with pytest.raises(ArgumentError) as caught:
            seen.picture(head=1, between=between)
        assert str(caught.value) == message


def test_a_large_matrix_is_an_image_inside_the_drawing():
    picture = picture_of(np.eye(60), (tuple(map(str, range(60))),) * 2, kind="heatmap")
    assert len(elements(picture.svg(), "image")) == 2  # the matrix and the bar
    assert {"0", "10", "50"} <= set(texts(picture.svg()))


@pytest.mark.parametrize("kind", ["lines", "heatmap"])
def test_text_is_shown_as_what_it_is(kind, tmp_path):
    names = ((HOSTILE, "b"), (HOSTILE, "b"))
    picture = picture_of(np.eye(2), names, kind=kind, caption=HOSTILE, provenance=HOSTILE)
    svg = picture.svg()
    assert not elements(svg, "img")
    assert not elements(svg, "script")
    assert any(text.startswith("</script><img") for text in texts(svg))
    for ending in ("png", "pdf"):  # $x_1$ is no formula, and nothing warns
        assert picture.save(tmp_path / f"it.{ending}").stat().st_size > 1000


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf", ".csv", ".json", ".html"])
@pytest.mark.parametrize("word", ["\ud83d", "\ufeff"], ids=ascii)
def test_half_a_character_and_none_at_all_can_be_saved(ending, word, tmp_path):
    steps = regard.self_attention(np.eye(2), np.eye(2), np.eye(2), np.eye(2), words=[word, "b"])
    content = steps.picture().save(tmp_path / f"it{ending}").read_bytes()
    if ending == ".json":
        assert json.loads(content)["queries"] == [word, "b"]


def test_csv_and_json_hold_every_digit(reading, tmp_path):
    picture = reading.picture(0, 1)
    rows = list(csv.reader(io.StringIO(picture.save(tmp_path / "it.csv").read_text())))
    assert rows[0] == ["", *reading.words]
    np.testing.assert_array_equal(np.array(rows[1:])[:, 1:].astype(float), picture.weights)
    held = json.loads(picture.save(tmp_path / "it.json").read_text())
    np.testing.assert_array_equal(held["weights"], picture.weights)
    assert held["queries"] == list(reading.words)


def test_a_word_is_no_formula_in_a_spreadsheet():
    assert "'=1+1" in picture_of(np.eye(2), (("=1+1", "b"),) * 2).content(".csv").decode()


def test_the_files_are_what_their_endings_say(reading, tmp_path):
    picture = reading.picture(0, 0)
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "json": b"{", "csv": b","}
    for ending, start in starts.items():
        assert picture.save(tmp_path / f"it.{ending}").read_bytes().startswith(start)
    assert picture.content(".pdf") == reading.picture(0, 0).content(".pdf")


def test_a_width_for_a_column_of_a_paper(reading):
    assert 'width="85mm"' in reading.picture(0, 0).svg(mm=85)
    assert reading.picture(0, 0)._repr_svg_() == reading.picture(0, 0).svg()


MISTAKES = {
    "ending": (
        lambda r: r.picture(0, 0).save("it.bmp"), ArgumentError,
        "a picture's file name must end in .svg, .png, .pdf, .json, .csv or .html, got '.bmp'.",
    ),
    "kind": (
        lambda r: r.picture(0, 0, kind="pie"), ArgumentError,
        "kind must be 'lines', 'heatmap' or 'card', got 'pie'.",
    ),
    "width": (
        lambda r: r.picture(0, 0).content(".svg", 2), ArgumentError,
        "mm must be 10 to 2000, got 2.",
    ),
    "folder": (
        lambda r: r.picture(0, 0).save("absent/it.svg"), FileError,
        "absent/it.svg cannot be written: its folder does not exist. Make the folder, or choose "
        "another path.",
    ),
    "no head": (
        lambda r: r.picture(part="cross"), ArgumentError,
        "a picture of 'cross' needs a layer and a head, such as layer=0, head=0.",
    ),
    "lines of scores": (
        lambda r: r.steps(0, 0).picture("scores", kind="lines"), ArgumentError,
        "lines show weights, but this is scores: use kind='heatmap'.",
    ),
    "too many lines": (
        lambda r: picture_of(np.eye(101), (("x",) * 101,) * 2), ArgumentError,
        "a picture with lines has room for 100 words a side, got 101: use kind='heatmap'.",
    ),
    "no page": (
        lambda r: picture_of(np.eye(2)).save("it.html"), ArgumentError,
        "this picture has no page to explore: save it as .svg, .png, .pdf, .json or .csv.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(reading, mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, kind, message = mistake
    with pytest.raises(kind) as caught:
        call(reading)
    assert str(caught.value) == message


@pytest.mark.parametrize("ending", [".png", ".pdf"])
def test_without_matplotlib_the_way_out_is_said(reading, ending, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(BackendError) as caught:
        reading.picture(0, 0).content(ending)
    assert str(caught.value) == (
        ".png and .pdf need matplotlib, which is not installed: pip install 'regard[picture]', "
        "save as .svg, which any browser prints as PDF, or save the PNG in the page: regard open."
    )
