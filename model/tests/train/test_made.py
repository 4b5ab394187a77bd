"""Made pairs: those of the aligner, drawn evenly, and those of a recipe's own generator."""

import sys

import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'regard[train]'")

from regard.errors import ArgumentError
from regard.transformer.config import PAD
from train import made
from train.data import load_tokens, read_marked, write_pairs
from train.dataset import gather
from train.pieces import SHIPPED
from train.recipe import TrainingJob, read_recipe


@pytest.mark.parametrize(("most", "linked"), [(100, 14), (7, 7)])
def test_pairs_are_aligned_up_to_a_number_drawn_evenly(tmp_path, monkeypatch, most, linked):
    monkeypatch.setattr(made, "MAX_ALIGNED_PAIRS", most)
    texts = {"a": [("dog " * n, "chien " * n) for n in range(1, 11)], "b": [("cat", "chat")] * 4}
    for name, pairs in texts.items():
        write_pairs(tmp_path / f"{name}.tsv", pairs)
    files = {tmp_path / f"{name}.marked.tsv": tmp_path / f"{name}.tsv" for name in texts}
    made.make_aligned(files)
    marked = [read_marked(path) for path in files]
    assert [[pair.source for pair in pairs] for pairs in marked] == [
        [source.strip() for source, _ in pairs] for pairs in texts.values()
    ]
    rows = [row for row, pair in enumerate(marked[0]) if pair.links]
    assert rows[0] == 0
    assert rows[-1] == 9
    assert len(rows) + sum(bool(pair.links) for pair in marked[1]) == linked


GENERATOR = """
from train.data import MarkedPair, WordLink

def sources(request):
    return [MarkedPair(x, "-", (WordLink(1, 0, 0),)) for x in request.sources()]

def reversed_pairs(request):
    return [(target, source) for source, target in request.pairs()]

def numbers(request):
    return range(request.sentences)
"""
RECIPE = """
[text]
source = ["english.txt"]
[[taught]]
part = "encoder"
layer = 1
head = 0
of = "subjects"
[[round]]
name = "only"
steps = 1
corpus = [
    {{ path = "pairs.tsv" }},
    {{ made = "generator_of_test_made:sources", links = "subjects", translated = false }},
    {{ made = "generator_of_test_made:{function}", path = "pairs.tsv", copies = 0.5 }},
]
"""


@pytest.fixture
def job(tmp_path):
    def read(function: str) -> TrainingJob:
        write_pairs(tmp_path / "pairs.tsv", [("The dog barks.", "Le chien aboie.")] * 3)
        (tmp_path / "english.txt").write_text("The cat sleeps.\n", encoding="utf-8")
        (tmp_path / "generator_of_test_made.py").write_text(GENERATOR, encoding="utf-8")
        (tmp_path / "recipe.toml").write_text(RECIPE.format(function=function), encoding="utf-8")
        job = read_recipe(tmp_path / "recipe.toml", tmp_path / "out")
        job.folder.mkdir()
        return job

    path = list(sys.path)
    yield read
    sys.path[:] = path
    sys.modules.pop("generator_of_test_made", None)


def test_a_generator_gets_the_text_of_the_recipe(job):
    """The sources of all files, and the pairs of the path it is named with."""
    followed = job("reversed_pairs")
    made.make_marked(followed)
    sources = read_marked(followed.folder / "generator_of_test_made-sources.tsv")
    assert [x.source for x in sources] == ["The dog barks."] * 3 + ["The cat sleeps."]
    reverse = read_marked(followed.folder / "generator_of_test_made-reversed_pairs-pairs.tsv")
    assert [x[:2] for x in reverse] == [("Le chien aboie.", "The dog barks.")] * 3
    tokens = load_tokens(SHIPPED)
    pairs = gather(followed.rounds[0], tokens, followed.hyperparameters).pairs
    # Sentences without a translation have padding as their only label, and a link each.
    labels = [set(x) for x in pairs.target.padded(PAD).tolist()]
    assert [x == {PAD} for x in labels] == [False] * 3 + [True] * 4 + [False] * 3
    assert pairs.links.lengths.tolist() == [0] * 3 + [1] * 4 + [0] * 3


def test_a_generator_must_return_pairs(job):
    with pytest.raises(ArgumentError) as error:
        made.make_marked(job("numbers"))
    assert str(error.value) == (
        "made = 'generator_of_test_made:numbers' must return pairs (source, target) or (source, "
        "target, links), got 0."
    )
