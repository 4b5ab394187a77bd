"""PDF without matplotlib: read back, its table, page, letters, numbers and widths are right."""

import os
import re
import sys
import zlib

import numpy as np
import pytest

import regard
from regard.transformer import Transformer
from regard.view.figure.drawing import Drawing, Label
from regard.view.figure.pdf import CODES, WIDTHS, runs, to_pdf
from regard.view.figure.picture import Picture

SENTENCE = "A dog ate the food because it was hungry"
HOSTILE = ") Tj ET \\ </script> & \x07 $x_1$"


@pytest.fixture(scope="module")
def reading():
    return regard.read(SENTENCE, model=Transformer.random(SENTENCE, layers=2, heads=2, width=16))


def objects(file: bytes) -> dict[int, bytes]:
    """The objects of a file, each from where its table says that it begins."""
    start = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", file)[1])
    table = file[start:].split(b"trailer")[0].split(b"\n")
    assert table[0] == b"xref"
    first, size = map(int, table[1].split())
    entries = [line + b"\n" for line in table[2 : 2 + size]]
    assert all(len(entry) == 20 for entry in entries)
    read = {}
    for number, entry in enumerate(entries[1:], start=first + 1):
        at = int(entry[:10])
        assert file[at:].startswith(b"%d 0 obj\n" % number)
        read[number] = file[at:].split(b"\nendobj\n")[0].split(b" obj\n", 1)[1]
    return read


def stream(body: bytes) -> bytes:
    header, content = body.split(b"\nstream\n", 1)
    length = int(re.search(rb"/Length (\d+)", header)[1])
    assert content[length:] == b"\nendstream"
    return zlib.decompress(content[:length])


def lines(file: bytes) -> list[str]:
    """The text of each label, letter by letter as the fonts have it."""
    content = stream(objects(file)[4]).decode("latin-1")
    symbols = {code: letter for letter, (code, _) in CODES.items()}
    texts = []
    for label in re.findall(r"BT (.*?) ET(?=\n)", content):
        text = ""
        for font, string in re.findall(r"/(F\d) [\d.]+ Tf \(((?:\\.|[^\\()])*)\) Tj", label):
            codes = re.sub(r"\\(.)", r"\1", string).encode("latin-1")
            text += "".join(map(symbols.get, codes)) if font == "F3" else codes.decode("cp1252")
        texts.append(text)
    return texts


def page_box(file: bytes) -> list[float]:
    return [float(x) for x in re.search(rb"/MediaBox \[(.*?)\]", objects(file)[3])[1].split()]


@pytest.mark.parametrize("kind", ["lines", "heatmap"])
def test_a_picture_has_its_words_its_provenance_and_its_size(reading, kind):
    picture = reading.picture(1, 0, word="it", kind=kind)
    file = to_pdf(picture.drawing)
    assert {*reading.words, *picture.axes} <= set(lines(file))
    assert f"regard {regard.__version__}" in " ".join(lines(file))
    assert lines(file) == [mark.text for mark in picture.drawing.marks if isinstance(mark, Label)]
    box = page_box(file)
    # Ten-thousandths of a point are written.
    np.testing.assert_allclose(box[2:], [picture.drawing.width, picture.drawing.height], atol=1e-4)
    assert file == to_pdf(reading.picture(1, 0, word="it", kind=kind).drawing)


def test_a_line_is_as_thick_and_as_opaque_as_in_the_drawing():
    names = (("a", "b"), ("c", "d"))
    picture = Picture(np.array([[0.25, 0.75], [1.0, 0.0]]), names, "lines", "T")
    file = to_pdf(picture.drawing)
    content = stream(objects(file)[4]).decode("latin-1")
    widths = sorted(float(x) for x in re.findall(r"RG ([\d.]+) w", content))
    assert widths == [1.75, 5.25, 7.0]
    assert b"/G0 << /CA 0.75 >>" in objects(file)[3]


def test_a_width_in_millimetres(reading):
    box = page_box(to_pdf(reading.picture(0, 0).drawing, mm=85))
    assert box[2] == pytest.approx(85 / 25.4 * 72, abs=1e-4)


def test_a_large_matrix_is_an_image_with_its_colours():
    names = tuple(map(str, range(60)))
    picture = Picture(np.eye(60), (names, names), "heatmap", "T")
    image = next(x for x in objects(to_pdf(picture.drawing)).values() if b"/Width 60" in x)
    colours = np.frombuffer(stream(image), np.uint8).reshape(60, 60, 3)
    assert colours[3, 3].tolist() != colours[3, 4].tolist() == [255, 255, 255]


def test_french_mathematics_and_hostile_text_are_letters():
    texts = ["été œuf « ça » garçon", "-∞ √64 × αβ", HOSTILE]
    drawing = Drawing(
        300, 100, tuple(Label(8, 20 * (1 + y), x) for y, x in enumerate(texts)), "é", ""
    )
    file = to_pdf(drawing)
    assert lines(file) == [*texts[:2], HOSTILE.replace("\x07", " ")]
    title = re.search(rb"/Title <FEFF([0-9A-F]+)>", objects(file)[5])[1]
    assert bytes.fromhex(title.decode()).decode("utf-16-be") == "é"


def test_letters_that_the_fonts_lack_are_numbered_and_the_page_says_so():
    file = to_pdf(Drawing(400, 40, (Label(8, 20, "犬 eats"),), "T", ""))
    assert lines(file) == [
        "‹72AC› eats",
        "‹…›: the Unicode number of a letter that the standard fonts of PDF lack. Save as SVG, or "
        "install matplotlib, to",
        "see the letters.",
    ]
    assert page_box(file)[3] == 40 + 2 * 9


@pytest.mark.parametrize(("anchor", "share"), [("start", 0), ("middle", 0.5), ("end", 1)])
def test_text_stands_where_its_anchor_says(anchor, share):
    file = to_pdf(Drawing(100, 50, (Label(60, 20, "dog", 10, anchor=anchor),), "T", ""))
    x, y = re.search(rb"([\d.]+) ([\d.]+) Tm", stream(objects(file)[4])).groups()
    width = 10 * sum(run.width for run in runs("dog"))
    assert (float(x), float(y)) == pytest.approx((60 - share * width, 30), abs=1e-4)


def test_widths_are_those_of_the_fonts():
    matplotlib = pytest.importorskip(
        "matplotlib", reason="needs the font metrics that come with matplotlib"
    )
    folder = os.path.join(matplotlib.get_data_path(), "fonts", "pdfcorefonts")
    for font, file in (("F1", "Helvetica"), ("F2", "Helvetica-Bold"), ("F3", "Symbol")):
        with open(os.path.join(folder, f"{file}.afm"), encoding="ascii") as text:
            entries = re.findall(r"^C (-?\d+) ; WX (\d+) ; N (\w+)", text.read(), re.MULTILINE)
        if font == "F3":
            by_code = {int(code): int(width) for code, width, _ in entries}
            assert dict(CODES.values()).items() <= by_code.items()
        else:
            by_name = {name: int(width) for _, width, name in entries}
            for letter in "AMWaijmw":
                assert WIDTHS[font][letter] == by_name[letter]
            for letter, name in {
                "é": "eacute",
                "œ": "oe",
                "ç": "ccedilla",
                "…": "ellipsis",
            }.items():
                assert WIDTHS[font][letter] == by_name[name]
            assert len(WIDTHS[font]) == 95 + 123 - 2  # no-break space and soft hyphen are drawn


def test_without_matplotlib_a_pdf_is_saved(reading, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    path = reading.picture(0, 0).save(tmp_path / "it.pdf")
    assert path.read_bytes() == to_pdf(reading.picture(0, 0).drawing)
