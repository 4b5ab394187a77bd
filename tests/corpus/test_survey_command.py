"""The command as a user meets it: in a pipe, 80 columns, with what can go wrong."""

import subprocess
import sys

import pytest

from regard.cli.commands import COMMANDS


def regard(*arguments, **options):
    command = [sys.executable, "-m", "regard", "survey", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_a_survey_in_a_pipe(corpus, folder, tmp_path, undisturbed):
    out = tmp_path / "out"
    run = regard(corpus, "--model", folder, "--out", out, "--workers", 1, "--batch", 8)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("8 heads over 117 documents, ")
    assert "1 document longer than 256 tokens" in run.stdout.replace("\n", " ")
    assert run.stdout.endswith(f"Look at it: {out / 'report.html'}\n")
    assert max(map(len, run.stdout.splitlines()[:-1])) <= 80
    assert (out / "report.json").read_bytes() == (undisturbed.folder / "report.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt"], "No such file: 'none.txt'. Check the path, and quote a pattern so that "
         "regard expands it."),
        (["a.txt", "--sample", "2"], "sample must be above 0 and at most 1, got 2: 0.1 is a "
         "tenth of the documents."),
        (["a.txt", "--model", "nowhere"], "No such folder: 'nowhere'. Models are not downloaded: "
         "give the path of a local folder."),
        (["a.txt", "--out", "a.txt"], "out must be a folder, but 'a.txt' is a file."),
    ],
)  # fmt: skip
def test_what_can_be_typed_wrong(tmp_path, arguments, message):
    (tmp_path / "a.txt").write_text("A dog.\n")
    run = regard("--out", "out", *arguments, cwd=tmp_path)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"error: {message}\n")


def test_help_has_an_example():
    run = regard("--help", env={"COLUMNS": "80"})
    assert f"Example: {COMMANDS['survey'].example}" in run.stdout
