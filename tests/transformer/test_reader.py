"""A sentence is read with one BLAS thread, so that every thread and every machine load agree."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from regard.transformer import Transformer, read

SENTENCE = "A dog ate the unknowable food because it was hungry."
MOST = 300.0  # seconds until a wait that cannot end becomes an error


def blas_threads() -> list[int]:
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


@pytest.fixture(scope="module")
def wide(model) -> Transformer:
    """Products so large that BLAS shares them out where nothing keeps it from that."""
    return Transformer.random(layers=1, heads=4, width=256, feed_forward_width=1024, seed=5,
                              tokenizer=model.tokenizer, vocabulary=340)  # fmt: skip


def bits(model: Transformer) -> list[bytes]:
    reading = read(SENTENCE, model=model)
    steps = reading.steps(0)
    facts = (
        reading.encoded.memory_bke, reading.decoded.x_bte, reading.weights(),
        reading.weights(part="cross"), reading.rollout().tokens_qk,
        reading.value_weighted(0, 1).tokens_qk, steps.scores, steps.output,
        reading.translated.score,
    )  # fmt: skip
    return [np.asarray(fact).tobytes() for fact in facts]


def test_one_blas_thread_inside_and_all_of_them_after(model, monkeypatch):
    before, inside = blas_threads(), []
    for name in ("encode", "decode"):
        method = getattr(Transformer, name)

        def recorded(self, *arguments, method=method, **named):
            inside.append(blas_threads())
            return method(self, *arguments, **named)

        monkeypatch.setattr(Transformer, name, recorded)
    read(SENTENCE, model=model)
    calls = len(inside)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(read, SENTENCE, model=model).result(MOST)
    assert len(inside) == 2 * calls > 0
    assert {number for numbers in inside for number in numbers} <= {1}
    assert blas_threads() == before


def test_every_thread_reads_the_same_bits_at_the_same_time(wide):
    before, alone, together = blas_threads(), bits(wide), threading.Barrier(3)

    def work(_: int) -> list[bytes]:
        together.wait(MOST)
        return bits(wide)

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(3))) == [alone] * 3
    assert blas_threads() == before


@pytest.mark.parametrize("number", [1, 2, 4])
def test_the_callers_number_of_blas_threads_changes_no_bits(wide, number):
    once = bits(wide)
    with threadpool_limits(limits=number, user_api="blas"):
        assert bits(wide) == once
        assert set(blas_threads()) <= {number}
