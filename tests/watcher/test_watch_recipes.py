"""The recipes of docs/watch-details.md, run as they stand there on a model built by hand."""

import re
from pathlib import Path

import pytest
import torch
from tests.helpers.planted_model import planted_model, planted_tokenizer

import regard

PAGE = (Path(__file__).parents[2] / "docs" / "watch-details.md").read_text(encoding="utf-8")
RECIPES = (
    "While it runs",
    "Sinks, near and far",
    "Clusters of heads",
    "Norm-weighted measures",
    "Retrieval heads",
    "Links from a file",
    "Comparing two runs",
    "Tables and arrays",
)
TEXT = "<s> the river sang . the river slept . a lighthouse sang to green boats in rain ."
OTHER = "<s> the river sang . the boats slept . a lighthouse sang to green hills in rain ."
LINKS = "# text = the river sang . the river slept .\nslept\triver#2\tnsubj\n"


def example(heading):
    """The first block of Python below a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    block = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert block is not None, heading
    return block[1]


def seen_of(text):
    tokenizer = planted_tokenizer()
    inputs = tokenizer(text, return_tensors="pt")
    with torch.no_grad(), regard.watch(planted_model(), tokenizer=tokenizer) as seen:
        planted_model()(**inputs)
    return seen


@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_runs(heading, tmp_path, monkeypatch, capsys):
    if heading == "Tables and arrays":
        pytest.importorskip("pandas", reason="the recipe makes a DataFrame, pandas is not here")
    (tmp_path / "parsed.conllu").write_text(LINKS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    tokenizer = planted_tokenizer()
    names = {
        "regard": regard, "model": planted_model(), "tokenizer": tokenizer, "seen": seen_of(TEXT),
        "other": seen_of(OTHER), "haystack": "a river sang to old hills . boats slept in rain .",
        "watching": regard.watch(planted_model(), tokenizer=tokenizer),
    }  # fmt: skip
    exec(compile(example(heading), "watch-details.md", "exec"), names)  # noqa: S102 (our own page)
    printed = capsys.readouterr().out
    assert printed or "print(" not in example(heading)
