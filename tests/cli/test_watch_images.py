"""regard watch --image: models of images in folders, and everything that can be wrong."""

import json

import numpy as np
import pytest
import transformers as hf
from PIL import Image
from tests.helpers.media_models import VISION, image_tokenizer, llava, llava_processor
from tests.helpers.shared_modules import sharp

import regard
from regard.cli import main


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A vision model, one without a processor, a model of text and images, and a picture."""
    folder = tmp_path_factory.mktemp("models")
    vit = sharp(hf.ViTForImageClassification(hf.ViTConfig(**VISION)))
    for name in ("vit", "bare"):
        vit.save_pretrained(folder / name)
    hf.ViTImageProcessorPil(size={"height": 8, "width": 8}).save_pretrained(folder / "vit")
    llava().save_pretrained(folder / "llava")
    llava_processor().save_pretrained(folder / "llava")
    text = hf.BertConfig(vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                         intermediate_size=24)  # fmt: skip
    hf.BertModel(text).save_pretrained(folder / "bert")
    image_tokenizer().save_pretrained(folder / "bert")
    colours = np.zeros((60, 90, 3), np.uint8)
    colours[20:40, 30:60] = (250, 200, 20)
    Image.fromarray(colours).save(folder / "cat.jpg")
    (folder / "note.jpg").write_text("no image")
    return folder


def run(capsys, *arguments):
    """Status, output and errors of a command."""
    status = 0
    try:
        main(["watch", *map(str, arguments)])
    except SystemExit as end:
        status = end.code or 0
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_vision_model(folders, capsys, tmp_path):
    saved = tmp_path / "cat.png"
    image = ("--image", folders / "cat.jpg")
    status, out, err = run(capsys, folders / "vit", *image, "--head", "1.0", "--save", saved)
    assert (status, err) == (0, f"Saved as {saved}.\n")
    lines = out.splitlines()
    assert lines[0] == "Weights on image 0 of the class token (encoder layer 1, head 0)."
    assert "of the row's weights on 4 x 4 patches" in lines[1]
    assert max(map(len, lines)) <= 80
    drawn = np.asarray(Image.open(saved))
    assert drawn.shape[1] == 270  # 90 pixels, enlarged
    status, out, err = run(capsys, folders / "vit", *image, "--head", "1.0", "--json")
    numbers = json.loads(out)
    row, column = np.unravel_index(np.argmax(numbers["weights"]), (4, 4))
    assert f"  {row:>3} {column:>7} " in lines[9]
    assert numbers["total"] + numbers["others"]["class token"] == pytest.approx(1)
    assert numbers["area"] == [0, 0, 1, 1]  # the processor squeezes


def test_a_model_of_text_and_images(folders, capsys, tmp_path):
    saved = tmp_path / "cat.regard"
    asked = ("what is this ?", "--image", folders / "cat.jpg", "--generate", 4)
    status, out, err = run(capsys, folders / "llava", *asked, "--save", saved)
    assert (status, err) == (0, f"Saved as {saved}.\n")
    assert out.startswith("Written: ")
    assert "word  on image  strongest patch (row, column)" in out
    assert "Weights on image 0 of queries 19 to 22 (decoder, mean of 2 layers, mean of all" in out
    seen = regard.load(saved)
    image = seen.image(query=(19, 23))
    assert image.area == pytest.approx((1 / 6, 0, 5 / 6, 1))  # a square of three by two
    assert image.picture.width == 90
    page, twice = tmp_path / "cat.html", ("--image", folders / "cat.jpg")
    status, out, _ = run(
        capsys, folders / "llava", *asked, *twice, "--find", "this", "--json", "--save", page
    )
    assert status == 0
    embedded = page.read_text()
    assert embedded.count("data:image/jpeg;base64,") == 2
    assert '"views": ["map"]' in embedded
    status, out, _ = run(capsys, folders / "llava", *asked, "--find", "this", "--json")
    numbers = json.loads(out)
    assert numbers["title"].startswith("Weights on image 0 of 'this' when read (decoder, mean")
    np.testing.assert_allclose(numbers["weights"], seen.image(word="this").weights, atol=1e-6)


WRONG = [
    (("vit", "--image", "gone.jpg"),
     "gone.jpg must be an image file: No such file or directory."),
    (("vit", "--image", "note.jpg"),
     "note.jpg must be an image, and it cannot be read as one."),
    (("bare", "--image", "cat.jpg"),
     "bare must hold the processor of its images with the model, and it has none of "
     "preprocessor_config.json, processor_config.json: save it there with "
     "processor.save_pretrained."),
    (("bert", "a cat", "--image", "cat.jpg"),
     "--image needs a model that takes images, and bert is a model of type 'bert': leave --image "
     "out, or take another folder."),
    (("vit", "a cat", "--image", "cat.jpg"),
     "ViTModel reads no text, and one is given: leave it out."),
    (("vit", "--image", "cat.jpg", "--generate", "3"),
     "--generate needs a model that generates text; ViTModel only reads it."),
    (("llava", "--image", "cat.jpg"),
     "LlavaForConditionalGeneration needs a text with its image, as in regard watch FOLDER "
     '"What is this?" --image cat.jpg.'),
    (("vit", "--image", "cat.jpg", "--head", "3"),
     "--head must be a layer and a head, such as 3.6 or cross.3.6, got '3'."),
    (("bert", "a cat", "--head", "0.0"), "--head shows a head on an image: add --image FILE."),
    (("bert",), "watch needs a text in quotes, @file, or --image FILE."),
    (("vit", "--image", "cat.jpg", "--save", "a.gif"),
     "--save must end in .png, .svg, .json, .html or .regard, got 'a.gif'."),
    (("nothing", "--image", "cat.jpg"),
     "a model of images must be a folder with a config.json, and nothing has none."),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=str)
def test_errors_are_one_sentence(folders, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(folders)
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert " ".join(err.split()) == f"error: {message}"
