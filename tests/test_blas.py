"""BLAS has one thread while regard computes, whoever calls, and its own number afterwards."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from regard import blas
from regard.blas import Limit, one_blas_thread, open_limits

MOST = 300.0  # seconds until a wait that cannot end becomes an error


def blas_threads() -> list[int]:
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


@pytest.fixture(params=["as it is", "limited by the caller"])
def before(request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """BLAS as it comes, and with three threads by an owner: the main thread."""
    if request.param == "as it is":
        yield blas_threads()
        return
    first = blas_threads()
    with threadpool_limits(limits=3, user_api="blas"):
        assert set(blas_threads()) <= {3}
        yield blas_threads()
        assert set(blas_threads()) <= {3}
    assert blas_threads() == first


def on_threads(number: int, work: Callable[[], Any]) -> list[Any]:
    """What each of several threads returns; the first error of any of them is raised."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=run) for _ in range(number)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(MOST)
    if errors:
        raise errors[0]
    assert len(results) == number
    return results


def test_one_thread_inside_and_the_number_of_before_afterwards(before):
    with one_blas_thread():
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_every_thread_gets_one_at_the_same_time(before):
    together = threading.Barrier(5)

    def work() -> list[int]:
        with one_blas_thread():
            together.wait(MOST)
            inside = blas_threads()
            together.wait(MOST)
        return inside

    others = []
    helper = threading.Thread(target=lambda: others.extend(on_threads(4, work)))
    helper.start()
    inside = work()
    helper.join(MOST)
    assert {number for numbers in (inside, *others) for number in numbers} <= {1}
    assert len(others) == 4
    assert blas_threads() == before


@pytest.mark.parametrize("main_ends", ["first", "last"])
@pytest.mark.parametrize("main_starts", ["first", "last"])
def test_calls_that_overlap(before, main_starts, main_ends):
    """The limit ends with the last call, on whichever thread; the next call starts anew."""
    inside, leave = threading.Event(), threading.Event()
    other: list[list[int]] = []

    def work() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait(MOST)
            other.append(blas_threads())

    thread = threading.Thread(target=work)
    main = one_blas_thread()
    if main_starts == "first":
        main.__enter__()
    thread.start()
    inside.wait(MOST)
    if main_starts == "last":
        main.__enter__()
    if main_ends == "first":
        main.__exit__(None, None, None)
        assert set(blas_threads()) <= {1}
    leave.set()
    thread.join(MOST)
    assert [set(numbers) <= {1} for numbers in other] == [True]
    if main_ends == "last":
        assert set(blas_threads()) <= {1}
        main.__exit__(None, None, None)
    assert blas_threads() == before
    with one_blas_thread():
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_calls_inside_calls(before):
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads()) <= {1}
        assert set(blas_threads()) <= {1}
        on_threads(2, one_blas_thread()(blas_threads))
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_a_call_that_is_never_left_ends_with_its_object(before):
    one_blas_thread().__enter__()
    assert blas_threads() == before


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_error_ends_the_limit(before, error):
    def work() -> None:
        with one_blas_thread():
            raise error

    with pytest.raises(error):
        work()
    assert blas_threads() == before
    with pytest.raises(error):
        on_threads(1, work)
    assert blas_threads() == before


def test_a_decorated_function(before):
    numbers = on_threads(2, one_blas_thread()(blas_threads))
    assert {x for inside in numbers for x in inside} <= {1}
    assert blas_threads() == before


def test_a_number_that_the_caller_sets_meanwhile_stays(before):
    with one_blas_thread():
        threadpool_limits(limits=2, user_api="blas")
        with one_blas_thread():
            assert set(blas_threads()) <= {1}
        assert set(blas_threads()) <= {1}
    assert set(blas_threads()) <= {2}
    threadpool_limits(limits=before[0] if before else 1, user_api="blas")
    assert blas_threads() == before


def test_products_have_the_same_bits_from_every_thread(before):
    random = np.random.default_rng(0)
    a, b = random.standard_normal((2, 500, 300)).astype(np.float32)
    together = threading.Barrier(3)

    def work() -> bytes:
        with one_blas_thread():
            together.wait(MOST)
            return (a @ b.T).tobytes() + (a[0] @ b.T).tobytes()

    results = on_threads(3, work)
    with one_blas_thread():
        assert results == [(a @ b.T).tobytes() + (a[0] @ b.T).tobytes()] * 3


class Library:
    """A BLAS library as threadpoolctl lists it; one number for the process, or one a thread."""

    internal_api, threading_layer, dynlib = "mkl", "intel", None

    def __init__(self, number: int | None, numbers: Any) -> None:
        self.default, self.numbers = number, numbers

    def get_num_threads(self) -> int | None:
        return getattr(self.numbers, "number", self.default)

    def set_num_threads(self, number: int) -> None:
        self.numbers.number = number


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Library:
    """The only BLAS of this process; four threads for each thread that asks, or for all."""
    library = request.param()
    monkeypatch.setattr(blas, "_limits", open_limits([library]))
    return library


def each_thread_its_own() -> Library:
    return Library(4, threading.local())


def one_for_all() -> Library:
    library = Library(4, SimpleNamespace())
    library.internal_api = "blis"
    return library


@pytest.mark.parametrize("library", [each_thread_its_own, one_for_all], indirect=True)
def test_libraries_without_openblas(library):
    """MKL and OpenMP have a number for each thread: every thread is limited and freed by itself."""
    together = threading.Barrier(2)

    def work() -> tuple[Any, ...]:
        with one_blas_thread():
            together.wait(MOST)
            inside = library.get_num_threads()
            together.wait(MOST)
        together.wait(MOST)
        return inside, library.get_num_threads()

    assert on_threads(2, work) == [(1, 4)] * 2
    with one_blas_thread():
        assert library.get_num_threads() == 1
    assert library.get_num_threads() == 4


@pytest.mark.parametrize("library", [each_thread_its_own], indirect=True)
def test_a_thread_that_ends_first_leaves_the_others_limited(library):
    with one_blas_thread():
        assert on_threads(1, one_blas_thread()(library.get_num_threads)) == [1]
        assert library.get_num_threads() == 1
    assert library.get_num_threads() == 4


@pytest.mark.parametrize("library", [lambda: Library(None, SimpleNamespace())], indirect=True)
def test_a_library_that_does_not_say_its_number_is_left_alone(library):
    with one_blas_thread():
        assert library.get_num_threads() is None


def test_no_library_at_all(monkeypatch):
    monkeypatch.setattr(blas, "_limits", [])
    with one_blas_thread():
        pass


@pytest.mark.parametrize("library", [one_for_all], indirect=True)
@pytest.mark.parametrize("number", [1, 4])
def test_an_interrupt_while_the_number_is_set(library, monkeypatch, number):
    """Whichever way it is cut short, the next call ends with the number of before."""
    setting = library.set_num_threads

    def interrupted(threads: int) -> None:
        if threads == number:
            raise KeyboardInterrupt
        setting(threads)

    [limit] = blas._limits
    monkeypatch.setattr(limit, "set_threads", interrupted)
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        pass
    monkeypatch.setattr(limit, "set_threads", setting)
    with one_blas_thread():
        assert library.get_num_threads() == 1
    assert library.get_num_threads() == 4


@pytest.mark.parametrize("library", [one_for_all], indirect=True)
def test_an_interrupt_before_a_call_could_leave(library, monkeypatch):
    """A call that was never counted out is forgotten with its frame."""

    def interrupted(self: Limit, call: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Limit, "release", interrupted)
        with pytest.raises(KeyboardInterrupt) as stopped, one_blas_thread():
            pass
    del stopped
    with one_blas_thread():
        pass
    assert library.get_num_threads() == 4


def output_of(program: str, **environment: str) -> str:
    """What a program prints in an interpreter of its own, which ends by itself without error."""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environment},
        capture_output=True, text=True, timeout=MOST, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


FIRST_CALL_ON_A_THREAD = """
import threading
import numpy as np
from threadpoolctl import threadpool_info
from regard.blas import one_blas_thread

def numbers():
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]

before, inside, together = numbers(), [], threading.Barrier(8)
def work():
    together.wait(60)
    with one_blas_thread():
        together.wait(60)
        inside.extend(numbers())
        together.wait(60)
threads = [threading.Thread(target=work) for _ in range(8)]
[x.start() for x in threads]
[x.join(60) for x in threads]
assert set(inside) <= {1} and len(inside) == 8 * len(before), inside
assert numbers() == before, (numbers(), before)
print("fine")
"""


@pytest.mark.parametrize("number", ["1", "2", "4"])
def test_the_first_calls_of_a_process_come_from_threads(number):
    """Libraries are listed once, however many threads ask first at the same time."""
    environment = {"OPENBLAS_NUM_THREADS": number, "MKL_NUM_THREADS": number}
    assert output_of(FIRST_CALL_ON_A_THREAD, **environment) == "fine\n"


FORK_IN_THE_MIDDLE = """
import os, threading, warnings
import numpy as np
from threadpoolctl import threadpool_info
import regard
from regard.blas import one_blas_thread

warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads, which is the test

def numbers():
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]

def bits():
    x = np.random.default_rng(0).standard_normal((4, 700, 32), np.float32)
    return regard.attention(x, x, x).tobytes()

before, once = numbers(), bits()
inside, leave = threading.Event(), threading.Event()
def work():
    with one_blas_thread():
        inside.set()
        leave.wait(60)
thread = threading.Thread(target=work)
thread.start()
inside.wait(60)
child = os.fork()
if child == 0:
    same = bits() == once
    os._exit(0 if same and numbers() == before else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
leave.set()
thread.join(60)
assert bits() == once and numbers() == before
print(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_beside_a_call_of_another_thread():
    """The child has none of the other threads: their calls do not limit it for good."""
    # With native kernels a call of attention touches neither BLAS nor these threads.
    assert output_of(FORK_IN_THE_MIDDLE, REGARD_NATIVE="off") == "0\n"


INTERRUPTED = """
import os, signal, threading
import numpy as np
from threadpoolctl import threadpool_info
import regard

def numbers():
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]

before, asked = numbers(), []
def rule(query, key):
    if not asked:
        asked.append(True)
        os.kill(os.getpid(), signal.SIGINT)
    return key <= query

x = np.random.default_rng(0).standard_normal((8, 1500, 32), np.float32)
try:
    regard.attention(x, x, x, mask=rule)
except KeyboardInterrupt:
    assert numbers() == before, (numbers(), before)
    print("interrupted")
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGINT to oneself is for POSIX")
def test_ctrl_c_inside_a_unit():
    assert output_of(INTERRUPTED) == "interrupted\n"


INTERRUPTED_AT_THE_START = """
import threading
import numpy as np
from threadpoolctl import threadpool_info
import regard
from regard.engine.threads import using_threads

def numbers():
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]

before, start = numbers(), threading.Thread.start
def interrupted(self):
    threading.Thread.start = start
    start(self)
    raise KeyboardInterrupt
threading.Thread.start = interrupted

x = np.random.default_rng(0).standard_normal((8, 1500, 32), np.float32)
with using_threads(2):
    try:
        regard.attention(x, x, x)
    except KeyboardInterrupt:
        assert numbers() == before, (numbers(), before)
        once = regard.attention(x, x, x).tobytes()
        with using_threads(1):
            assert regard.attention(x, x, x).tobytes() == once
        print("interrupted")
"""


def test_ctrl_c_while_a_worker_starts():
    """Nothing goes on without the caller, the next call works, and the interpreter ends."""
    assert output_of(INTERRUPTED_AT_THE_START, REGARD_NATIVE="off") == "interrupted\n"
