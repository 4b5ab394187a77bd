"""The commands: arguments in, text out. Only the command that runs is imported."""

import difflib
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

import typer

from regard.cli.commands import COMMANDS, Command
from regard.errors import ArgumentError, RegardError

ABOUT = """See what attention sees: every number true, from three words to a million tokens.

regard "A sentence" shows what the shipped model looks at while it translates it.
Layers and heads count from 0."""
OWN_OPTIONS = ("--help", "--version")


def main(arguments: list[str] | None = None) -> None:
    """Run the command that the arguments name; the `regard` command and `python -m regard`."""
    _survive_odd_terminals()
    arguments = sys.argv[1:] if arguments is None else arguments
    # Even an import may be interrupted, so everything happens inside the guard.
    _guarded(_run)(arguments)


def _run(arguments: list[str]) -> None:
    if arguments[:1] == ["--version"]:
        from regard import __version__

        print(f"regard {__version__}")
        return
    arguments = with_command(arguments)
    app_for(arguments[0] if arguments else "")(args=arguments, prog_name="regard")


def with_command(arguments: list[str]) -> list[str]:
    """Put the reading command in front of a sentence.

    >>> with_command(["A dog ate"]), with_command(["info"]), with_command(["--help"])
    (['read', 'A dog ate'], ['info'], ['--help'])
    """
    if not arguments or arguments[0] in COMMANDS or arguments[0] in OWN_OPTIONS:
        return arguments
    close = difflib.get_close_matches(arguments[0], COMMANDS, n=1, cutoff=0.75)
    if close:
        raise ArgumentError(
            f"there is no command {arguments[0]!r}; did you mean {close[0]!r}? "
            f'To read it as a sentence: regard read "{arguments[0]}".'
        )
    return ["read", *arguments]


def app_for(name: str) -> typer.Typer:
    """All commands by name and summary; the one that runs is imported."""
    app = typer.Typer(
        help=ABOUT,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="Every command has --help with an example.",
    )
    app.callback()(_version)
    for command in COMMANDS.values():
        function = command.function() if command.name == name else _stub
        app.command(
            command.name,
            help=None if command.name == name else command.summary,
            epilog=f"Example: {command.example}",
            hidden=command.hidden,
        )(_guarded(function))
    return app


def _version(version: bool = typer.Option(False, "--version", help="Show the version.")) -> None:
    """Only so that --help lists it; `main` answers it before anything is imported."""


def _stub() -> None:
    """Stands for a command that is only listed."""


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """An expected error is one line and status 2, Ctrl-C is status 130, a closed pipe is quiet."""

    @wraps(function)
    def guarded(*arguments: Any, **options: Any) -> None:
        try:
            function(*arguments, **options)
            sys.stdout.flush()
        except RegardError as error:
            _leave(2, f"error: {error}")
        except KeyboardInterrupt:
            _leave(130)
        except BrokenPipeError:
            # Python flushes stdout once more on its way out: let that go nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            _leave(141)

    return guarded


def _leave(status: int, message: str = "") -> NoReturn:
    if message:
        print(message, file=sys.stderr)
    raise SystemExit(status)


def _survive_odd_terminals() -> None:
    """A terminal without √ shows ? instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


__all__ = ["Command", "app_for", "main", "with_command"]
