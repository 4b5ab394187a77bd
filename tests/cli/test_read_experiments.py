"""Experiments on the command line: 80 columns in a pipe, JSON, one line for a mistake."""

import json

import pytest

from regard.cli.io import HeadNumber
from regard.errors import ArgumentError

SENTENCE = "A dog ate the food because it was hungry"
CALLS = {
    "redirect": (("--redirect", "it:food", "--head", "1.2"), "it looks at food: 100 %"),
    "redirect in all heads": (("--redirect", "it:food"), "in every head (encoder), it looks at"),
    "knock-out": (("--knock-out", "dog"), "no head (encoder and cross) may look at dog"),
    "two words": (("--knock-out", "dog", "--knock-out", "food"), "may look at dog or food"),
    "ablate": (("--ablate", "cross.1.2"), "cross layer 1, head 2 writes nothing (zero)"),
    "two heads": (("--ablate", "1.2", "--ablate", "0.3"), "encoder layer 0, head 3 writes nothing"),
    "compare": (("--compare", "The dogs drank cold water"), "the sentence is another one"),
    "by number": (("--redirect", "6:4", "--head", "1.2"), "it looks at food: 100 %"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_experiment_reads_well_in_a_pipe(run, call):
    options, phrase = call
    status, out, error = run(SENTENCE, *options)
    assert (status, error) == (0, "")
    assert phrase in " ".join(out.split())
    assert "before" in out
    assert "after" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_why_a_score_is_what_it_is(run):
    status, out, error = run(SENTENCE, "--because", "it:dog", "--head", "1.2")
    assert (status, error) == (0, "")
    assert out.startswith("Score of it ")
    assert "in encoder layer 1, head 2: " in out
    assert max(map(len, out.splitlines())) <= 80


def test_why_one_word_rather_than_another(run):
    status, out, _ = run(SENTENCE, "--because", "it:dog:food", "--head", "1.2")
    assert status == 0
    assert ", minus " in out


def test_without_a_head_the_one_with_the_largest_weight_is_explained(run):
    _, out, _ = run(SENTENCE, "--because", "it:dog")
    _, weights, _ = run(SENTENCE, "--json")
    weights = json.loads(weights)["weights"]["encoder"]
    heads = [(row[6][1], layer, head) for layer, x in enumerate(weights)
             for head, row in enumerate(x)]  # fmt: skip
    _, layer, head = max(heads)
    assert f"in encoder layer {layer}, head {head}: " in out


def test_effects_of_every_head(run):
    status, out, error = run(SENTENCE, "--effects", "0")
    assert (status, error) == (0, "")
    assert "Correlation of formula and runs: " in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_question_is_asked_of_the_changed_reading(run):
    _, plain, _ = run(SENTENCE, "--because", "it:dog", "--head", "2.0")
    _, changed, _ = run(SENTENCE, "--because", "it:dog", "--head", "2.0", "--ablate", "0.1")
    assert plain.splitlines()[0] != changed.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (("--redirect", "it:food", "--head", "1.2"), "translation_after"),
        (("--because", "it:dog", "--head", "1.2"), "terms"),
        (("--effects", "0"), "correlation"),
    ],
)
def test_json_is_strict(run, options, key):
    status, out, error = run(SENTENCE, *options, "--json")
    assert (status, error) == (0, "")
    assert key in json.loads(out)


def test_the_picture_of_an_experiment_is_saved(run, tmp_path):
    path = tmp_path / "it.svg"
    status, out, _ = run(SENTENCE, "--redirect", "it:food", "--head", "1.2", "--save", str(path))
    assert status == 0
    assert out.startswith("Encoder layer 1, head 2, after the change")
    assert path.read_text(encoding="utf-8").startswith("<svg")
    assert run(SENTENCE, "--effects", "0", "--save", str(path))[0] == 0


def test_help_has_an_example(run):
    _, out, _ = run("read", "--help")
    assert "--redirect it:food --head 5.6" in " ".join(out.split())


MISTAKES = {
    "no pair": (
        ("--redirect", "it"),
        "error: --redirect must be two words such as it:food, got 'it'.",
    ),
    "no text": (
        ("--because", " "), "error: --because must not be empty."
    ),
    "no sentence": (
        ("--compare", ""), "error: --compare must not be empty."
    ),
    "the same sentence": (
        ("--compare", f" {SENTENCE}"),
        "error: replace_sentence needs another sentence, got the same one.",
    ),
    "no such word": (
        ("--knock-out", "cat"),
        "error: the word must be one of the words read, got 'cat'; they are: A dog ate the food "
        "because it was hungry (end).",
    ),
    "no head": (
        ("--ablate", "six"),
        "error: --ablate must be a layer and a head, such as 3.6 or cross.3.6, got 'six'.",
    ),
    "head alone": (
        ("--ablate", "6"),
        "error: --ablate must be a layer and a head, such as 3.6 or cross.3.6, got '6'.",
    ),
    "no such layer": (
        ("--ablate", "7.1"),
        "error: layer must be a number from 0 to 2 (layers count from 0), got 7.",
    ),
    "no such part": (
        ("--ablate", "middle.1.1"),
        "error: part must be 'encoder', 'decoder' or 'cross', got 'middle'.",
    ),
    "two layers": (
        ("--redirect", "it:food", "--layer", "2", "--head", "1.2"),
        "error: --layer 2 and --head 1.2 must name the same layer.",
    ),
    "head without layer": (
        ("--because", "it:dog", "--head", "2"),
        "error: --head 2 needs its layer: write --head 3.2.",
    ),
    "layer of no head": (
        ("--because", "it:dog", "--layer", "9"), "error: layer must be 0-2, got 9."
    ),
    "two questions": (
        ("--because", "it:dog", "--effects", "0"),
        "error: --because and --effects cannot be combined: run one at a time.",
    ),
    "no picture": (
        ("--because", "it:dog", "--head", "1.2", "--save", "it.svg"),
        "error: --because has no picture: leave out --save, or use --json.",
    ),
    "a page of the encoder": (
        ("--head", "cross.1.2"),
        "error: --head must be in the encoder for a page of text, got 'cross': add --save FILE "
        "for a picture.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_one_line_and_status_2(run, mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options, message = mistake
    status, out, error = run(SENTENCE, *options)
    assert (status, out) == (2, "")
    assert error == f"{message}\n"


def test_a_head_is_written_as_layer_and_head():
    assert HeadNumber.parse("--head", "3.6") == HeadNumber(3, 6)
    assert HeadNumber.parse("--head", "6").with_layer(3) == HeadNumber(3, 6)
    with pytest.raises(ArgumentError):
        HeadNumber.parse("--head", "1.2.3")
