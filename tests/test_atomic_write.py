"""Files written completely or not at all: errors, full disks and kills leave the old one."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError
from safetensors.numpy import save_file

from regard.atomic_write import check_writable, replacing, write_bytes, write_text
from regard.errors import FileError

KILLED_WHILE_WRITING = """
import os, signal, sys
from regard.atomic_write import replacing

with replacing(sys.argv[1]) as draft:
    draft.write_text("half of the new")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text("the old one")
    return path


def only_file(target: Path) -> str:
    """Content of the target, after checking that nothing lies beside it."""
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    return target.read_text(encoding="utf-8")


def write_half(target: Path, error: BaseException) -> None:
    with replacing(target) as draft:
        draft.write_text("half")
        raise error


def test_a_draft_of_a_killed_process_is_removed_later(tmp_path):
    stale = tmp_path / ".a.txt.123.0123abcd.draft"
    fresh, other = tmp_path / ".a.txt.124.0123abcd.draft", tmp_path / ".a.txt.old.draft"
    for path in (stale, fresh, other):
        path.write_text("half")
    for path in (stale, other):
        os.utime(path, (0, 0))
    write_text(tmp_path / "a.txt", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [fresh.name, other.name, "a.txt"]
    )


def test_a_file_is_made_or_replaced(target: Path) -> None:
    write_text(target, "mangé\n")
    assert only_file(target) == "mangé\n"
    write_bytes(str(target), b"\x00\xff")
    assert target.read_bytes() == b"\x00\xff"


def test_line_ends_stay_as_they_are(target: Path) -> None:
    write_text(target, "a\nb\r\n")
    assert target.read_bytes() == b"a\nb\r\n"


def test_an_error_of_the_writer_leaves_the_old_file(target: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        write_half(target, ZeroDivisionError())
    assert only_file(target) == "the old one"


def test_an_interrupt_leaves_the_old_file(target: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        write_half(target, KeyboardInterrupt())
    assert only_file(target) == "the old one"


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError) as caught:
        write_text(target, "new")
    assert str(caught.value) == (
        f"{target} cannot be written: No space left on device. Choose another path."
    )
    assert only_file(target) == "the old one"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_device_that_is_full_is_one_sentence() -> None:
    with pytest.raises(FileError, match="/dev/full cannot be written: No space left on device"):
        write_text("/dev/full", "new")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_a_kill_in_the_middle_leaves_the_old_file(target: Path) -> None:
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, str(target)]
    assert subprocess.run(command, check=False, timeout=600).returncode == -9
    assert target.read_text() == "the old one"
    assert all(path.name.endswith(".draft") for path in target.parent.iterdir() if path != target)
    write_text(target, "new")
    assert target.read_text() == "new"


def test_an_error_about_another_file_stays_what_it_is(target: Path) -> None:
    with pytest.raises(FileNotFoundError), replacing(target):
        Path(target.parent / "input.txt").read_text()
    assert only_file(target) == "the old one"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is a folder. Add the name of a file."),
        ("no/file.txt", "its folder does not exist. Make the folder, or choose another path."),
        ("report.html/x", "its folder is not a folder. Make the folder, or choose another path."),
        ("x" * 300, "File name too long. Choose another path."),
    ],
)
def test_a_bad_path_is_refused_before_the_work(target: Path, name: str, why: str) -> None:
    path = target.parent / name
    for refuse in (check_writable, lambda each: write_text(each, "new")):
        with pytest.raises(FileError) as caught:
            refuse(path)
        assert str(caught.value) == f"{path} cannot be written: {why}"
    assert only_file(target) == "the old one"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no /proc")
def test_a_folder_that_takes_no_files_is_refused() -> None:
    with pytest.raises(FileError, match=r"/proc/x\.html cannot be written: "):
        check_writable("/proc/x.html")


def test_a_read_only_file_is_refused(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write to any file
    with pytest.raises(FileError, match=r"the file is read-only\. Choose another path\."):
        check_writable(target)


def test_checking_changes_nothing(target: Path) -> None:
    check_writable(target)
    check_writable(target.with_name("new.txt"))
    assert only_file(target) == "the old one"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_permissions_are_the_old_ones_or_the_usual_ones(target: Path) -> None:
    target.chmod(0o640)
    write_text(target, "new")
    assert target.stat().st_mode & 0o777 == 0o640
    usual, made = target.with_name("usual"), target.with_name("made")
    usual.touch()
    write_text(made, "new")
    assert made.stat().st_mode == usual.stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
def test_a_link_is_followed(target: Path) -> None:
    link = target.with_name("link.html")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_full_disk_under_safetensors_is_a_file_error(tmp_path):
    path = tmp_path / "x.safetensors"
    with pytest.raises(FileError) as error, replacing(path):
        raise SafetensorError("I/O error: No space left on device (os error 28)")
    assert str(error.value) == (
        f"{path} cannot be written: I/O error: No space left on device (os error 28). "
        "Choose another path."
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no umask")
def test_the_umask_decides_also_where_a_library_makes_a_file_of_its_own(tmp_path):
    path = tmp_path / "x.safetensors"
    before = os.umask(0o022)
    try:
        with replacing(path) as draft:
            save_file({"x": np.zeros(3)}, draft)
            draft.chmod(0o600)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644
