"""The commands: arguments in, text out. Only the command that runs is imported."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from regard.cli.commands import COMMANDS, Command
from regard.cli.guard import guarded, prepare_streams
from regard.errors import ArgumentError

ABOUT = """See what attention sees: every number true, from three words to a million tokens.

regard "A sentence" translates it with the shipped model and shows what its heads attend to.
Layers and heads count from 0."""
if TYPE_CHECKING:
    import typer

LIKE = 0.75  # how like a command's name an argument is that was meant as one
OWN_OPTIONS = ("--help", "--version")


def main(arguments: list[str] | None = None) -> None:
    """Run the command that the arguments name; the `regard` command and `python -m regard`."""
    prepare_streams()
    arguments = sys.argv[1:] if arguments is None else arguments
    # Even an import may be interrupted, so everything happens inside the guard.
    raise SystemExit(guarded(_run)(arguments))


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["--version"]:
        from regard import __version__

        print(f"regard {__version__}")
        return 0
    arguments = with_command(arguments) or ["--help"]
    if arguments[0] == "read" and len(arguments) == 2 and not arguments[1].startswith("-"):
        _read_plainly(arguments[1])
        return 0
    app = app_for(arguments[0])
    # Not standalone: typer would print its errors by itself, control characters and all.
    return app(args=arguments, prog_name="regard", standalone_mode=False) or 0


def _read_plainly(sentence: str) -> None:
    """Read a sentence without a parser of options: typer's import takes as long as the reading."""
    if "numpy" not in sys.modules:
        # A process of a fifth of a second: no garbage is worth a collection, and the threads of
        # NumPy's BLAS, which wait for work in a loop, are never used.
        gc.disable()
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from regard.cli.io import text_argument
    from regard.transformer.checkpoint import load_model
    from regard.transformer.reader import read
    from regard.view.terminal.reading import page
    from regard.view.terminal.style import terminal_style

    reading = read(text_argument("sentence", sentence), model=load_model())
    print(page(reading, style=terminal_style()))


def with_command(arguments: list[str]) -> list[str]:
    """Put the reading command in front of a sentence.

    >>> with_command(["A dog ate"]), with_command(["info"]), with_command(["--help"])
    (['read', 'A dog ate'], ['info'], ['--help'])
    """
    if not arguments or arguments[0] in COMMANDS or arguments[0] in OWN_OPTIONS:
        return arguments
    close = _close_commands(arguments[0])
    if close:
        raise ArgumentError(
            f"there is no command {arguments[0]!r}; did you mean {close[0]!r}? "
            f'To read it as a sentence: regard read "{arguments[0]}".'
        )
    return ["read", *arguments]


def _close_commands(argument: str) -> list[str]:
    """The command that was probably meant, if any."""
    # Twice the letters in common over all letters: too long an argument is like no command.
    if 2 * max(map(len, COMMANDS)) < LIKE * (max(map(len, COMMANDS)) + len(argument)):
        return []
    import difflib

    return difflib.get_close_matches(argument, COMMANDS, n=1, cutoff=LIKE)


def app_for(name: str) -> typer.Typer:
    """All commands by name and summary; the one that runs is imported."""
    import typer

    def show_version(
        version: bool = typer.Option(False, "--version", help="Show the version."),
    ) -> None:
        """Only so that --help lists it; `main` answers it before anything is imported."""

    app = typer.Typer(
        help=ABOUT,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="Every command has --help with an example.",
    )
    app.callback()(show_version)
    for command in COMMANDS.values():
        function = command.function() if command.name == name else _stub
        app.command(
            command.name,
            help=None if command.name == name else command.summary,
            epilog=f"Example: {command.example}",
            hidden=command.hidden,
        )(guarded(function))
    return app


def _stub() -> None:
    """Placeholder of a command that is only listed."""


__all__ = ["Command", "app_for", "main", "with_command"]
