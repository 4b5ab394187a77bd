"""The typer application: commands by name, and help with options in sections.

typer draws its panels with rich, whose import is slow and whose boxes are wide; the classes here
print ``rich_help_panel`` as plain sections instead.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from regard.cli.commands import COMMANDS, MAIN_COMMAND
from regard.cli.guard import guarded

ABOUT = """Inspect attention: every number exact, from three words to a million tokens.

regard "A sentence" translates it with the shipped model and shows what its heads attend to; this is
the command read, whose name may be left out. Layers and heads count from 0."""


MORE = {"allow_extra_args": True, "ignore_unknown_options": True}


class SectionedCommand(TyperCommand):
    """A command whose help lists its options in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, rows in option_sections(self, ctx).items():
            with formatter.section(title):
                formatter.write_dl(rows)


class MainGroup(TyperGroup):
    """All commands; the help also lists the options of the main command."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        super().format_commands(ctx, formatter)
        main = self.commands[MAIN_COMMAND]
        for title, rows in option_sections(main, ctx).items():
            options = [row for row in rows if not row[0].startswith("--help")]
            with formatter.section(f"{title} of {MAIN_COMMAND}"):
                formatter.write_dl(options)


def option_sections(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Names and help texts of arguments and options by section, --help last."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        row = parameter.get_help_record(ctx)
        if row is not None:
            is_argument = parameter.param_type_name == "argument"
            title = getattr(parameter, "rich_help_panel", None)
            title = title or ("Arguments" if is_argument else "Options")
            names = re.sub(r"<list\[(\w+)\]>", lambda kind: f"<{kind[1].lower()}>", row[0])
            sections.setdefault(title, []).append((names, row[1]))
    return sections


def build_app(name: str) -> typer.Typer:
    """All commands by name and summary; the one that runs is imported."""

    def show_version(
        version: bool = typer.Option(False, "--version", help="Show the version."),
    ) -> None:
        """Only so that --help lists it; ``main`` answers it before anything is imported."""

    app = typer.Typer(
        cls=MainGroup,
        help=ABOUT,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="Every command has --help with an example.",
    )
    app.callback()(show_version)
    shown = name if name in COMMANDS else MAIN_COMMAND  # the help of all lists its options
    is_completed = "_REGARD_COMPLETE" in os.environ  # which asks for the options of any
    for command in COMMANDS.values():
        function = command.function() if is_completed or command.name == shown else _stub
        app.command(
            command.name,
            cls=SectionedCommand,
            help=None if command.name == name else command.summary,
            epilog=f"Example: {command.example}",
            context_settings=MORE if command.takes_more else None,
        )(guarded(function))
    return app


def with_options(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A function whose parameters are declared to typer here instead of in its signature."""
    hints = get_type_hints(function)
    signature = inspect.signature(function)

    @wraps(function)
    def call(*arguments: Any, **values: Any) -> Any:
        return function(*arguments, **values)

    call.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            parameter.replace(annotation=Annotated[hints[name], options[name]])
            for name, parameter in signature.parameters.items()
        ]
    )
    return call


def _stub() -> None:
    """Placeholder of a command that is only listed."""
