"""The commands by name, each with the place of its function, so that none is imported unasked."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from regard.errors import ArgumentError


@dataclass(frozen=True)
class Command:
    """A command: where its function is ('module:function'), what it does, how it is called."""

    name: str
    place: str
    summary: str
    example: str
    hidden: bool = False

    def function(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, function = self.place.partition(":")
        try:
            found: Callable[..., Any] = getattr(import_module(module), function)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise ArgumentError(f"the command {self.name!r} is not in this version.") from None
        return found


COMMANDS = {
    command.name: command
    for command in (
        Command(
            "steps",
            "regard.cli.steps_command:steps",
            "Self-attention on a sentence, every intermediate shown.",
            'regard steps "The cat sat on the mat" --width 8 --seed 0 --heads 2 --causal',
        ),
        Command(
            "example",
            "regard.cli.example_command:example",
            "Three published examples, reproduced and put right.",
            "regard example robots",
        ),
        Command(
            "open",
            "regard.cli.open_command:open_explorer",
            "Open the explorer: see attention in the browser, on this machine alone.",
            'regard open "A dog ate the food because it was hungry"',
        ),
        Command(
            "worksheet",
            "regard.cli.worksheet_command:worksheet",
            "Self-attention to work out by hand, with a key: a page to print.",
            'regard worksheet "I am good" --out sheet.html',
        ),
        Command(
            "watch",
            "regard.cli.watch_command:watch",
            "Watch a Hugging Face model on this machine: what every head attends to.",
            'regard watch path/to/model "A dog ate the food because it was hungry"',
        ),
        Command(
            "check",
            "regard.cli.check_command:check",
            "Find the first wrong step in attention code, or in numbers worked by hand.",
            "regard check my_file.py:my_attention",
        ),
        Command(
            "survey",
            "regard.cli.survey_command:survey",
            "Describe every head of a model over a whole corpus.",
            "regard survey corpus.txt --out survey",
        ),
        Command(
            "info",
            "regard.cli.info_command:info",
            "Versions, cores, BLAS, and which backends can serve.",
            "regard info",
        ),
        Command(
            "read",
            "regard.cli.read_command:read_sentence",
            "Read a sentence with the shipped model.",
            'regard "A dog ate the food because it was hungry"',
            hidden=True,
        ),
        Command(
            "train",
            "regard.cli.train_command:train",
            "Train a transformer to translate.",
            "regard train pairs.tsv --out model --minutes 10",
        ),
    )
}
