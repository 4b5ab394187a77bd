"""The command line: arguments in, text out. Only the command that runs is imported."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from regard.cli.commands import COMMANDS, MAIN_COMMAND, Command
from regard.cli.guard import guarded, prepare_streams
from regard.errors import ArgumentError

if TYPE_CHECKING:
    import typer

COMMAND_SIMILARITY_CUTOFF = 0.75  # of a misspelt command, by difflib's ratio
COMPLETION_OPTIONS = ("--install-completion", "--show-completion")
GLOBAL_OPTIONS = ("--help", "--version", *COMPLETION_OPTIONS)


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
    if "_REGARD_COMPLETE" in os.environ:  # a shell asks what may follow; it gives the words itself
        arguments = ["--help"]
    arguments = with_command(arguments) or ["--help"]
    if arguments[0] == MAIN_COMMAND and len(arguments) == 2 and not arguments[1].startswith("-"):
        # Without options there is nothing to parse: importing typer takes as long as the reading.
        from regard.cli.read import read

        read(arguments[1])
        return 0
    # Not standalone: typer would print its errors by itself, control characters and all.
    return app_for(arguments[0])(args=arguments, prog_name="regard", standalone_mode=False) or 0


def with_command(arguments: list[str]) -> list[str]:
    """Put the name of the main command in front of a sentence, whose words are joined.

    >>> with_command(["A dog ate"]), with_command(["info"]), with_command(["--help"])
    (['read', 'A dog ate'], ['info'], ['--help'])
    >>> with_command(["A", "dog", "ate", "--head", "5.6"]), with_command(["help", "info"])
    (['read', 'A dog ate', '--head', '5.6'], ['info', '--help'])
    """
    if arguments[:1] == ["help"] and (len(arguments) == 1 or arguments[1] in COMMANDS):
        return [*arguments[1:2], "--help"]
    if arguments[:1] == [MAIN_COMMAND]:
        return [MAIN_COMMAND, *_joined(arguments[1:])]
    if not arguments or arguments[0] in COMMANDS or arguments[0] in GLOBAL_OPTIONS:
        return arguments
    close = _close_commands(arguments[0])
    if close:
        raise ArgumentError(
            f"there is no command {arguments[0]!r}; did you mean {close[0]!r}? "
            f'To read it as a sentence: regard read "{arguments[0]}".'
        )
    return [MAIN_COMMAND, *_joined(arguments)]


def _joined(arguments: list[str]) -> list[str]:
    """The words before the first option as one sentence: quotes are easily forgotten."""
    is_option = [argument.startswith("-") and argument != "-" for argument in arguments]
    words = is_option.index(True) if True in is_option else len(arguments)
    return [" ".join(arguments[:words]), *arguments[words:]] if words > 1 else arguments


def _close_commands(argument: str) -> list[str]:
    """The command that was probably meant, if any."""
    # The ratio is twice the letters in common over all letters: a long sentence is like no
    # command, and difflib need not be imported for it.
    longest = max(map(len, COMMANDS))
    if 2 * longest < COMMAND_SIMILARITY_CUTOFF * (longest + len(argument)):
        return []
    import difflib

    return difflib.get_close_matches(argument, COMMANDS, n=1, cutoff=COMMAND_SIMILARITY_CUTOFF)


def app_for(name: str) -> typer.Typer:
    """The typer application in which the named command is imported and the others are listed."""
    from regard.cli.app import build_app

    return build_app(name)


__all__ = ["Command", "app_for", "main", "with_command"]
