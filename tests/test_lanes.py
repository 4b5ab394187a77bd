"""tools/lanes.py runs commands beside each other and loses neither a line nor a failure."""

import os
import signal
import subprocess
import sys
from pathlib import Path

LANES = Path(__file__).parent.parent / "tools" / "lanes.py"


def lanes(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, LANES, *arguments], capture_output=True, text=True)


def test_output_comes_lane_by_lane_and_every_failure_is_kept(tmp_path):
    """The first lane waits for the second through a pipe, so they must run at the same time."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ended = lanes(
        "--lane", f"cat {pipe}; echo first >&2", "echo and next",
        "--lane", f"echo from the other > {pipe}; echo second; exit 3", "echo and on",
    )  # fmt: skip
    *printed, one, two, three, four = ended.stdout.splitlines()
    assert printed == ["from the other", "first", "and next", "second", "and on"]
    assert [line.split()[2] for line in (one, two, four)] == ["ok"] * 3
    assert " FAILED (3) " in three
    assert ended.returncode == 1
    assert lanes("--lane", "true").returncode == 0


def test_ctrl_c_ends_every_command_and_what_it_started(tmp_path):
    pipes = [tmp_path / name for name in ("one", "two", "ends")]
    for pipe in pipes:
        os.mkfifo(pipe)
    # The pipe 'ends' closes when the last of the sleeping processes is gone. A shell lets what it
    # starts in the background ignore Ctrl-C: these have to be killed.
    sleeper = f"exec 9> {pipes[2]}; echo started > {{}}; sleep 1000 & wait"
    with subprocess.Popen(
        [sys.executable, LANES, "--patience", "0.1", "--lane", sleeper.format(pipes[0]),
         "echo never", "--lane", sleeper.format(pipes[1])],
        stdout=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        with pipes[2].open() as ends:
            for pipe in pipes[:2]:
                assert pipe.read_text() == "started\n"
            running.send_signal(signal.SIGINT)
            assert ends.read() == ""  # returns when nobody can write any more
        assert running.communicate()[0] == ""
        assert running.returncode == 130
