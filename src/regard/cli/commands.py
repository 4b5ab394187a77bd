"""Table of the commands: name, module and function, summary, example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Command:
    """A command; its function, 'module:function' in regard.cli, is imported only when it runs.

    A function with ``is_factory`` returns the command instead of being it.
    """

    name: str
    summary: str
    example: str
    target: str = ""  # 'name:name' by default
    is_factory: bool = False
    takes_more: bool = False  # options that it does not declare

    def function(self) -> Callable[..., Any]:
        module, _, function = (self.target or f"{self.name}:{self.name}").partition(":")
        imported: Callable[..., Any] = getattr(import_module(f"regard.cli.{module}"), function)
        return imported() if self.is_factory else imported


MAIN_COMMAND = "read"  # its name may be left out: regard "A sentence"
COMMANDS = {
    command.name: command
    for command in (
        Command(
            "read",
            "Read a sentence with the shipped model (the default command).",
            'regard "A dog ate the food because it was hungry"',
            "read:command",
            is_factory=True,
        ),
        Command(
            "steps",
            "Compute self-attention and show every intermediate.",
            'regard steps "The cat sat on the mat" --width 8 --seed 0 --heads 2 --causal',
        ),
        Command(
            "example",
            "Reproduce three published examples and correct them.",
            "regard example robots",
        ),
        Command(
            "open",
            "Open the explorer in the browser.",
            'regard open "A dog ate the food because it was hungry"',
            "open:open_explorer",
        ),
        Command(
            "site",
            "Build the explorer as a static site, or as one HTML file.",
            "regard site public --wheels wheels",
        ),
        Command(
            "worksheet",
            "Make a worksheet of self-attention to print.",
            'regard worksheet "I am good" --save sheet.html',
        ),
        Command(
            "watch",
            "Show what every head of a Hugging Face model attends to.",
            'regard watch path/to/model "A dog ate the food because it was hungry"',
        ),
        Command(
            "compare", "Compare two runs head by head.", "regard compare base.regard tuned.regard"
        ),
        Command(
            "check",
            "Find the first wrong step in attention code or numbers.",
            "regard check my_file.py:my_attention",
            takes_more=True,
        ),
        Command(
            "judge",
            "Say of every head of a model whether its attention is right.",
            'regard judge path/to/model "A dog ate the food because it was hungry"',
        ),
        Command(
            "survey",
            "Describe every head of a model over a whole corpus.",
            "regard survey corpus.txt --out survey",
        ),
        Command(
            "monitor",
            "Show the attention of a monitored training over its steps.",
            "regard monitor runs/first",
        ),
        Command("info", "Show versions, cores, BLAS and available backends.", "regard info"),
    )
}
