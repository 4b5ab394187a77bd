"""Every kernel compiles for a Hopper GPU: those that the interpreter cannot run, too."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

KERNELS = {"rows_kernel", "columns_kernel", "distances_kernel", "candidates_kernel",
           "refine_kernel", "recheck_kernel", "repeats_kernel"}  # fmt: skip
WORKER = Path(__file__).parents[2] / "helpers" / "compile_worker.py"
ON_HOPPER = {"prepare", "columns", "reduce", "best", "distances"}


@pytest.fixture(scope="module")
def compiled(request):
    """The names of the kernels that were compiled beside the other tests."""
    worker = request.config.compiling
    printed, errors = worker.communicate()
    assert worker.returncode == 0, errors[-3000:]
    return set(printed.split())


def test_every_kernel_compiles(compiled):
    assert compiled >= KERNELS


def test_every_kernel_for_hopper_compiles(compiled):
    from regard.engine.gpu.cuda_driver import nvrtc

    if nvrtc() is None:
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc")
    assert compiled - KERNELS == ON_HOPPER


@pytest.mark.nightly
def test_further_variants_compile():
    command = [sys.executable, str(WORKER), "all"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
