"""The parser of the word lists: rows, and errors that name file, line and what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

from judge.frames import NOUNS
from regard.transformer.checkpoint import SHIPPED
from word_tables import TableError, read_pairs, read_table, read_words

MODEL = Path(__file__).parents[2] / "model"
TABLES = sorted(MODEL.glob("*/tables/*.txt"))
TABLE = """\
# Nouns.
[nouns (sorted): english | french | number?]
apple | pomme
rice | riz | no plural

[colours: english | french]
red | rouge
blue | bleu
"""


@pytest.fixture
def table(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "words.txt"
        path.write_text(text, encoding="utf-8")
        return path

    yield write
    read_table.cache_clear()


def test_rows_have_all_columns_in_their_order(table):
    path = table(TABLE)
    sections = read_table(path)
    assert sections["nouns"] == (("apple", "pomme", ""), ("rice", "riz", "no plural"))
    assert sections["nouns"][1].place == "words.txt, line 4"
    assert read_words(path, "colours") == {"red", "blue"}
    assert read_pairs(path, "colours") == (("red", "rouge"), ("blue", "bleu"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("apple | pomme", "apple", "line 3: column 'french' must not be empty, got 'apple'."),
        (
            "red | rouge", "red | rouge | f",
            "line 7: a row must have at most 2 cells (english | french), got 3.",
        ),
        ("apple", "zebra", "line 4: 'rice' must stand before 'zebra'."),
        ("[colours:", "[nouns:", "line 6: section 'nouns' must stand only once in the file."),
        (
            "[colours: english | french]", "[colours]",
            "line 6: a heading must look like [nouns: english | french], got '[colours]'.",
        ),
        (
            "# Nouns.", "apple | pomme",
            "line 1: a heading such as [nouns: english | french] must come first.",
        ),
    ],
)  # fmt: skip
def test_an_error_names_file_and_line(table, old, new, message):
    with pytest.raises(TableError) as error:
        read_table(table(TABLE.replace(old, new, 1)))
    assert str(error.value) == f"words.txt, {message}"


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parts[-3]} {path.stem}")
def test_every_list_states_its_format(path):
    header = path.read_text(encoding="utf-8").partition("\n[")[0]
    assert "# Format: a heading in brackets names a section and its columns." in header
    assert all(line.startswith("#") for line in header.splitlines() if line)
    assert all(read_table(path).values())


def nouns_of_clone(
    tmp_path: Path, name: str, old: str, new: str
) -> subprocess.CompletedProcess[str]:
    """Whether a narwhal is a fish in a copy of model/ with one line of one list changed."""
    for path in MODEL.rglob("*"):
        if path.suffix in (".py", ".txt"):
            copy = tmp_path / path.relative_to(MODEL)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    changed = tmp_path / "anaphora" / "tables" / name
    text = changed.read_text(encoding="utf-8")
    assert text.count(old) == 1
    changed.write_text(text.replace(old, new), encoding="utf-8")
    code = "from anaphora.predicates import members; print('narwhal' in members('fish'))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )


def test_a_noun_is_one_line_of_one_file(tmp_path):
    new = "\nnarwhal | narval | m | fish\nnecklace | "
    assert nouns_of_clone(tmp_path, "nouns.txt", "\nnecklace | ", new).stdout == "True\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("nouns.txt", "\nneedle | aiguille | f", "\nneedle | aiguille | n",
         "gender must be m or f, got 'n'."),
        ("nouns.txt", "\nneedle | ", "\nneedle | pin | f | tool\nneedle | ",
         "'needle' must stand only once."),
        ("adjectives.txt", "\nhungry | avoir faim | animate |",
         "\nhungry | avoir faim | unicorn |", "unknown word 'unicorn'."),
    ],
)  # fmt: skip
def test_a_wrong_word_is_named_with_its_line(tmp_path, name, old, new, message):
    error = nouns_of_clone(tmp_path, name, old, new).stderr.splitlines()[-1]
    assert error.startswith(f"word_tables.TableError: {name}, line ")
    assert error.endswith(f": {message}")


def test_the_package_has_the_genders_of_the_judges_nouns():
    """The command compares French genders without the judge, from a table of its own."""
    genders: dict[str, set[str]] = {}
    for forms in NOUNS.values():
        for french, gender in forms.items():
            genders.setdefault(french, set()).add(gender)
    rows = [f"{noun} | {min(x)}" for noun, x in sorted(genders.items()) if len(x) == 1]
    lines = (SHIPPED / "nouns.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("#")] == rows
