"""Every kernel compiles for a Hopper GPU: those that the interpreter cannot run, too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

HERE = Path(__file__).parent
KERNELS = {"rows_kernel", "columns_kernel", "distances_kernel", "best_kernel", "settle_kernel",
           "doubt_kernel", "hopper_columns_kernel", "hopper_best_kernel", "entropy_kernel",
           "map_kernel"}  # fmt: skip


def test_every_kernel_compiles_for_hopper(tmp_path):
    environment = os.environ | {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    done = subprocess.run(
        [sys.executable, HERE / "compile_worker.py"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert set(done.stdout.split()) == KERNELS
