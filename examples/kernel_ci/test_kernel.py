"""CI of a kernel: the verdict, and the operator suite for every feature the kernel claims."""

import pytest
from packed_kernel import packed_attention
from tiled_kernel import tiled_attention

from regard.checker.operator_suite import run_suite


def test_the_kernel_is_attention(regard_check):
    regard_check(tiled_attention, strict=True)


@pytest.mark.parametrize("kernel", [tiled_attention, packed_attention])
def test_the_kernel_conforms(kernel):
    suite = run_suite(kernel, kernel.__name__)
    assert suite.status == 0, suite.markdown()
