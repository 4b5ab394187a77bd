"""BLAS gets few cores for a sentence, and all of them back afterwards."""

from threadpoolctl import threadpool_info

from regard.transformer.translation import few_cores


def blas_threads() -> list[int]:
    return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]


def test_few_cores_inside_and_all_of_them_after():
    before = blas_threads()
    with few_cores():
        assert all(1 <= number <= 2 for number in blas_threads())
    assert blas_threads() == before
