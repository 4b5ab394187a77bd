"""docs/features.md: all features in order, every command, option, function and link there is."""

import ast
import re
from pathlib import Path

import pytest
from typer.main import get_command

import regard
from regard.cli import app_for
from regard.cli.commands import COMMANDS
from regard.engine.observation import Observation
from regard.textbook.steps import Steps
from regard.transformer.reading import Reading
from regard.view.figure.picture import Picture
from regard.view.page.single_file import web_files
from regard.watcher.layer import LayerObservation
from regard.watcher.seen import Seen

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| (yes|partly|no) \| ([^|]+) \|([^|]*)\|$", re.MULTILINE)
UNTESTED = {59}  # that somebody maintains it
ROWS = ROW.findall((DOCS / "features.md").read_text(encoding="utf-8"))
CLASSES = {x.__name__: x for x in (Observation, Steps, Reading, Picture, LayerObservation, Seen)}
VIEWS = ("Read", "Steps", "Map", "Learn", "Save")


def test_every_feature_has_an_answer():
    assert [int(number) for number, *_ in ROWS] == list(range(1, 60))


@pytest.mark.parametrize("row", ROWS, ids=[x[0] for x in ROWS])
def test_the_names_of_a_feature_exist(row):
    *_, answer, where, _ = row
    names = re.findall(r"`([^`]+)`", where)
    links = re.findall(r"\]\(([^)]+)\)", where)
    assert all((DOCS / link).exists() for link in links)
    if answer == "yes":
        assert names or links or any(view in where for view in VIEWS) or "shows itself" in where
    for name in names:
        assert exists(name), f"{name} does not exist"


@pytest.mark.parametrize("row", ROWS, ids=[x[0] for x in ROWS])
def test_a_yes_is_shown_by_a_test(row):
    number, _, answer, _, shown = row
    if answer == "yes" and int(number) not in UNTESTED:
        path, _, name = shown.strip().strip("`").partition("::")
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        assert name in {x.name for x in tree.body if isinstance(x, ast.FunctionDef)}


def test_the_commands_of_the_lesson_exist_and_its_scenes_have_their_numbers():
    text = (DOCS / "teaching.md").read_text(encoding="utf-8")
    commands = re.findall(r"`(regard [^`]+)`", text)
    assert len(commands) > 5
    assert all(exists(command) for command in commands)
    course = web_files()["learn/course.js"]
    names = re.findall(r'^    name: "(\w+)"', course, re.MULTILINE)
    scenes = {"shares": 4, "position": 8, "mask": 9, "training": 12, "experiment": 13, "tell": 14}
    assert {name: names.index(name) + 1 for name in scenes} == scenes


def exists(name: str) -> bool:
    """True where a command with its options, a public function, a method or an argument is."""
    if name.startswith("regard "):
        return has_command(name.split()[1:])
    if name.startswith("regard."):
        return hasattr(regard, name.partition(".")[2])
    if name.endswith("="):
        return name in ("between=", "heads=")  # tested with pictures and with readings
    owner, _, member = name.partition(".")
    return owner in CLASSES and (not member or hasattr(CLASSES[owner], member))


def has_command(words: list[str]) -> bool:
    name = words[0]
    if name == "--help":
        return True
    if not name.startswith('"') and name not in COMMANDS:
        return False
    name = "read" if name.startswith('"') else name
    command = get_command(app_for(name)).commands[name]
    options = {flag for x in command.params for flag in (*x.opts, *x.secondary_opts)} | {"--help"}
    return all(word in options for word in words if word.startswith("--"))
