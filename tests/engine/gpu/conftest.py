"""The tests of kernels: run by Triton's interpreter, as quickly as it can."""

from importlib.util import find_spec

from tests.helpers import quick_interpreter

if find_spec("triton") is not None:
    quick_interpreter.install()
