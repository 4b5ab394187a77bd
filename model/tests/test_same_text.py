"""The generated text is the same as before, byte for byte: of the generators and of a recipe.

The sums were recorded when the word lists were still Python code. Adding a word changes them: then
look at the difference, and record the new ones.
"""

import hashlib
import json
import lzma
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anaphora.generator import cells, marked_pairs
from judge.frames import contrasts
from train.data import write_marked, write_pairs

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).parent / "sample.tsv"
SUMS = json.loads((Path(__file__).parent / "sums.json").read_text(encoding="utf-8"))
ANIMALS = ("dog", "puppy", "wolf", "fox", "lion", "bear")
THINGS = ("door", "window", "box", "drawer", "gate", "bottle")
ENGLISH = [
    *(f"The {x} was barking at me all night." for x in ANIMALS),
    *(f"I have just opened the {x} with a key." for x in THINGS),
    *(f"The {x}s were barking." for x in ANIMALS),
    *(f"Tom opened the {x}s yesterday." for x in THINGS if x != "box"),
]
PAIRS = [
    ("It is in the kitchen.", "Elle est dans la cuisine."),
    ("I closed the window because it was cold.",
     "J'ai fermé la fenêtre parce qu'il faisait froid."),
    ("The car hit the wall, but it did not stop.",
     "La voiture a heurté le mur, mais elle ne s'est pas arrêtée."),
    ("The cows saw the dogs, so they ran.", "Les vaches ont vu les chiens, alors elles ont couru."),
    ("Mary told Tom that she was ill.", "Mary dit à Tom qu'elle était malade."),
    ("Tom asked Mary if she loved him.", "Tom a demandé à Mary si elle l'aimait."),
    ("We sing.", "Nous chantons."),
]  # fmt: skip


def digest(text: str | bytes) -> str:
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def write_data(folder: Path) -> None:
    """Files with the names that model/recipe.toml has, of a few sentences each."""
    folder.mkdir(parents=True)
    rows = [*PAIRS, *((x, "Il aboyait.") for x in ENGLISH)]
    for name in ("everyday", "pivot", "back-translated", "hansard", "everyday-valid"):
        write_pairs(folder / f"{name}.en-fr.tsv.xz", rows[len(name) % 3 :])
    write_pairs(folder / "self-translated.en-fr.tsv.gz", rows)
    with lzma.open(folder / "mono.en.txt.xz", "wt", encoding="utf-8") as file:
        file.writelines(f"{x}\n" for x in ENGLISH)


def test_the_first_sentences_are_those_of_the_sample(tmp_path):
    write_marked(tmp_path / "sample.tsv", marked_pairs(40, seed=1))
    assert (tmp_path / "sample.tsv").read_text(encoding="utf-8") == SAMPLE.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_seed_gives_the_same_pairs(tmp_path, seed):
    write_marked(tmp_path / "pairs.tsv", marked_pairs(4000, seed))
    assert digest((tmp_path / "pairs.tsv").read_bytes()) == SUMS[f"marked_pairs {seed}"]


def test_the_judge_has_the_same_pairs():
    for name, pairs in {"contrasts": contrasts(), **cells(120, seed=5)}.items():
        lines = [f"{x.sentence}\t{x.right}\t{x.wrong}" for pair in pairs for x in pair.items]
        assert digest("\n".join(lines)) == SUMS[name], name


def test_the_recipe_prepares_the_same_files_from_a_clone(tmp_path):
    pytest.importorskip("torch", reason="training needs PyTorch: pip install 'regard[train]'")
    pytest.importorskip("sacrebleu", reason="BLEU needs sacrebleu: pip install 'regard[train]'")
    clone, out = tmp_path / "model", tmp_path / "out"
    shutil.copytree(ROOT / "model", clone, ignore=shutil.ignore_patterns("data", "__pycache__"))
    recipe = (clone / "recipe.toml").read_text(encoding="utf-8")
    assert recipe.count("sentences = 2_400_000") == 3
    recipe = recipe.replace("sentences = 2_400_000", "sentences = 500")
    (clone / "recipe.toml").write_text(recipe, encoding="utf-8")
    write_data(clone / "data")
    command = [str(clone / "recipe.toml"), "--out", str(out), "--device", "cpu"]
    subprocess.run([sys.executable, "-m", "train", *command, "--prepare"], cwd=clone, check=True)
    made = {path.name: digest(path.read_bytes()) for path in out.glob("*.tsv")}
    assert made == SUMS["prepare"]
