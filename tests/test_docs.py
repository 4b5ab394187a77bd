"""The documentation: examples run, every public name is in the reference, commands are real."""

import ast
import doctest
import functools
import inspect
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import tokenizers
import torch
import transformers as hf
from tests.helpers.planted_model import planted_model, planted_tokenizer
from tests.test_examples import run_cell

import regard
from regard.cli import GLOBAL_OPTIONS, app_for, with_command
from regard.cli.commands import COMMANDS
from regard.monitoring.monitor import Monitor
from regard.view.page.routes import PUBLIC_ADDRESS
from regard.watcher.watch import Watching

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
REFERENCE = (DOCS / "reference.md").read_text(encoding="utf-8")
CLASSES = [x for name in regard.__all__ if inspect.isclass(x := getattr(regard, name))]
# Members whose example needs a model of images or sound, another model, or a package of an extra.
ELSEWHERE = {
    "image": "docs/watch-details.md",
    "with_picture": "docs/watch-details.md",
    "word_times": "docs/watch-details.md",
    "image_grid": "tests/watcher/media/test_image.py",
    "rotation": "docs/watch-details.md",
    "seconds": "tests/watcher/media/test_sound.py",
    "widget": "tests/view/page/test_notebook.py",
}
INTERNAL = {"from_recorder"}  # the constructor that regard.watch calls


def blocks(page: str, kind: str = "python") -> list[str]:
    """The blocks of code of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def models() -> dict[str, object]:
    """What a reader has: a model and its tokenizer."""
    return {"regard": regard, "model": planted_model(), "tokenizer": planted_tokenizer()}


def test_the_examples_of_the_reference_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = models()
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False
    )
    for block in blocks("reference.md"):
        test = doctest.DocTestParser().get_doctest(block, names, "reference.md", None, 0)
        runner.run(test, clear_globs=False)
        names = test.globs
    assert runner.summarize(verbose=False).attempted > 100
    assert runner.summarize(verbose=False).failed == 0


@functools.cache
def used() -> set[str]:
    """Names of attributes in the examples of the reference."""
    examples = (
        example.source
        for block in blocks("reference.md")
        for example in doctest.DocTestParser().get_examples(block)
    )
    trees = [ast.parse(source) for source in examples]
    return {x.attr for tree in trees for x in ast.walk(tree) if isinstance(x, ast.Attribute)}


@pytest.mark.parametrize("name", regard.__all__)
def test_a_public_name_is_in_the_reference_with_an_example(name):
    assert re.search(rf"^\.\. auto\w+:: regard\.{name}$", REFERENCE, flags=re.MULTILINE)
    value = getattr(regard, name)
    assert inspect.getdoc(value)
    assert name in used() or ">>> " in inspect.getdoc(value) or inspect.isclass(value)


@pytest.mark.parametrize("result", [*CLASSES, Monitor, Watching], ids=lambda x: x.__name__)
def test_a_public_method_has_a_docstring_and_an_example(result):
    """Methods and properties of regard; fields are told by the docstring of their class."""
    name = result.__name__
    assert re.search(rf"^\.\. auto\w+:: regard\..*\b{name}$", REFERENCE, flags=re.MULTILINE)
    for member, value in inspect.getmembers_static(result):
        ours = any(
            member in vars(base) for base in result.__mro__ if base.__module__.startswith("regard")
        )
        function = getattr(value, "fget", None) or getattr(value, "func", None) or value
        function = getattr(function, "__func__", function)
        if member.startswith("_") or not ours or not inspect.isroutine(function):
            continue
        assert inspect.getdoc(function), f"{name}.{member} has no docstring"
        if member in ELSEWHERE:
            assert f".{member}(" in (ROOT / ELSEWHERE[member]).read_text(encoding="utf-8")
        else:
            assert member in used() | INTERNAL, (
                f"{name}.{member} has no example: add one to docs/reference.md"
            )


def answering(text: str) -> dict[str, object]:
    """A GPT-2 of random parameters that knows the words of a text, and the text as its input."""
    words = dict.fromkeys(re.findall(r"\w+|[^\w\s]+", text))
    plain = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, text.split()[0])
    )
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    sizes = {"n_embd": 16, "n_layer": 5, "n_head": 8, "n_positions": 128, "vocab_size": len(words)}
    special = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    model = hf.GPT2LMHeadModel(hf.GPT2Config(**sizes, **special)).eval()
    tokenizer = hf.PreTrainedTokenizerFast(tokenizer_object=plain)
    inputs = tokenizer(text, return_tensors="pt")
    return {"regard": regard, "model": model, "tokenizer": tokenizer, "inputs": inputs}


def hybrid() -> dict[str, object]:
    """For docs/mixers.md: a small model, one layer a gated delta net and one attention."""
    names = answering("the dog ate the food because it was hungry .")
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_experts": 0,
             "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8,
             "linear_num_key_heads": 2, "linear_num_value_heads": 2, "linear_key_head_dim": 8,
             "linear_value_head_dim": 8, "layer_types": ["linear_attention", "full_attention"],
             "mlp_only_layers": [0, 1], "max_position_embeddings": 64}  # fmt: skip
    special = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    torch.manual_seed(0)
    config = hf.Qwen3NextConfig(vocab_size=len(names["tokenizer"]), **sizes, **special)
    return names | {"model": hf.Qwen3NextForCausalLM(config).eval(), "torch": torch}


GUIDES = {  # page: how many of its blocks run here (tests/watcher runs others), what they need
    "../README.md": (3, dict),
    "index.md": (1, lambda: answering("the dog ate because it was hungry .")),
    "learn.md": (3, dict),
    "sources.md": (5, dict),
    "own-model.md": (4, dict),
    "all-of-regard.md": (1, dict),
    "experiments.md": (1, models),
    "mixers.md": (2, hybrid),
    "training.md": (2, dict),
    "check.md": (1, lambda: {"my_attention": regard.attention}),
}


@pytest.mark.parametrize("page", GUIDES)
def test_the_code_of_a_guide_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    number, make = GUIDES[page]
    names, found = make(), [x for x in blocks(page) if not x.startswith(">>>")]
    assert len(found) >= number
    for block in found[:number]:
        exec(compile(block, page, "exec"), names)  # noqa: S102 (our own page)
    assert capsys.readouterr().out or "print(" not in "".join(found[:number])


def test_every_room_and_file_of_the_whole_is_there():
    """The rooms are the folders of the import contract, the first one first."""
    text = (DOCS / "all-of-regard.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    folders = [x.removeprefix("regard.") for x in reversed(layers)]
    rooms = [x for x in folders if (ROOT / "src/regard" / x).is_dir()]
    assert re.findall(r"^## \d+\. .*: `(\w+)/`$", text, flags=re.MULTILINE) == rooms
    named = set(re.findall(r"`(\w+/[\w./]+\.\w+|\w+\.py)`", text))
    bases = ROOT, ROOT / "src/regard"
    assert len(named) > 100
    assert [x for x in sorted(named) if not any((base / x).exists() for base in bases)] == []


def test_the_gallery_is_drawn():
    pictures = [run_cell(block, {}) for block in blocks("gallery.md", r"\{picture\}")]
    assert len(pictures) >= 6
    assert all(picture.startswith("<svg") for picture in pictures)


def commands() -> list[str]:
    """Every regard command with options in the pages, in a block or in a line."""
    pages = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    lines = re.findall(r"^(?:\$ )?(regard [^#\n]*)", text, flags=re.MULTILINE)
    spans = re.findall(r"(?<!`)`(regard [^`]+)`", text)
    return sorted({line for line in [*lines, *spans] if " --" in line})


@functools.cache
def options(command: str) -> set[str]:
    """The options of a command."""
    import typer.main

    group = typer.main.get_command(app_for(command))
    shown = [x for x in group.commands[command].params if not getattr(x, "hidden", False)]
    return {name for x in shown for name in [*x.opts, *x.secondary_opts]}


@pytest.mark.parametrize("line", commands())
def test_a_command_of_a_page_has_these_options(line):
    words = with_command(shlex.split(line)[1:])
    given = {word for word in words if re.match(r"--?[a-z]", word)} - set(GLOBAL_OPTIONS)
    if "--call" in given:  # the names in it are options too
        call = words[words.index("--call") + 1]
        given -= {f"--{name}" for name in re.findall(r"\w+", call)}
    assert not given or given <= options(words[0])


def test_every_command_is_listed():
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^```\{help\} (\w+)$", text, flags=re.MULTILINE) == list(COMMANDS)


def test_the_first_line_leads_to_the_one_address():
    """It is in pyproject.toml; links to share lead there too, as soon as it is a real one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    home = project["urls"]["Homepage"]
    assert all(address.startswith(home) for address in project["urls"].values())
    assert home in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[0]
    assert (None if ".example/" in home else home) == PUBLIC_ADDRESS
