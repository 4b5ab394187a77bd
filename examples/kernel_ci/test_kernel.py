"""CI of a kernel: the verdict, and the operator suite for every feature the kernel claims."""

import os

import pytest
import torch
from packed_kernel import packed_attention
from tiled_kernel import tiled_attention

from regard.checker.suite import run_suite

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
os.environ.setdefault("TRITON_INTERPRET", "0" if DEVICE == "cuda" else "1")


def test_the_kernel_is_attention(regard_check):
    regard_check(tiled_attention, strict=True)


@pytest.mark.parametrize("kernel", [tiled_attention, packed_attention])
def test_the_kernel_conforms(kernel):
    suite = run_suite(kernel, kernel.__name__)
    assert suite.status == 0, suite.markdown()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_triton_kernel_conforms(dtype):
    kernel = pytest.importorskip("triton_kernel", exc_type=ImportError).triton_attention
    suite = run_suite(kernel, "triton_attention", dtype=dtype, device=DEVICE)
    assert suite.status == 0, suite.markdown()
