"""The guard of the commands: every failure is one sentence and an exit status."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard.cli.guard import guarded

REGARD = [sys.executable, "-m", "regard"]
SOURCE = Path(__file__).parents[2] / "src"
PLAIN = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
C_LOCALE = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"},
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
}
NEEDS_POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and /dev are POSIX")
FAIL = """
import sys
import regard.cli.info as info
from regard.cli import main
def gather(): {failure}
info.gather = gather
main(["info"])
"""
INTERRUPT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""


def run(command, env=PLAIN, **options):
    return subprocess.run(
        command, capture_output=True, env=env, check=False, timeout=600, **options
    )


def failing(failure, **environment):
    """Status and error text of a command that fails in this way."""
    done = run([sys.executable, "-c", FAIL.format(failure=failure)], {**PLAIN, **environment})
    assert done.stdout == b""
    return done.returncode, done.stderr.decode()


def test_an_unexpected_error_is_one_sentence_and_says_where_to_report_it():
    assert failing("raise KeyError('x')") == (
        70,
        "error: regard failed unexpectedly: KeyError: 'x' (a bug of regard: please report it with "
        "the traceback that REGARD_DEBUG=1 shows; see CONTRIBUTING.md).\n",
    )


def test_debugging_shows_the_traceback():
    status, text = failing("raise KeyError('x')", REGARD_DEBUG="1")
    assert status == 1
    assert text.startswith("Traceback")
    assert text.endswith("KeyError: 'x'\n")


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (
            "raise MemoryError('80 GB')",
            "out of memory (80 GB): try a shorter text or smaller numbers.",
        ),
        (
            "raise RuntimeError('CUDA out of memory')",
            "out of memory (CUDA out of memory): try a shorter text or smaller numbers.",
        ),
        (
            "(f := lambda: f())()",
            "the input is nested too deeply.",
        ),
        ("open('absent/x')", "absent/x: No such file or directory."),
        ("raise OSError(28, 'No space left')", "the output cannot be written: No space left."),
    ],
)
def test_errors_of_the_machine_are_one_sentence(failure, message):
    assert failing(failure) == (2, f"error: {message}\n")


def test_control_characters_of_a_message_are_shown_and_not_sent():
    status, text = failing("from regard.errors import FileError; raise FileError('a\x1b[2J\\nb')")
    assert (status, text) == (2, "error: a\\x1b[2J b\n")


@pytest.mark.parametrize("arguments", [["steps", "a", "--\x1b[2J"], ["\x1b[2Jinfo", "--\x1b[2J"]])
def test_control_characters_of_an_option_are_shown_and_not_sent(arguments):
    done = run([*REGARD, *arguments])
    assert done.returncode == 2
    assert b"\x1b" not in done.stderr
    assert b"\\x1b[2J" in done.stderr


@NEEDS_POSIX
@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        (">/dev/full", "error: the output cannot be written: No space left on device.\n"),
        (">&-", "error: the standard output is closed.\n"),
    ],
)
def test_an_output_that_takes_nothing(redirection, message):
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    done = run(["sh", "-c", f'"{sys.executable}" -m regard example robots {redirection}'])
    assert (done.returncode, done.stderr.decode()) == (2, message)


@NEEDS_POSIX
def test_a_closed_error_stream_changes_nothing():
    done = run(["sh", "-c", f'"{sys.executable}" -m regard --version 2>&-'])
    assert (done.returncode, done.stdout) == (0, f"regard {regard.__version__}\n".encode())


@NEEDS_POSIX
@pytest.mark.parametrize(
    "module", ["regard.cli", "typer", "regard.cli.commands", "regard.errors", "json"]
)
def test_ctrl_c_while_the_command_is_imported_is_quiet(tmp_path, module):
    """An interrupt at the very start, sent by the import of one module."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT.format(module=module))
    path = os.pathsep.join([str(tmp_path), str(SOURCE)])
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from regard.__main__ import main; main()"
    command = [sys.executable, "-c", code, "info", "--json"]
    done = run(command, {**PLAIN, "PYTHONPATH": path})
    assert (done.returncode, done.stderr) == (130, b"")


@NEEDS_POSIX
def test_ctrl_c_is_left_alone_where_it_is_ignored():
    """A job in the background of a shell ignores it, and so does the command."""
    done = run(
        [*REGARD, "--version"], preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    )
    assert done.returncode == 0


@NEEDS_POSIX
def test_json_keeps_every_letter_in_the_c_locale():
    done = run([*REGARD, "steps", "mangé", "--width", "1", "--json"], C_LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.decode("ascii"))["words"] == ["mangé"]


@NEEDS_POSIX
def test_a_worksheet_in_the_c_locale(tmp_path):
    path = tmp_path / "sheet.html"
    done = run([*REGARD, "worksheet", "mangé bien", "--save", str(path)], C_LOCALE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "mangé bien" in path.read_text(encoding="utf-8")
    printed = run([*REGARD, "worksheet", "mangé bien", "--save", "-"], C_LOCALE)
    assert printed.stdout.decode("utf-8") == path.read_text(encoding="utf-8")


@NEEDS_POSIX
def test_text_that_is_not_utf8_is_refused():
    done = run([*REGARD, "steps", b"caf\xe9"], C_LOCALE)
    assert done.returncode == 2
    assert done.stderr == b"error: sentence must be text in UTF-8, got 'caf\\udce9'.\n"


@pytest.mark.parametrize("cause", ["the interrupt", "another error"])
def test_an_error_that_an_interrupt_made_is_an_interrupt(capsys, cause):
    def command():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            known = interrupt if cause == "the interrupt" else KeyError("half of a module")
            raise ImportError("a library was being loaded") from known

    with pytest.raises(SystemExit) as end:
        guarded(command)()
    assert end.value.code == 130
    assert capsys.readouterr().err == ""


@NEEDS_POSIX
def test_an_error_without_a_trace_of_the_interrupt_is_an_interrupt_too(capsys):
    def command():
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            signal.pause()
        raise SyntaxError("half of a module")

    with pytest.raises(SystemExit) as end:
        guarded(command)()
    assert end.value.code == 130
    assert capsys.readouterr().err == ""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@NEEDS_POSIX
def test_ctrl_c_while_the_process_ends_is_quiet():
    code = (
        "import atexit, os, signal, sys; sys.argv = ['regard', '--version']\n"
        "atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "from regard.__main__ import main; main()"
    )
    done = run([sys.executable, "-c", code])
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")
