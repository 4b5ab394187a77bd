"""Table of the commands: name, module and function, summary, example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from regard.errors import ArgumentError


@dataclass(frozen=True)
class Command:
    """A command: its function as 'module:function', imported only when it runs.

    A function with ``is_factory`` returns the command instead of being it.
    """

    name: str
    target: str
    summary: str
    example: str
    is_factory: bool = False

    def function(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, function = self.target.partition(":")
        try:
            imported: Callable[..., Any] = getattr(import_module(module), function)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise ArgumentError(f"the command {self.name!r} is not in this version.") from None
        return imported() if self.is_factory else imported


MAIN_COMMAND = "read"  # its name may be left out: regard "A sentence"
COMMANDS = {
    command.name: command
    for command in (
        Command(
            "read",
            "regard.cli.read:command",
            "Read a sentence with the shipped model (the default command).",
            'regard "A dog ate the food because it was hungry"',
            is_factory=True,
        ),
        Command(
            "steps",
            "regard.cli.steps:steps",
            "Compute self-attention and show every intermediate.",
            'regard steps "The cat sat on the mat" --width 8 --seed 0 --heads 2 --causal',
        ),
        Command(
            "example",
            "regard.cli.example:example",
            "Reproduce three published examples and correct them.",
            "regard example robots",
        ),
        Command(
            "open",
            "regard.cli.open:open_explorer",
            "Open the explorer in the browser.",
            'regard open "A dog ate the food because it was hungry"',
        ),
        Command(
            "worksheet",
            "regard.cli.worksheet:worksheet",
            "Make a worksheet of self-attention to print.",
            'regard worksheet "I am good" --save sheet.html',
        ),
        Command(
            "watch",
            "regard.cli.watch:watch",
            "Show what every head of a Hugging Face model attends to.",
            'regard watch path/to/model "A dog ate the food because it was hungry"',
        ),
        Command(
            "compare",
            "regard.cli.compare:compare",
            "Compare two runs head by head.",
            "regard compare base.regard tuned.regard",
        ),
        Command(
            "check",
            "regard.cli.check:check",
            "Find the first wrong step in attention code or numbers.",
            "regard check my_file.py:my_attention",
        ),
        Command(
            "survey",
            "regard.cli.survey:survey",
            "Describe every head of a model over a whole corpus.",
            "regard survey corpus.txt --out survey",
        ),
        Command(
            "info",
            "regard.cli.info:info",
            "Show versions, cores, BLAS and available backends.",
            "regard info",
        ),
        Command(
            "train",
            "regard.cli.train:train",
            "Train a transformer to translate.",
            "regard train pairs.tsv --out model --minutes 10",
        ),
    )
}
