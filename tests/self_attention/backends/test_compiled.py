"""Every kernel compiles for a Hopper GPU: those that the interpreter cannot run, too."""

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

KERNELS = {"rows_kernel", "columns_kernel", "distances_kernel", "best_kernel", "settle_kernel",
           "doubt_kernel", "hopper_columns_kernel", "hopper_best_kernel", "entropy_kernel",
           "map_kernel"}  # fmt: skip


def test_every_kernel_compiles_for_hopper(request):
    worker = request.config.compiling  # began with the tests
    printed, said = worker.communicate()
    assert worker.returncode == 0, said[-3000:]
    assert set(printed.split()) == KERNELS
