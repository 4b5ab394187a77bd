"""The same bits with any number of threads, and nothing left behind when something goes wrong."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.helpers.attention_facts import observed
from threadpoolctl import threadpool_info, threadpool_limits

from regard.engine.attention import attention
from regard.engine.native.library import using_level
from regard.engine.observe import observe
from regard.engine.threads import run_in_order, threads, using_threads
from regard.textbook.steps import self_attention

RANDOM = np.random.default_rng(0)
ARRAYS = tuple(RANDOM.standard_normal((3, 130, 16)).astype(np.float32) for _ in range(3))
ARGUMENTS = {"causal": True, "mask": RANDOM.standard_normal((130, 130))}
# Products so large that BLAS shares them out among its threads where nothing keeps it from that.
LARGE = tuple(RANDOM.standard_normal((2, 700, 64)).astype(np.float32) for _ in range(3))
MOST = 300.0  # seconds until a wait that cannot end becomes an error


def bits(engine) -> dict[str, bytes]:
    """Every fact of one run, to the last bit."""
    seen = observe(*ARRAYS, **engine.asked, **ARGUMENTS)
    facts = {**observed(seen), "attention": attention(*ARRAYS, **ARGUMENTS)}
    return {name: fact.tobytes() for name, fact in facts.items()}


def blas_threads() -> list[int]:
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


BLAS_BEFORE = blas_threads()


@pytest.fixture
def products_by_blas():
    """NumPy in place of the native kernels, which call no BLAS."""
    with using_level("off"):
        yield


@pytest.mark.parametrize("number", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(engine, number):
    once = bits(engine)
    with using_threads(number):
        assert bits(engine) == once
        assert bits(engine) == once


def test_calls_from_several_threads_do_not_disturb_each_other(engine):
    alone = bits(engine)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: bits(engine), range(8)))
    assert together == [alone] * 8
    assert blas_threads() == BLAS_BEFORE


def test_blas_has_one_thread_while_units_run_and_its_own_number_afterwards(engine):
    during = []

    def rule(query, key):
        during.extend(blas_threads())
        return True

    attention(*ARRAYS, mask=rule)
    assert set(during) == {1}
    assert blas_threads() == BLAS_BEFORE


def large_bits(rule=lambda query, key: key <= query) -> list[bytes]:
    """Every public way through the engine, to the last bit."""
    seen = observe(*LARGE, mask=rule, top=4, map=64)
    x_te, w_query, w_key, w_value = LARGE[0][0], *(array[0, :64] for array in LARGE)
    steps = self_attention(x_te, w_query, w_key, w_value)
    facts = (
        attention(*LARGE, mask=rule), seen.output, seen.logsumexp, seen.entropy, seen.received,
        seen.map, seen.tile(slice(600), slice(600)), steps.scores, steps.output,
    )  # fmt: skip
    return [np.asarray(fact).tobytes() for fact in facts]


@pytest.mark.usefixtures("products_by_blas")
def test_every_thread_gets_the_same_bits_at_the_same_time():
    """Four threads inside units of their own at once, then each goes on as it likes."""
    alone, together, inside = large_bits(), threading.Barrier(4), []

    def work(_: int) -> list[bytes]:
        first = threading.Lock()

        def rule(query, key):
            if first.acquire(blocking=False):  # stays locked: once for each call of work
                together.wait(MOST)
                inside.extend(blas_threads())
            return key <= query

        return large_bits(rule)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [alone] * 4
    assert set(inside) <= {1}
    assert blas_threads() == BLAS_BEFORE


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.usefixtures("products_by_blas")
def test_the_callers_number_of_blas_threads_changes_no_bits(number):
    once = large_bits()
    with threadpool_limits(limits=number, user_api="blas"):
        assert large_bits() == once
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(large_bits).result() == once
        assert set(blas_threads()) <= {number}
    assert blas_threads() == BLAS_BEFORE


@pytest.mark.usefixtures("products_by_blas")
def test_a_call_on_the_main_thread_that_ends_before_an_overlapping_one():
    once, inside, leave = attention(*LARGE).tobytes(), threading.Event(), threading.Event()
    numbers = []

    def rule(query, key):
        inside.set()
        leave.wait(MOST)
        numbers.extend(blas_threads())
        return True

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(attention, *LARGE, mask=rule)
        inside.wait(MOST)
        assert attention(*LARGE).tobytes() == once
        leave.set()
        assert other.result(MOST).tobytes() == once
    assert set(numbers) <= {1}
    assert blas_threads() == BLAS_BEFORE
    assert attention(*LARGE).tobytes() == once
    assert blas_threads() == BLAS_BEFORE


def broken(query, key):
    raise ZeroDivisionError("in the mask")


@pytest.mark.parametrize("mask", [None, broken], ids=["answers", "fails"])
@pytest.mark.usefixtures("products_by_blas")
def test_a_call_on_the_main_thread_that_ends_after_an_overlapping_one(mask):
    once, numbers = attention(*LARGE).tobytes(), []

    def rule(query, key):
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(attention, *LARGE, mask=mask)
            if mask is None:
                assert other.result(MOST).tobytes() == once
            else:
                assert isinstance(other.exception(MOST), ZeroDivisionError)
        numbers.extend(blas_threads())
        return True

    assert attention(*LARGE, mask=rule).tobytes() == once
    assert set(numbers) <= {1}
    assert blas_threads() == BLAS_BEFORE


@pytest.mark.usefixtures("products_by_blas")
def test_every_worker_has_one_blas_thread():
    """All workers at once, each in a unit: the calling thread and those of the pool."""
    together = threading.Barrier(threads())
    numbers = []

    def work(unit, scratch):
        together.wait(MOST)
        numbers.extend(blas_threads())
        together.wait(MOST)

    run_in_order(range(threads()), work)
    assert set(numbers) <= {1}
    assert len(numbers) == threads() * len(BLAS_BEFORE)
    assert blas_threads() == BLAS_BEFORE


def test_the_number_of_threads_belongs_to_the_thread_that_chose_it():
    """Blocks that overlap on two threads do not take each other's number away."""
    entered, leave = threading.Event(), threading.Event()

    def other() -> int:
        with using_threads(3):
            entered.set()
            leave.wait(MOST)
            return threads()

    with ThreadPoolExecutor(1) as pool, using_threads(1):
        number = pool.submit(other)
        entered.wait(MOST)
        with using_threads(2):
            assert threads() == 2
            leave.set()
            assert number.result(MOST) == 3
        assert threads() == 1


def test_workers_go_by_the_number_of_their_caller():
    numbers = []
    with using_threads(2):
        run_in_order(range(8), lambda unit, scratch: numbers.append(threads()))
    assert numbers == [2] * 8


@pytest.mark.parametrize("number", [1, 2])
def test_an_error_in_a_mask_function_comes_out_and_the_next_call_works(engine, number):
    def rule(query, key):
        if query.max() >= 60:
            raise ZeroDivisionError("in the mask")
        return key <= query

    once = bits(engine)
    with using_threads(number):
        with pytest.raises(ZeroDivisionError, match=r"^in the mask$"):
            observe(*ARRAYS, mask=rule, **engine.asked)
        assert bits(engine) == once
    assert blas_threads() == BLAS_BEFORE


def test_a_mask_function_may_call_attention_itself(engine):
    def rule(query, key):
        attention(*ARRAYS)
        return key <= query

    nested = attention(*ARRAYS, mask=rule)
    assert nested.tobytes() == attention(*ARRAYS, mask=lambda q, k: k <= q).tobytes()


def test_a_mask_function_never_sees_more_than_a_tile(engine):
    sizes = []

    def rule(query, key):
        sizes.append((query.shape, key.shape))
        return True

    attention(*ARRAYS, mask=rule)
    tile = engine.constants.get("TILE_ROWS", 512)
    assert {query[1:] for query, _ in sizes} == {(1,)}
    assert max(query[0] * key[1] for query, key in sizes) <= tile * tile


def test_inputs_are_left_as_they_were(engine):
    copies = [array.copy() for array in ARRAYS]
    observe(*ARRAYS, **engine.asked, **ARGUMENTS)
    assert all((array == copy).all() for array, copy in zip(ARRAYS, copies, strict=True))
