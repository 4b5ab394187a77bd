"""Guard around every command: each failure becomes one sentence and an exit status.

Status 0 is success; 1 is a wrong result of ``check``; 2 is an error that the user can fix; 70 is a
bug of regard; 130 is Ctrl-C; 141 is a closed pipe. REGARD_DEBUG=1 shows the traceback instead.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NoReturn

from regard.errors import RegardError

USER_ERROR, INTERNAL_ERROR, INTERRUPTED, CLOSED_PIPE = 2, 70, 130, 141


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose failures end the process with one sentence and an exit status."""

    @wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        with _noticing_interrupts() as received:
            try:
                result = function(*arguments, **options)
                sys.stdout.flush()
            except KeyboardInterrupt:
                leave(INTERRUPTED)
            except BrokenPipeError:
                _discard_output()
                leave(CLOSED_PIPE)
            except Exception as error:
                if _is_exit(error) or os.environ.get("REGARD_DEBUG"):
                    raise
                if received or is_caused_by_interrupt(error):
                    leave(INTERRUPTED)
                leave(*_status_and_sentence(error))
        return result

    return call


@contextmanager
def _noticing_interrupts() -> Iterator[list[int]]:
    """Signals of Ctrl-C within the block, which raise KeyboardInterrupt as ever.

    An import that is interrupted may fail with an error that has no trace of it: Python's compiler
    makes a SyntaxError of one that hits the loading of a table.
    """
    received: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    usual = signal.default_int_handler
    if signal.getsignal(signal.SIGINT) is not usual:  # ignored, as under nohup
        yield received
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield received
    finally:
        signal.signal(signal.SIGINT, usual)


def leave(status: int, message: str = "") -> NoReturn:
    """End the process; the message goes to the error stream, its control characters escaped."""
    if message:
        from regard.view.terminal.style import printable

        print("\n".join(map(printable, message.split("\n"))), file=sys.stderr)
    raise SystemExit(status)


def prepare_streams() -> None:
    """Replace characters that a standard stream cannot encode; refuse a closed output."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (for the rest of the process)
    if sys.stdout is None:
        leave(USER_ERROR, "error: the standard output is closed.")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _status_and_sentence(error: Exception) -> tuple[int, str]:
    if isinstance(error, RegardError):
        return USER_ERROR, f"error: {_one_line(error)}"
    if _is_usage_error(error):
        return USER_ERROR, _usage(error)
    if isinstance(error, MemoryError) or "out of memory" in str(error):  # torch: a RuntimeError
        detail = f" ({_one_line(error)})" if str(error) else ""
        return USER_ERROR, (f"error: out of memory{detail}: try a shorter text or smaller numbers.")
    if isinstance(error, RecursionError):
        return USER_ERROR, "error: the input is nested too deeply."
    if isinstance(error, OSError) and error.strerror:
        return USER_ERROR, _system_error(error)
    return INTERNAL_ERROR, (
        f"error: regard failed unexpectedly: {type(error).__name__}: {_one_line(error)[:300]} "
        "(a bug of regard: please report it with the traceback that REGARD_DEBUG=1 shows; see "
        "CONTRIBUTING.md)."
    )


def is_caused_by_interrupt(error: BaseException | None) -> bool:
    """Whether an error arose from Ctrl-C, which the interrupted code turned into another error."""
    chain = [error]
    for one in chain:  # which grows: an error has a cause and a context, which may differ
        if isinstance(one, KeyboardInterrupt):
            return True
        if one is not None:
            chain += [x for x in (one.__cause__, one.__context__) if x not in chain]
    return False


def _is_exit(error: Exception) -> bool:
    """Whether typer ends the command; without typer loaded nothing can."""
    typer = sys.modules.get("typer")
    return typer is not None and isinstance(error, typer.Exit)


def _is_usage_error(error: Exception) -> bool:
    typer = sys.modules.get("typer")  # it brings its own click, whose UsageError this is
    return typer is not None and isinstance(error, typer.BadParameter.__base__)


def _system_error(error: OSError) -> str:
    if error.filename is None:  # no file was opened, so the standard output failed
        _discard_output()
        return f"error: the output cannot be written: {error.strerror}."
    return f"error: {os.fsdecode(error.filename)}: {error.strerror}."


def _usage(error: Any) -> str:
    context = error.ctx
    if context is None:
        return f"error: {error.format_message()}"
    message = _missing(error) or error.format_message()
    if message.startswith("Got unexpected extra argument"):
        message += " (put a sentence in quotes)"
    help_line = f"Try '{context.command_path} --help'."
    return "\n".join([context.get_usage(), help_line, "", f"error: {message}"])


def _missing(error: Any) -> str:
    """Message for a missing argument, with an example; empty for other errors."""
    from regard.cli.commands import COMMANDS

    command = COMMANDS.get(error.ctx.info_name)
    parameter = getattr(error, "param", None)
    if type(error).__name__ != "MissingParameter" or command is None or parameter is None:
        return ""
    name = max(parameter.opts, key=len)  # of an option the long form, of an argument its name
    kind = parameter.param_type_name
    return f"{command.name} is missing the {kind} {name!r}: try {command.example}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split("\n"))


def _discard_output() -> None:
    # Python flushes stdout once more when it exits; the flush must not fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
