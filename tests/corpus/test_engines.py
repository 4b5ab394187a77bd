"""Workers and drivers are killed at random points; what comes of it equals an undisturbed run."""

import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.helpers.stumbling import Stumbling

from regard.corpus.batches import BatchJob, Sampling
from regard.corpus.engines import _sigint_deferred, in_processes
from regard.corpus.models import ModelSpec
from regard.corpus.readers import documents, find_sources
from regard.corpus.shards import Shards
from regard.corpus.survey import SurveyJob
from regard.errors import BackendError

PATIENCE = 600  # seconds: a slow or busy machine is not a wrong survey
SAME = ("heads", "documents", "sums", "report.json", "report.html", "failed.parquet")


def contents(folder: Path) -> dict[str, bytes]:
    """Everything a survey wrote, by name, but for the manifest."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    named = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    return {name: held for name, held in named.items() if name.split("/")[0] in SAME}


@pytest.fixture
def job(corpus, folder, tmp_path):
    return SurveyJob(
        find_sources([corpus]), ModelSpec(str(folder)), Sampling(batch=8), tmp_path / "out"
    )


@pytest.fixture
def marks(tmp_path):
    (tmp_path / "marks").mkdir()
    return tmp_path / "marks"


def in_a_pool(marks, batches, always=False, workers=2):
    """The pool with work that kills its worker on these batches."""
    return lambda work, stream: in_processes(
        Stumbling(work, marks, batches, always), stream(), workers
    )


def test_a_killed_worker_costs_its_batch_not_the_run(job, marks, undisturbed):
    batches = tuple(random.Random(7).sample(range(15), 2))
    job.run(in_a_pool(marks, batches), restart=False)
    assert len(list(marks.iterdir())) == 2
    assert contents(job.folder) == contents(undisturbed.folder)


def test_a_batch_that_kills_every_worker_is_recorded(job, marks, undisturbed):
    import pyarrow.parquet as pq

    job.run(in_a_pool(marks, (3,), always=True), restart=False)
    failed = pq.read_table(job.folder / "failed.parquet").to_pylist()
    lost = [
        row["document"]
        for row in failed
        if row["reason"] == "the worker ended 3 times on its batch"
    ]
    assert lost == list(range(24, 32))
    for part in (2, 4):
        mine, theirs = (Shards(x).path("heads", part) for x in (job.folder, undisturbed.folder))
        assert mine.read_bytes() == theirs.read_bytes()


def test_workers_that_never_begin(job, marks):
    with pytest.raises(BackendError) as error:
        job.run(in_a_pool(marks, tuple(range(15)), always=True, workers=1), restart=False)
    assert str(error.value) == (
        "the worker processes ended before they finished anything. In a script, call regard.survey "
        'under `if __name__ == "__main__":`; if memory ran out, use fewer --workers; workers=1 '
        "needs no other processes."
    )


def test_a_document_that_breaks_the_work_is_left_out(corpus, folder, monkeypatch):
    from regard.corpus import batches as module

    def fragile(model, read):
        if any("robot" in document.text for document, _ in read):
            raise MemoryError("too much")
        return whole(model, read)

    whole = module._observe
    monkeypatch.setattr(module, "_observe", fragile)
    batch = next(Sampling(batch=8).batches(documents(find_sources([corpus]))))
    found = BatchJob(ModelSpec(str(folder)))(batch)
    robots = [x.number for x in batch.documents if "robot" in x.text]
    assert [x.number for x in found.failed] == robots
    assert {x.fault for x in found.failed} == {"MemoryError: too much"}
    assert [x.number for x in found.documents] == [
        x.number for x in batch.documents if x.number not in robots
    ]


def command(corpus: Path, folder: Path, out: Path, workers: int) -> list[str]:
    return [sys.executable, "-m", "regard", "survey", str(corpus), "--model", str(folder),
            "--out", str(out), "--batch", "2", "--workers", str(workers)]  # fmt: skip


def interrupted(arguments: list[str], out: Path, parts: int, how: signal.Signals) -> int:
    """Start a survey, and end it by a signal once so many parts are there."""
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        deadline = time.monotonic() + PATIENCE
        while len(Shards(out).finished()) < parts and run.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        run.send_signal(how)
        said = run.communicate(timeout=PATIENCE)[1].decode()
        assert "Traceback" not in said
        assert "bug of regard" not in said, said
        return run.returncode


def children_left(folder: Path) -> list[str]:
    """Processes that were started with this folder in their environment and are still there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if str(folder).encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_a_driver_killed_at_random_points(surveyed, corpus, folder, tmp_path, seed, monkeypatch):
    """Twice killed without warning, once interrupted, then run to its end."""
    rng, out = random.Random(seed), tmp_path / "out"
    workers = 1 + seed % 2
    monkeypatch.setenv("REGARD_TEST_MARK", str(tmp_path))
    arguments, parts = command(corpus, folder, out, workers), 0
    for how in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        parts = min(50, parts + rng.randint(1, 15))
        status = interrupted(arguments, out, parts, how)
        assert status in ((130, -signal.SIGINT) if how is signal.SIGINT else (-signal.SIGKILL,))
        assert len(Shards(out).finished()) >= parts
        assert not (out / "report.json").exists()
    monkeypatch.delenv("REGARD_TEST_MARK")
    end = subprocess.run(arguments, capture_output=True, check=True, text=True)
    assert "report.html" in end.stdout
    assert contents(out) == contents(surveyed(batch=2).folder)
    deadline = time.monotonic() + PATIENCE
    while children_left(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children_left(tmp_path) == []


def has_children(pid: int) -> bool:
    """Whether a process has started another one."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = path.read_text().rpartition(")")[2].split()[1]
        except OSError:  # it has ended
            continue
        if parent == str(pid):
            return True
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("parts", [0, 5])
def test_ctrl_c_in_a_terminal_is_quiet(corpus, folder, tmp_path, parts):
    """A terminal signals the whole group, workers that are just starting included."""
    arguments, out = command(corpus, folder, tmp_path / "out", 2), tmp_path / "out"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(arguments, start_new_session=True, **pipes) as run:
        while not has_children(run.pid) or len(Shards(out).finished()) < parts:
            assert run.poll() is None
            time.sleep(0.002)
        os.killpg(run.pid, signal.SIGINT)
        said = run.communicate(timeout=PATIENCE)
    assert (run.returncode, *said) == (130, "", "")


def interrupted_start(heard: socket.socket, ended: threading.Event) -> None:
    """Ctrl-C in the middle of a start, until a thread has taken it."""
    with _sigint_deferred():
        os.kill(os.getpid(), signal.SIGINT)
        assert select.select([heard], [], [], PATIENCE)[0]
        ended.set()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_waits_until_a_worker_is_started():
    """Also where another thread takes the signal: the start is not broken off in the middle."""
    done, ended = threading.Event(), threading.Event()
    idle = threading.Thread(target=done.wait)
    idle.start()
    heard, wakes = socket.socketpair()
    wakes.setblocking(False)
    before = signal.set_wakeup_fd(wakes.fileno())
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted_start(heard, ended)
    finally:
        signal.set_wakeup_fd(before)
        done.set()
        idle.join()
        heard.close()
        wakes.close()
    assert ended.is_set()
