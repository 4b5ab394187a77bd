"""The command `python -m train`, as it is called."""

import gzip

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")
pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu: pip install 'regard[train]'")

import torch

from regard.transformer import load_model, read
from train.__main__ import app
from train.data import read_marked
from train.loop import DivergedError
from train.recipe import TrainingJob
from train.run import finish


def test_the_command_trains_a_model_and_says_where_it_is(toy, tmp_path):
    train, out, valid = toy[0], tmp_path / "out", tmp_path / "valid.tsv"
    valid.write_text("The big dog.\tLe chien grand.\n", encoding="utf-8")
    command = [str(train), "--out", str(out), "--valid", str(valid), "--steps", "3"]
    result = CliRunner().invoke(app(), [*command, "--size", "tiny", "--device", "cpu"])
    assert result.exit_code == 0, result.output
    assert f"The model is in {out / 'model'}." in result.output.replace("\n", "")
    assert "int8: BLEU" in result.output
    assert (out / "model" / "parameters.safetensors").is_file()


GENERATOR = """
from train.data import MarkedPair, WordLink

def pairs(request):
    for number in range(request.sentences):
        yield MarkedPair(f"The dog {number} saw it.", "Le chien le vit.", (WordLink(4, 1, 1),))
"""


def test_prepare_stops_before_training(toy, tmp_path):
    (tmp_path / "train.tsv").write_bytes(toy[0].read_bytes())
    (tmp_path / "recipe.toml").write_text(
        """
        [config]
        vocabulary = 400
        layers = 1
        width = 64
        heads = 4
        [[taught]]
        part = "cross"
        layer = 0
        head = 1
        of = "alignment"
        [[taught]]
        part = "encoder"
        layer = 0
        head = 1
        of = "pronouns"
        [[round]]
        name = "only"
        steps = 1
        corpus = [
            { path = "train.tsv", made = "alignment" },
            { made = "toy_generator:pairs", links = "pronouns", sentences = 40, copies = 0.5 },
        ]
        """,
        encoding="utf-8",
    )
    (tmp_path / "toy_generator.py").write_text(GENERATOR, encoding="utf-8")
    out = tmp_path / "out"
    command = [str(tmp_path / "recipe.toml"), "--out", str(out), "--device", "cpu"]
    result = CliRunner().invoke(app(), [*command, "--prepare"])
    assert result.exit_code == 0, result.output
    made = {"tokens.model", "alignment-train.tsv", "toy_generator-pairs.tsv"}
    assert {path.name for path in out.iterdir()} == made
    assert len(read_marked(out / "toy_generator-pairs.tsv")) == 40
    before = {name: (out / name).stat().st_mtime_ns for name in made}
    result = CliRunner().invoke(app(), [*command, "--seed", "7"])
    assert result.exit_code == 0, result.output
    assert before == {name: (out / name).stat().st_mtime_ns for name in made}
    assert load_model(out).about["seed"] == 7


PAIR = "The big dog.\tLe chien grand.\n"


def refused(tmp_path, content, *options, name="train.tsv"):
    """The error of the command on a file with this content; nothing may be written before it."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    command = [str(path), "--out", str(tmp_path / "out"), "--steps", "1", "--size", "tiny"]
    given = [x.format(tmp=tmp_path) for x in options]
    device = [] if "--device" in given else ["--device", "cpu"]
    result = CliRunner().invoke(app(), [*command, *given, *device])
    assert not (tmp_path / "out").exists()
    return error_of(result).replace(str(tmp_path), "TMP")


def error_of(result):
    """The sentence that a command which failed ended with."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    return result.output.rpartition("error: ")[2].rstrip("\n")


FILES = {
    "empty": (
        b"", "train.tsv", "TMP/train.tsv must have at least one pair, got none: add lines.",
    ),
    "no tab": (
        b"only one side\n", "train.tsv",
        "train.tsv must have source<TAB>target on every line, got on line 1 'only one side': add "
        "the missing side or remove the line.",
    ),
    "latin-1": (
        "Le garçon.\tThe boy.\n".encode("latin-1"), "train.tsv",
        "TMP/train.tsv must be UTF-8 text, got a byte that is not (invalid continuation "
        "byte): convert the file, or give it the suffix .gz or .xz if it is compressed.",
    ),
    "no gzip": (
        b"plain text", "train.tsv.gz",
        "TMP/train.tsv.gz must be a complete gzip file, but it cannot be read as one (Not a "
        "gzipped file (b'pl')): make it again.",
    ),
    "truncated gzip": (
        gzip.compress(PAIR.encode() * 50, mtime=0)[:-12], "train.tsv.gz",
        "TMP/train.tsv.gz must be a complete gzip file, but it cannot be read as one "
        "(Compressed file ended before the end-of-stream marker was reached): make it again.",
    ),
    "no xz": (
        b"plain text", "train.tsv.xz",
        "TMP/train.tsv.xz must be a complete xz file, but it cannot be read as one (Input "
        "format not supported by decoder): make it again.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "name", "message"), FILES.values(), ids=FILES)
def test_text_that_cannot_be_read_is_refused(tmp_path, content, name, message):
    assert refused(tmp_path, content, name=name) == message


OPTIONS = {
    "batch": ("--batch 0", "--batch must be at least 1, got 0."),
    "seed": ("--seed -1", "--seed must be at least 0, got -1."),
    "steps": ("--steps -1", "--steps must be at least 0, got -1."),
    "minutes": ("--steps 0 --minutes nan", "minutes must be a number from 0 up, got nan."),
    "no time": (
        "--steps 0 --minutes 0",
        "round 'only' must have either steps or minutes, got steps=0 and minutes=0.0: leave one of "
        "them at 0.",
    ),
    "nan": ("--learning-rate nan", "learning_rate must be a number above 0, got nan."),
    "below 0": ("--learning-rate -1", "learning_rate must be a number above 0, got -1.0."),
    "device": ("--device nope", "device must be 'cpu' or 'cuda', got 'nope'."),
    "gpu": (
        "--device cuda:99",
        f"device 'cuda:99' needs a GPU that PyTorch can use, but it sees "
        f"{torch.cuda.device_count()}: use 'cpu'.",
    ),
    "valid": (
        "--valid {tmp}/empty",
        "TMP/empty must have at least one pair, got none: add lines.",
    ),
    "source": (
        "--source-text {tmp}/empty",
        "TMP/empty must have at least one sentence, got none: add lines.",
    ),
    "absent": (
        "--target-text {tmp}/absent",
        "training needs the file TMP/absent, but it is not there: check its name.",
    ),
    "folder": (
        "--target-text {tmp}",
        "training needs the file TMP, but it is a folder: name its files.",
    ),
}


@pytest.mark.parametrize(("options", "message"), OPTIONS.values(), ids=OPTIONS)
def test_bad_options_are_refused(tmp_path, options, message):
    (tmp_path / "empty").write_text("")
    assert refused(tmp_path, PAIR, *options.split()) == message


def test_a_file_is_no_folder_to_write_to(tmp_path):
    (tmp_path / "file").write_text("")
    message = "--out must be a folder, but 'TMP/file' is a file."
    assert refused(tmp_path, PAIR, "--out", "{tmp}/file") == message


def trained(tmp_path, text, *options):
    path = tmp_path / "train.tsv"
    path.write_bytes(text)
    command = [str(path), "--out", str(tmp_path / "out"), "--steps", "1", *options]
    return CliRunner().invoke(app(), [*command, "--size", "tiny", "--device", "cpu"])


def test_lines_that_are_all_too_long_are_refused(tmp_path):
    line = " ".join(f"{'abcdefghij'[i % 10]}{i * 7919 % 10007}" for i in range(150))
    result = trained(tmp_path, "".join(f"{line} {i}\t{line} {i}\n" for i in range(20)).encode())
    assert error_of(result) == (
        "round 'only' must have pairs of at most 96 tokens a side, but none of its 20 pairs is "
        "that short: put one sentence on a line."
    )


def test_lines_that_no_token_can_be_learnt_from_are_refused(tmp_path):
    result = trained(tmp_path, ("word " * 2_000 + "\t" + "mot " * 2_000 + "\n").encode())
    assert error_of(result) == (
        "the tokens need more text to be learnt from, or shorter lines (at most 2,000 bytes): "
        "SentencePiece could not learn any from these files."
    )
    assert not (tmp_path / "out" / "tokens.model").exists()


def test_a_byte_order_mark_is_skipped_and_the_folder_is_a_model(toy, tmp_path):
    result = trained(tmp_path, b"\xef\xbb\xbf" + toy[0].read_bytes())
    assert result.exit_code == 0, result.output
    model = load_model(tmp_path / "out")
    assert read("The big dog.", model=model).words == ("The", "big", "dog", ".", "(end)")
    assert "\ufeff" not in {model.tokenizer.piece(i)[:1] for i in range(model.config.vocabulary)}


def test_what_another_training_left_is_refused(toy, tmp_path):
    assert trained(tmp_path, toy[0].read_bytes()).exit_code == 0
    state = tmp_path / "out" / "only" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:1000])
    assert error_of(trained(tmp_path, toy[0].read_bytes())) == (
        f"{state} must hold the state of this training, but it is broken or of another training: "
        "choose another folder for --out, or remove this file to start again."
    )
    tokens = tmp_path / "out" / "tokens.model"
    tokens.write_bytes(tokens.read_bytes()[:100])
    assert error_of(trained(tmp_path, toy[0].read_bytes())) == (
        f"{tokens} must be a SentencePiece model, but it cannot be read as one: remove it, "
        "and training makes it again."
    )


def test_a_model_that_is_not_finite_is_not_exported(tmp_path):
    parameters = {"embedding": torch.tensor([[1.0, float("nan")]])}
    with pytest.raises(DivergedError) as error:
        finish(TrainingJob(tmp_path / "out", ()), parameters, [])
    assert str(error.value) == (
        "the parameters must be finite, but training has left some that are not: lower the "
        "learning rate."
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "text",
    ["[[round]]\nname = ", "\xff", "[[round]]\nname = 3\ncorpus = 4", "[text]\nvalid = 'x'"],
    ids=["truncated", "latin-1", "types", "no round"],
)
def test_a_broken_recipe_is_explained(tmp_path, text):
    message = refused(tmp_path, text.encode("latin-1"), name="recipe.toml")
    assert message.startswith("recipe.toml must have the tables config, hyperparameters, text and")
