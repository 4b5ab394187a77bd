"""Compiles, for a Hopper GPU that need not be there, every kernel that some calls would launch.

The host's own code runs, on tensors of the CPU; a launch stops when its kernel is compiled. Prints
the kernels' names. Run apart: other tests have triton interpret kernels instead.
"""

import sys

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from regard.self_attention.backends.device import with_kernels
from regard.self_attention.backends.device.call import call
from regard.self_attention.backends.device.observe import NOTHING
from regard.self_attention.tiles.rows import Wanted


class NoGpu:
    """As much of a driver as compiling asks for."""

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


compiled: list[str] = []
run = JITFunction.run


def compile_only(kernel, *args, warmup, **kwargs):
    compiled.append(kernel.fn.__name__)
    return run(kernel, *args, warmup=True, **kwargs)


def launch(shape, dtype, top: int, side: int, hopper: bool, **arguments) -> None:
    """As much of a call as kernels do, with nothing computed."""
    with_kernels.reasons_against_hopper = lambda common: [] if hopper else ["not tried"]
    tensors = [torch.zeros(shape, dtype=dtype) for _ in range(3)]
    here = call(*tensors, NOTHING | arguments)
    wanted = Wanted(True, True, top, side, True, not hopper)
    with_kernels.find_with_kernels(here, wanted, None)


if __name__ == "__main__":
    driver.set_active(NoGpu())
    JITFunction.run = compile_only
    half = torch.bfloat16
    launch((2, 512, 128), half, 8, 32, hopper=True, causal=True)
    launch((1, 512, 64), half, 16, 2, hopper=True, causal=True)
    launch((2, 300, 64), half, 5, 50, hopper=False, window=(9, 0), softcap=30.0)
    sys.stdout.write(" ".join(compiled))
