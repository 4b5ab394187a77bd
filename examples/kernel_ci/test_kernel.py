"""A kernel's CI: the verdict, and the operator suite with every feature that the kernel claims."""

from tiled_kernel import tiled_attention

from regard.checker.operator_suite import run_suite


def test_the_kernel_is_attention(regard_check):
    regard_check(tiled_attention, strict=True)


def test_the_kernel_conforms():
    suite = run_suite(tiled_attention, "tiled_attention")
    assert suite.status == 0, suite.markdown()
