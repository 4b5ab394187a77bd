"""Compiles, for a Hopper GPU that need not be there, every kernel that some calls would launch.

The host's own code runs, on tensors of the CPU; a launch stops when its kernel is compiled. Prints
the kernels' names; with the argument 'all' more variants of them are tried. Run apart: other tests
have triton interpret kernels instead.
"""

import sys

import numpy as np
import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver as triton_driver
from triton.runtime.jit import JITFunction

from regard.engine.call import Requested
from regard.engine.gpu import cuda_driver as cuda
from regard.engine.gpu import hopper
from regard.engine.gpu import triton_path as with_kernels
from regard.engine.gpu.call import device_call
from regard.engine.gpu.triton_path import repeats_on_device
from regard.textbook.options import DEFAULT_OPTIONS


class NoGpu:
    """As much of a driver as compiling asks for."""

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


class Compiled:
    """A .cu file that is compiled, and not loaded: as much of a Module as launching asks for.

    Products that wait for each other would be many times slower; the compiler says so.
    """

    def __init__(self, name: str, device: int, *macros: tuple[str, object]) -> None:
        code, log = cuda.compile_source(name, dict(macros))
        assert b"ELF" in code
        assert "serialized" not in log, log

    def launch(
        self, name: str, grid: object, threads: int, *arguments: object, shared: int = 0
    ) -> None:
        compiled.append(name)

    def prepare(
        self, name: str, grid: tuple[int, int], threads: int, *arguments: object, shared: int = 0
    ) -> "NoLaunch":
        compiled.append(name)
        return NoLaunch(arguments)


class NoLaunch:
    """A launch whose arguments are filled in, and no more."""

    def __init__(self, arguments: tuple[object, ...]) -> None:
        self.arguments = arguments

    def __call__(self, stream: int) -> None:
        """Nothing is launched."""


ALL = "all"  # argument: kernels as further options compile them, too
compiled: list[str] = []
run = JITFunction.run


def compile_only(kernel, *args, warmup, **kwargs):
    compiled.append(kernel.fn.__name__)
    return run(kernel, *args, warmup=True, **kwargs)


def launch_repeats(shape, dtype, **arguments) -> None:
    """The kernel for tokens that stand more than once."""
    query, key = torch.zeros(shape, dtype=dtype), torch.zeros((1, *shape[1:]), dtype=dtype)
    call = device_call(query, key, key, DEFAULT_OPTIONS | arguments)
    repeats_on_device(call, torch.zeros(shape[:2]), np.zeros(shape[1], np.int64))


def launch(shape, dtype, top: int, side: int, on_hopper: bool, **arguments) -> None:
    """As much of a call as kernels do, with nothing computed."""
    with_kernels.reasons_against_hopper = lambda common: [] if on_hopper else ["not tried"]
    tensors = [torch.zeros(shape, dtype=dtype) for _ in range(3)]
    call = device_call(*tensors, DEFAULT_OPTIONS | arguments)
    requested = Requested(True, True, top, side, True, True)
    with_kernels.facts_by_kernels(call, requested, None)


if __name__ == "__main__":
    triton_driver.set_active(NoGpu())
    JITFunction.run = compile_only
    half = torch.bfloat16
    if cuda.nvrtc() is not None:
        hopper.module = Compiled
        hopper.tensor_map = lambda tensor, rows: cuda.TensorMap()
        hopper.current_stream = lambda index: 0
        launch((2, 8192, 128), half, 8, 512, on_hopper=True, causal=True)
        launch((1, 5000, 64), torch.float16, 16, 8, on_hopper=True)
        if ALL in sys.argv:
            launch((1, 300, 128), half, 0, 0, on_hopper=True, causal=True)
            launch((1, 1000, 128), half, 0, 256, on_hopper=True)
    launch((2, 300, 64), half, 5, 50, on_hopper=False, window=(9, 0), softcap=30.0)
    launch_repeats((2, 300, 128), half, causal=True)
    if ALL in sys.argv:
        launch_repeats((2, 300, 80), torch.float32, window=(9, 0), softcap=30.0)
    sys.stdout.write(" ".join(compiled))
