"""Checks of arguments before any work: files, folders, numbers, text."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli.io import check_bounds, check_output_file, check_output_folder, text_argument
from regard.errors import ArgumentError, FileError

NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")


def test_text_is_left_as_it_is():
    assert text_argument("sentence", "mangé") == "mangé"


def test_bytes_of_the_c_locale_are_utf8():
    assert text_argument("sentence", "mang\udcc3\udca9") == "mangé"
    with pytest.raises(ArgumentError) as caught:
        text_argument("sentence", "\udcff")
    assert str(caught.value) == "sentence must be text in UTF-8, got '\\udcff'."


def test_the_suffix_decides_or_is_refused(tmp_path):
    check_output_file("--save", tmp_path / "run.REGARD", (".regard", ".html"))
    with pytest.raises(ArgumentError) as caught:
        check_output_file("--save", Path("run.svg"), (".regard", ".html"))
    assert str(caught.value) == "--save must end in .regard or .html, got 'run.svg'."


def test_a_folder_to_make_or_to_write_into(tmp_path):
    check_output_folder("--out", tmp_path)
    check_output_folder("--out", tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "file"
    file.touch()
    for path in (file, file / "inside"):
        with pytest.raises(FileError) as caught:
            check_output_folder("--out", path)
        assert str(caught.value) == f"--out must be a folder, but {str(file)!r} is a file."


@NEEDS_PROC
def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("A dog.\tUn chien.\n")
    arguments = [sys.executable, "-m", "regard", "survey", str(corpus), "--out", "/proc/x"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, env=os.environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --out cannot be written: /proc/x: ")
    assert done.stderr.count("\n") == 1


def test_bounds():
    check_bounds("--heads", 1, 1)
    with pytest.raises(ArgumentError) as caught:
        check_bounds("--width", 5_000, 1, 4_096)
    assert str(caught.value) == "--width must be 1 to 4,096, got 5000."
