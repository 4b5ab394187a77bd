"""The same bits with any number of threads, and nothing left behind when something goes wrong."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.helpers.attention_facts import observed

from regard.engine.attention import attention
from regard.engine.observe import observe
from regard.engine.tiles.threads import blas, using_threads

RANDOM = np.random.default_rng(0)
ARRAYS = tuple(RANDOM.standard_normal((3, 130, 16)).astype(np.float32) for _ in range(3))
ARGUMENTS = {"causal": True, "mask": RANDOM.standard_normal((130, 130))}


def bits(engine) -> dict[str, bytes]:
    """Every fact of one run, to the last bit."""
    seen = observe(*ARRAYS, **engine.asked, **ARGUMENTS)
    facts = {**observed(seen), "attention": attention(*ARRAYS, **ARGUMENTS)}
    return {name: fact.tobytes() for name, fact in facts.items()}


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in blas().info()]


BLAS_BEFORE = blas_threads()


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
    tile = engine.constants.get("ROWS", 512)
    assert {query[1:] for query, _ in sizes} == {(1,)}
    assert max(query[0] * key[1] for query, key in sizes) <= tile * tile


def test_inputs_are_left_as_they_were(engine):
    copies = [array.copy() for array in ARRAYS]
    observe(*ARRAYS, **engine.asked, **ARGUMENTS)
    assert all((array == copy).all() for array, copy in zip(ARRAYS, copies, strict=True))
