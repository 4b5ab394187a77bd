"""The command line, as a user meets it: 80 columns, a pipe; a few of them in a fresh process."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.command_line import command_here

import regard
from regard.checker.sandbox import load
from regard.cli import main, with_command
from regard.cli.commands import COMMANDS
from regard.errors import ArgumentError

ROBOTS = Path(__file__).parents[2] / "examples" / "robots.toml"
REGARD = [sys.executable, "-m", "regard"]
PLAIN = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}


def in_a_fresh_process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*REGARD, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**PLAIN, **environment},
        encoding="utf-8",
    )


def shown(*arguments: str, run=command_here) -> str:
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refused(*arguments: str, run=command_here) -> str:
    """The one line of an expected error."""
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    return done.stderr.strip()


@pytest.mark.smoke
def test_help_lists_the_commands():
    text = shown("--help", run=in_a_fresh_process)
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", text, re.MULTILINE)


def test_help_lists_the_options_of_the_main_command_in_sections():
    text = shown("--help")
    for section in ("Arguments", "Options", "Output", "Experiments"):
        assert f"\n{section} of read:\n" in text
    for option in ("--layer", "--head", "--from", "--save", "--redirect", "--effects"):
        assert re.search(rf"^  {option} ", text, re.MULTILINE)
    assert len(re.findall(r"^  --help ", text, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("command", "sections"),
    [
        ("read", ["Arguments", "Options", "Output", "Experiments"]),
        ("watch", ["Arguments", "Options", "Report and files", "Experiments"]),
        ("survey", ["Arguments", "Options", "Execution"]),
        ("check", ["Arguments", "The function", "Limits", "Report", "Options"]),
    ],
)
def test_long_help_has_sections(command, sections):
    headings = re.findall(r"^(\w.*):$", shown(command, "--help"), re.MULTILINE)
    assert headings == sections


def test_help_counts_layers_and_heads_from_0():
    text = shown("--help")
    assert "Layers and heads count from 0." in " ".join(text.split())


@pytest.mark.parametrize("name", ["steps", "example", "info"])
def test_every_command_has_help_with_an_example(name):
    text = " ".join(shown(name, "--help").split())
    assert f"Example: {COMMANDS[name].example}" in text


def test_no_arguments_give_help():
    done = command_here()
    assert "Usage: regard" in done.stdout + done.stderr


def test_help_may_be_a_word():
    assert shown("help") == shown("--help")
    assert shown("help", "info") == shown("info", "--help")


def test_words_without_quotes_are_one_sentence():
    assert shown("A", "dog", "ate", "--json") == shown("A dog ate", "--json")
    assert shown("read", "A", "dog", "ate") == shown("A dog ate")
    assert "(put a sentence in quotes)" in command_here("steps", "The", "cat").stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(shell):
    done = in_a_fresh_process(_REGARD_COMPLETE=f"source_{shell}")
    assert f"_REGARD_COMPLETE=complete_{shell}" in done.stdout


@pytest.mark.parametrize(
    ("typed", "number", "completed"),
    [("regard ste", "1", ["steps"]), ("regard watch --gen", "2", ["--generate"])],
)
def test_commands_and_options_are_completed(typed, number, completed):
    done = in_a_fresh_process(COMP_WORDS=typed, COMP_CWORD=number, _REGARD_COMPLETE="complete_bash")
    assert done.stdout.split() == completed


def test_vectors_without_end():
    """A device is read up to the limit of a sheet."""
    assert refused("steps", "--vectors", "/dev/zero") == (
        "error: /dev/zero must be a sheet of at most 64 MiB."
    )


def test_version():
    assert shown("--version", run=in_a_fresh_process) == f"regard {regard.__version__}\n"


def test_steps_shows_shapes_and_says_that_random_means_nothing():
    arguments = ("steps", "The cat sat on the mat", "--width", "8", "--seed", "0")
    text = shown(*arguments, run=in_a_fresh_process)
    assert text == shown(*arguments)
    assert "tokens (6): The cat sat on the mat" in text
    assert "x (6, 8)" in text
    assert "random (seed 0)" in text
    assert "means nothing yet" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_steps_with_heads_and_causal_as_json():
    plain = json.loads(
        shown("steps", "a b c", "--width", "4", "--heads", "2", "--causal", "--json")
    )
    assert plain["shapes"]["weights"] == [2, 3, 3]
    assert plain["stages"]["masked"][0][0][2] == "-inf"
    assert plain["words"] == ["a", "b", "c"]


def test_steps_from_a_file():
    text = shown("steps", "--vectors", str(ROBOTS))
    assert "weights[tasks, tasks] = e^2.828" in text
    assert "random" not in text


def test_steps_refuses_in_one_line(tmp_path):
    assert refused("steps") == (
        "error: steps takes either a sentence or --vectors FILE, got neither: "
        'try regard steps "The cat sat".'
    )
    assert refused("steps", "a", "--vectors", str(ROBOTS)).endswith("not both.")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('words = ["a"]\nx = 1\nw_query = 1\nw_key = 1\nw_value = 1\n')
    assert refused("steps", "--vectors", str(wrong)) == (
        f"error: {wrong} line 2: field x must be rows such as [[1, 0], [0, 1]], got 1."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--heads", "0"], "--heads must be at least 1, got 0."),
        (["--heads", "-2"], "--heads must be at least 1, got -2."),
        (["--width", "100000"], "--width must be 1 to 4,096, got 100000."),
        (["--width", "0"], "--width must be 1 to 4,096, got 0."),
    ],
)
def test_steps_refuses_numbers_out_of_bounds(arguments, message):
    assert refused("steps", "a b", *arguments) == f"error: {message}"


SHEET = '"words": ["a"], "x": [[1]], "w_query": [[1]], "w_key": [[1]], "w_value": [[1]]'


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("deep.json", "[" * 100_000, "is nested too deeply: it must hold lists of rows."),
        ("deep.toml", "x = " + "[" * 100_000, "is nested too deeply: it must hold lists of rows."),
        ("twice.json", f'{{"x": [[2]], {SHEET}}}', "is not JSON: the key 'x' is there twice."),
        ("escape.toml", '"\\u001b[2J" = 1', "line 1: field \\x1b[2J is unknown; "),
    ],
)
def test_steps_refuses_a_strange_file(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content)
    assert refused("steps", "--vectors", str(path)).startswith(f"error: {path} {message}")


def test_steps_reads_a_file_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "bom.json"
    path.write_text(f"{{{SHEET}}}", encoding="utf-8-sig")
    assert "tokens (1): a" in shown("steps", "--vectors", str(path))


def test_words_of_a_file_reach_the_terminal_as_text(tmp_path):
    path = tmp_path / "escape.json"
    path.write_text("{" + SHEET.replace('"a"', '"a\\u001b[2J"') + "}")
    text = shown("steps", "--vectors", str(path))
    assert "\x1b" not in text
    assert "a\\x1b[2J" in text


def test_example_lists_runs_and_gives_json():
    listed = shown("example")
    assert all(f"\n  {name} " in listed for name in ("robots", "good", "cat", "all"))
    text = shown("example", "all")
    assert text.count("What the document computes") == 3
    assert max(map(len, text.splitlines())) <= 80
    assert [e["name"] for e in json.loads(shown("example", "all", "--json"))] == [
        "robots",
        "good",
        "cat",
    ]
    assert json.loads(shown("example", "cat", "--json"))["name"] == "cat"
    assert refused("example", "dog") == (
        "error: example must be one of robots, good, cat or all, got 'dog'."
    )


def test_info_lists_available_backends():
    text = shown("info", run=in_a_fresh_process)
    assert re.search(r"numpy +available: ", text)
    assert re.search(r"cores +\d+ usable of \d+", text)
    facts = json.loads(shown("info", "--json"))
    assert facts["backends"]["numpy"]["against"] == []
    assert facts["blas"][0]["threads"] >= 1
    assert facts["packages"]["starlette"]
    assert facts["packages"]["uvicorn"]


def test_a_misspelt_command_is_not_read_as_a_sentence():
    assert refused("exampel", run=in_a_fresh_process) == (
        "error: there is no command 'exampel'; did you mean 'example'? "
        'To read it as a sentence: regard read "exampel".'
    )


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["A dog ate"], "read"),
        (["--layer", "3", "A dog ate"], "read"),
        (["read", "steps"], "read"),
        (["steps", "A dog"], "steps"),
        (["--help"], "--help"),
    ],
)
def test_what_is_no_command_is_read(arguments, command):
    assert with_command(arguments)[0] == command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["watch"],
            "watch is missing the argument 'model': try regard watch "
            'path/to/model "A dog ate the food because it was hungry"',
        ),
        (
            ["check"],
            "check is missing the argument 'target': try regard check my_file.py:my_attention",
        ),
        (
            ["survey", "corpus.txt"],
            "survey is missing the option '--out': try regard survey corpus.txt --out survey",
        ),
    ],
)
def test_what_did_not_come_is_named_with_an_example(arguments, message):
    run = command_here(*arguments)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.splitlines()[1:] == [
        f"Try 'regard {arguments[0]} --help'.", "", f"error: {message}"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.py", None, "no such file: {path}."),
        ("empty.py", "x = 1\n", "{path} defines no function to check."),
        ("wrong.py", "x = (\n", "{path} line 1 is not Python: '(' was never closed."),
        (
            "two.py",
            "raise SystemExit\ndef attend(): ...\nclass Head: ...\ndef _own(): ...\n",
            "{path} names no function; did you mean {path}:attend or {path}:Head?",
        ),
        (
            "notes",
            None,
            "the target must be a file and a function, such as mine.py:attention, got '{path}'.",
        ),
    ],
)
def test_check_of_a_file_without_a_function(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(ArgumentError) as caught:
        load(str(path))
    assert str(caught.value) == message.format(path=path)


def test_open_of_what_is_no_saved_file(tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("hello")
    needed = "error: open takes a sentence or a .regard file, but"
    makes = "To make one: regard watch"
    assert refused("open", "--no-browser", str(tmp_path)) == (
        f'{needed} {tmp_path} is a folder. {makes} FOLDER "text" --save run.regard'
    )
    (tmp_path / "config.json").write_text("{}")
    assert refused("open", "--no-browser", str(notes)) == (
        f'{needed} {notes} is another kind of file. {makes} FOLDER "text" --save run.regard'
    )
    assert refused("open", "--no-browser", str(tmp_path)) == (
        f"{needed} {tmp_path} is a model's folder. To keep the model loaded in the page: regard "
        f"open --model {tmp_path}"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_ctrl_c_in_a_survey_says_how_to_go_on(monkeypatch, capsys, tmp_path, terminal):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("regard.corpus.survey.survey", interrupted)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with pytest.raises(SystemExit) as caught:
        main(["survey", str(tmp_path), "--out", str(tmp_path / "out")])
    advice = "Stopped. Progress is saved: run the same command again to resume.\n"
    written = capsys.readouterr().err
    assert caught.value.code == 130
    assert written.endswith(advice) if terminal else written == ""


def test_a_closed_pipe_is_quiet():
    run = subprocess.Popen(
        [*REGARD, "example", "all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN
    )
    run.stdout.close()
    assert run.stderr.read() == b""
    run.stderr.close()
    assert run.wait() == 141


def test_ctrl_c_is_quiet():
    code = (
        "import time, regard.cli.info as info\n"
        "from regard.cli import main\n"
        "def wait(): print('ready', flush=True); time.sleep(600)\n"
        "info.gather = wait\n"
        "main(['info'])"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN
    )
    assert run.stdout.readline() == b"ready\n"
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=300)
    assert (run.returncode, errors) == (130, b"")


def test_a_terminal_without_the_signs_still_shows():
    run = in_a_fresh_process("steps", "a b", "--width", "2", PYTHONIOENCODING="ascii")
    assert (run.returncode, run.stderr) == (0, "")
    assert "scores / ?2" in run.stdout


@pytest.mark.parametrize(("options", "most"), [
    ([], "4,096 words"), (["--heads", "4"], "2,048 words with 4 heads"),
], ids=["one head", "four heads"])  # fmt: skip
def test_steps_count_words_before_anything_is_computed(monkeypatch, capsys, options, most):
    monkeypatch.setattr("regard.cli.steps.random_start", None)
    with pytest.raises(SystemExit) as left:
        main(["steps", "word " * 5_000, *options])
    message = f"steps must have at most {most}, got 5,000: choose a shorter text."
    assert (left.value.code, capsys.readouterr().err) == (2, f"error: {message}\n")
