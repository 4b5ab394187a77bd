"""Pictures under attention: kinds of input, what a processor leaves of them, and what is drawn."""

import base64
import io
import json
import re
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hf
from PIL import Image
from tests.helpers.watching import seen_by

import regard
from regard.errors import ArgumentError, BackendError, FileError
from regard.watcher.media import picture_bytes
from regard.watcher.media.image_attention import ImageAttention
from regard.watcher.media.picture_bytes import FULL_AREA, PNG, PictureBytes, processed_area

VISION = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
          "intermediate_size": 24, "image_size": 8, "patch_size": 2}  # fmt: skip
COLOURS = np.zeros((40, 60, 3), np.uint8)
COLOURS[:20, :40] = (200, 30, 40)


def encoded(kind="PNG", colours=COLOURS, **options):
    file = io.BytesIO()
    Image.fromarray(colours).save(file, format=kind, **options)
    return file.getvalue()


def attention(**changes):
    weights = np.array([[0.1, 0.0, 0.05], [0.4, 0.25, 0.1]])
    return ImageAttention(weights, {"class token": 0.1}, "a <b> looks", **changes)


@pytest.fixture(scope="module")
def seen():
    model = hf.ViTModel(hf.ViTConfig(**VISION)).eval()
    return seen_by(model, {"pixel_values": torch.zeros(1, 3, 8, 8)})


@pytest.mark.parametrize("pillow", [True, False], ids=["pillow", "without"])
def test_kinds_of_pictures(pillow, tmp_path, monkeypatch):
    """A path, bytes, an array and an image of Pillow have the same size; base64 holds the file."""
    if not pillow:
        monkeypatch.setattr(picture_bytes.importlib.util, "find_spec", lambda name: None)
    path = tmp_path / "a.jpg"
    path.write_bytes(encoded("JPEG"))
    for one in (path, str(path), encoded(), COLOURS, COLOURS[..., 0], Image.fromarray(COLOURS)):
        picture = PictureBytes.from_any(one)
        assert (picture.width, picture.height) == (60, 40)
        kind, data = re.fullmatch(r"data:(image/\w+);base64,(.*)", picture.uri).groups()
        assert base64.b64decode(data) == picture.data
        assert kind == ("image/jpeg" if isinstance(one, str | Path) else "image/png")
    assert PictureBytes.from_any(path).data == path.read_bytes()


def test_a_picture_of_a_turned_camera_is_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    picture = PictureBytes.from_any(encoded("JPEG", exif=exif))
    assert (picture.width, picture.height) == (40, 60)
    small = PictureBytes.from_any(encoded("BMP")).small(30)
    assert (small.width, small.height, small.mime) == (30, 20, "image/jpeg")


NOT_IMAGES = [
    ("gone.png", None, "gone.png must be an image file: No such file or directory."),
    ("note.png", b"a note", "note.png must be an image, and it cannot be read as one."),
]


@pytest.mark.parametrize(("name", "content", "message"), NOT_IMAGES, ids=lambda x: str(x)[:8])
def test_what_is_no_image(name, content, message, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError) as refused:
        PictureBytes.from_any(tmp_path / name)
    assert str(refused.value) == f"{tmp_path}/{message}"


def png_header(width, height):
    """A PNG file of that size whose pixels are missing."""

    def chunk(kind, content):
        ends = (struct.pack(">I", x) for x in (len(content), zlib.crc32(kind + content)))
        return (kind + content).join(ends)

    about = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(100))
    return PNG + chunk(b"IHDR", about) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (30_000, "an image of at most 178,956,970 pixels, got more: make it smaller."),
        (100, "an image, and it is damaged: image file is truncated (0 bytes not processed)."),
    ],
)
def test_an_image_that_cannot_be_opened(size, message):
    with pytest.raises(FileError) as refused:
        PictureBytes.from_any(png_header(size, size))
    assert str(refused.value) == f"the picture must be {message}"


def test_what_is_no_picture_at_all(monkeypatch):
    with pytest.raises(ArgumentError) as refused:
        PictureBytes.from_any(np.zeros((4, 4, 3)))
    assert str(refused.value) == (
        "a picture must be a file, its bytes, an image of Pillow or an array (rows, columns, "
        "3) of uint8, got float64 of shape (4, 4, 3)."
    )
    monkeypatch.setattr(picture_bytes.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileError) as unread:
        PictureBytes.from_any(encoded("BMP"))
    assert str(unread.value) == (
        "the picture must be a PNG or JPEG file; other kinds need Pillow: "
        "pip install 'regard[image]'."
    )
    with pytest.raises(BackendError) as missing:
        attention().save("a.png")
    assert str(missing.value) == (
        "an image as .png (.svg needs nothing) needs Pillow, not installed here: pip install "
        "'regard[image]'."
    )


@pytest.mark.parametrize("size", [(60, 40), (41, 97), (300, 100)], ids=str)
def test_the_area_is_what_the_processor_leaves(size):
    """The red of every pixel is its column, the green its row: what is left says where it was."""
    width, height = size
    colours = np.zeros((height, width, 3), np.uint8)
    colours[..., 0], colours[..., 1] = np.arange(width)[None] * 255 / width, np.arange(
        height)[:, None] * 255 / height  # fmt: skip
    crop = hf.CLIPImageProcessorPil(size={"shortest_edge": 64}, crop_size={"height": 48,
                                    "width": 48}, do_normalize=False, do_rescale=False)  # fmt: skip
    left = np.asarray(crop(colours)["pixel_values"][0], float) / 255
    area = processed_area(crop, width, height)
    # A pixel of 64, and what resizing blurs.
    assert area == pytest.approx(
        (left[0].min(), left[1].min(), left[0].max(), left[1].max()), abs=0.03
    )
    squeezed = hf.ViTImageProcessorPil(size={"height": 32, "width": 32})
    assert processed_area(squeezed, width, height) == FULL_AREA


def test_the_picture_of_a_run(seen):
    square = seen.image(COLOURS[:40, :40])
    assert square.area == FULL_AREA
    assert square.notes[0].startswith("No processor was given, so the grid is laid over all of")
    with pytest.raises(ArgumentError) as refused:
        seen.image(COLOURS)
    assert str(refused.value) == (
        "a picture of 60 x 40 pixels became 4 x 4 patches, and whether it was cropped or squeezed "
        "its processor knows: give it to watch, as in watch(model, processor=processor), or say "
        "area=(left, top, right, bottom) in fractions of the picture."
    )
    given = seen.with_picture(COLOURS, area=(0.25, 0, 0.75, 1)).image()
    assert (given.area, given.notes) == ((0.25, 0, 0.75, 1), ())
    assert given.picture.width == 60


def test_svg_is_complete_and_escaped():
    image = attention(picture=PictureBytes.from_any(COLOURS), area=(0.5, 0.0, 1.0, 1.0))
    root = ElementTree.fromstring(image.svg())  # noqa: S314 (our own)
    name = "{http://www.w3.org/2000/svg}"
    boxes = root.findall(f"{name}rect")[1:]
    assert len(boxes) == 6  # five cells with weight, and the frame of the largest
    assert root.find(f"{name}image").get("href") == image.picture.uri
    assert float(boxes[0].get("x")) == 240  # half of the picture's width
    frame = boxes[-1]
    assert (frame.get("x"), frame.get("y"), frame.get("fill")) == ("240.00", "160.00", "none")
    opacities = [float(box.get("fill-opacity")) for box in boxes[:-1]]
    weights = image.weights[image.weights > 0]
    np.testing.assert_allclose(opacities, 0.8 * weights / 0.4, atol=5e-4)
    texts = [text.text for text in root.findall(f"{name}text")]
    assert texts[0] == "a <b> looks"
    assert texts[1].startswith(
        "90.0 % of the row's weights on 2 x 3 patches, 10.0 % on class token."
    )
    assert image._repr_svg_() == image.svg()


def test_png_and_json(tmp_path):
    image = attention(picture=PictureBytes.from_any(COLOURS))
    drawn = np.asarray(Image.open(image.save(tmp_path / "a.png")))
    scale = drawn.shape[1] // 60  # small pictures are enlarged
    top = drawn[: 40 * scale]
    middles = top[10 * scale :: 20 * scale, 10 * scale :: 20 * scale].astype(int)
    blue_over_red = middles[..., 2] - middles[..., 0]
    assert blue_over_red[1, 0] > 80  # the largest weight
    assert blue_over_red[0, 1] < 0  # no weight: the picture's own red, pale
    orange = (top.astype(int) - np.array([0xD9, 0x63, 0x0B]) == 0).all(axis=-1)
    rows, columns = np.nonzero(orange)
    assert (rows.min() // (20 * scale), columns.max() // (20 * scale)) == (1, 0)
    plain = np.asarray(Image.open(attention().save(tmp_path / "b.png")))
    assert plain.shape[1] >= 256
    numbers = json.loads(image.save(tmp_path / "a.json").read_text())
    assert numbers == json.loads(json.dumps(image.to_dict()))
    assert (numbers["total"], numbers["others"]) == (pytest.approx(0.9), {"class token": 0.1})
    with pytest.raises(ArgumentError) as refused:
        image.save(tmp_path / "a.gif")
    assert str(refused.value) == ("an image's name must end in .png, .svg or .json, got '.gif'.")


def test_text():
    lines = str(attention()).splitlines()
    assert lines[0] == "a <b> looks."
    assert lines[1] == "90.0 % of the row's weights on 2 x 3 patches, 10.0 % on class token."
    assert lines[3:5] == ["  |==  --|", "  |@@##==|"]
    assert lines[7] == "    1       0  40.0 %     2.7x"


def test_a_file_keeps_the_picture(seen, tmp_path):
    framed = seen.with_picture(COLOURS, area=(0.25, 0, 0.75, 1))
    framed.save(tmp_path / "a.regard")
    again = regard.load(tmp_path / "a.regard")
    one, other = framed.image(layer=0), again.image(layer=0)
    assert one.to_dict() == other.to_dict()
    assert other.picture == one.picture
    again.save(tmp_path / "b.regard")
    assert regard.load(tmp_path / "b.regard").image(layer=0).svg() == one.svg()
    with pytest.raises(ArgumentError) as refused:
        seen.with_picture(COLOURS, COLOURS).save(tmp_path / "c.regard")
    assert str(refused.value) == (
        "a picture of 60 x 40 pixels became 4 x 4 patches, and whether it was cropped or squeezed "
        "its processor knows: give it to watch, as in watch(model, processor=processor), or say "
        "area=(left, top, right, bottom) in fractions of the picture."
    )
