"""The sandbox of check: nothing outlives it, no limit can be lifted, any output is survived."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep

import pytest

from regard.checker.sandbox import Limits, check_apart, run_suite_apart
from regard.errors import ArgumentError

ROOT = Path(__file__).parents[2]
PATIENCE = 300  # seconds, on a busy machine
HOSTILE = """
import os, subprocess, sys, time
def started(name):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(os.environ["PIDS"] + ".part", "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
    os.rename(os.environ["PIDS"] + ".part", os.environ["PIDS"])
def quiet(query, key, value):
    if not os.path.exists(os.environ["PIDS"]):
        started("quiet")
    return value
def forever(query, key, value):
    if not os.path.exists(os.environ["PIDS"]):
        started("forever")
    while True:
        pass
def bytes_on_stderr(query, key, value):
    os.write(2, b"\\xff\\xfe\\x80 no text\\n")
    os._exit(3)
def prints(query, key, value):
    print("{}")
    raise ValueError("no attention")
def forged(query, key, value):
    for fd in range(3, 64):
        try:
            os.write(fd, b'\\n{"verdict": 7}\\n')
        except OSError:
            pass
    os._exit(0)
def garbage(query, key, value):
    for fd in range(3, 64):
        try:
            os.write(fd, b'\\xff[[[\\n')
        except OSError:
            pass
    os._exit(0)
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX's")


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    path = tmp_path / "hostile.py"
    path.write_text(HOSTILE)
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    return path


def gone(pid):
    """Whether no process has this number, or only one that ended and was not waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def wait_until(condition):
    """Poll a condition; the limit is for a test that would hang, not a measurement."""
    end = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < end, "waited in vain"
        sleep(0.02)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
def test_what_it_started_ends_with_a_result(hostile, tmp_path):
    check_apart(f"{hostile}:quiet", {}, Limits())
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    wait_until(lambda: all(gone(pid) for pid in pids))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_it_ends_with_its_parent(hostile, tmp_path, name):
    command = [sys.executable, "-m", "regard", "check", f"{hostile}:forever", "--seconds", "600"]
    number = getattr(signal, name)
    before = signal.getsignal(number)
    if before is signal.SIG_IGN:  # nohup lets all it starts ignore SIGHUP
        signal.signal(number, signal.SIG_DFL)
    parent = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    if before is signal.SIG_IGN:
        signal.signal(number, before)
    with parent:
        wait_until(lambda: (tmp_path / "pids").exists())
        os.kill(parent.pid, number)
        parent.wait()
        pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
        wait_until(lambda: all(gone(pid) for pid in pids))


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e300])
def test_no_odd_number_of_seconds_lifts_the_limit(seconds):
    with pytest.raises(ArgumentError, match=r"^--seconds must be above 0 and at most 86400, "):
        Limits(seconds=seconds)


@pytest.mark.parametrize("memory", [0, -1, float("nan"), float("inf"), 1e300])
def test_no_odd_amount_of_memory_lifts_the_limit(memory):
    with pytest.raises(ArgumentError, match=r"^--memory must be above 0 and at most 100000, "):
        Limits(memory=memory)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bytes_on_stderr", "the process ended with status 3: \ufffd\ufffd\ufffd no text"),
        ("prints", "ValueError: no attention"),
        ("forged", "its process returned something that is not an answer"),
        ("garbage", "the process ended with status 0: it printed nothing"),
    ],
)
def test_whatever_it_writes_is_survived(hostile, name, reason):
    report = check_apart(f"{hostile}:{name}", {}, Limits())
    assert report.status == 2
    assert any(reason in line for line in report.tried), report.tried


def test_a_bad_option_is_one_sentence(hostile):
    report = check_apart(f"{hostile}:prints", {"features": ["bogus"]}, Limits())
    assert report.status == 2
    assert report.tried[0].endswith(".")
    assert "bogus" in report.tried[0]


@pytest.mark.parametrize(
    "target",
    [
        f"{ROOT}/tests/checker/samples/wild/right_blocks.py:PreNormAttention",
        f"{ROOT}/tests/checker/samples/wild/right_modules.py:CausalSelfAttention",
        "torch.nn.functional:scaled_dot_product_attention",
    ],
)
def test_blocks_modules_and_tensors_are_judged_from_outside(target):
    report = check_apart(target, {"features": "no empty rows"}, Limits(), path=(str(ROOT),))
    assert report.right, str(report)
    assert report.findings[-1].name == "fresh inputs"


def test_the_suite_is_judged_from_outside():
    suite = run_suite_apart(
        f"{ROOT}/examples/kernel_ci/packed_kernel.py:packed_attention", Limits()
    )
    assert suite.status == 0, suite.markdown()
    assert suite.rows["packed, several lengths"]["float32"].status == "pass"
    with pytest.raises(ArgumentError, match=r"^nowhere\.py:f could not be checked: no such file"):
        run_suite_apart("nowhere.py:f", Limits())


NAMES_OF_PYTHON = ("queue", "copy", "signal", "math", "random", "struct", "json", "numpy", "types")
RIGHT = """
import numpy as np
def attention(q, k, v):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v
"""


def test_files_beside_it_replace_no_module_of_python_or_of_regard(tmp_path, monkeypatch):
    for name in NAMES_OF_PYTHON:
        marked = f"open({str(tmp_path / 'ran')!r}, 'w').close()\nraise SystemExit"
        (tmp_path / f"{name}.py").write_text(marked)
    (tmp_path / "regard").mkdir()
    (tmp_path / "regard" / "__init__.py").write_text("raise SystemExit")
    (tmp_path / "mine.py").write_text(RIGHT)
    monkeypatch.chdir(tmp_path)
    report = check_apart("mine.py:attention", {}, Limits())
    assert report.verdict == "right", str(report)
    assert not (tmp_path / "ran").exists()


def test_a_module_of_its_own_is_imported_by_name(tmp_path):
    (tmp_path / "chunk.py").write_text("def halves(x): return x")  # a module of old Pythons
    (tmp_path / "mine.py").write_text("import chunk\n" + RIGHT)
    assert check_apart(f"{tmp_path / 'mine.py'}:attention", {}, Limits()).verdict == "right"


RUNS_AWAY = """
import os, sys, time
def runs_away(q, k, v):
    for _ in range(2):  # a grandchild in a session of its own, whose parent is gone
        if os.fork():
            if _ == 0:
                os.wait()
                return v
            os._exit(0)
        os.setsid()
    with open(os.environ["PIDS"], "a") as file:
        file.write(f"{os.getpid()} ")
    time.sleep(600)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="orphans come back on Linux alone")
def test_what_leaves_its_session_ends_too(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(RUNS_AWAY)
    monkeypatch.setenv("PIDS", str(tmp_path / "pids"))
    check_apart(f"{tmp_path / 'mine.py'}:runs_away", {}, Limits(seconds=60))
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert pids
    assert all(gone(pid) for pid in pids)


SHARED_OUT = """
import os, time
def many(q, k, v):
    for _ in range(8):
        if not os.fork():
            held = bytearray(os.urandom(1) * (200 * 2**20))
            time.sleep(600)
    time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="memory is looked up in /proc")
def test_the_memory_of_all_processes_together_is_limited(tmp_path):
    (tmp_path / "mine.py").write_text(SHARED_OUT)
    report = check_apart(f"{tmp_path / 'mine.py'}:many", {}, Limits(seconds=PATIENCE, memory=1))
    assert report.status == 2
    assert "its processes used more than 1 GB (--memory N for more) together" in report.tried[0]
