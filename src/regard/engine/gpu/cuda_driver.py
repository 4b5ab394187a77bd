"""CUDA C++ to kernels that run: NVRTC, which torch brings along, and the driver, by ctypes."""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import torch

from regard.errors import BackendError

HERE = Path(__file__).parent / "cuda"
ARCHITECTURE = "sm_90a"
MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
KINDS = {torch.bfloat16: 9, torch.float16: 6}  # CU_TENSOR_MAP_DATA_TYPE_...
SWIZZLE_128, PROMOTE_256 = 3, 3


@cache
def nvrtc() -> Any:
    """The compiler's library, from torch's own packages or the system; None where there is none."""
    packages = Path(torch.__file__).parents[1] / "nvidia"
    beside = sorted(packages.glob("*/lib/libnvrtc.so.*"), reverse=True)
    for builtins in sorted(packages.glob("*/lib/libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)  # found by name, wherever it lies
    for name in [*map(str, beside), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def compiled(name: str, defined: dict[str, Any]) -> tuple[bytes, str]:
    """The machine code of one of the .cu files here, and what the compiler says about it.

    ``defined`` are its constants, given as macros.
    """
    library, program = nvrtc(), ctypes.c_void_p()
    source = (HERE / "hopper.cuh").read_text() + (HERE / f"{name}.cu").read_text()
    library.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), f"{name}.cu".encode(), 0, None, None
    )
    options = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", "--ptxas-options=-v"]
    options += [f"-D{key}={value}" for key, value in defined.items()]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), given)
    log = _text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
    said = log.rstrip(b"\0").decode()
    if failed:
        raise BackendError(f"{name}.cu did not compile: {said}")
    code = _text(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return code, said


def _text(size: Any, get: Any, program: ctypes.c_void_p) -> bytes:
    number = ctypes.c_size_t()
    size(program, ctypes.byref(number))
    room = ctypes.create_string_buffer(number.value)
    get(program, room)
    return room.raw


@cache
def driver() -> Any:
    """The driver's library."""
    return ctypes.CDLL("libcuda.so.1")


def _do(failed: int, what: str) -> None:
    if failed:
        raise BackendError(f"{what} failed with CUDA error {failed}.")


class _Attribute(ctypes.Structure):
    """A CUlaunchAttribute."""

    _fields_ = (("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int * 16))


class _Config(ctypes.Structure):
    """A CUlaunchConfig."""

    _fields_ = (
        ("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)), ("number", ctypes.c_uint),
    )  # fmt: skip


# A kernel may start before the one before it is done, and waits inside: after_others in hopper.cuh.
_AFTER_OTHERS = _Attribute(6, 0, (ctypes.c_int * 16)(1))


class Module:
    """A .cu file, compiled and loaded on the current device; its functions are started by name."""

    def __init__(self, name: str, **defined: Any) -> None:
        self._module = ctypes.c_void_p()
        self._functions: dict[str, ctypes.c_void_p] = {}
        code, _ = compiled(name, defined)
        _do(driver().cuModuleLoadData(ctypes.byref(self._module), code), f"loading {name}.cu")

    def start(
        self, name: str, grid: tuple[int, int], threads: int, *given: Any, shared: int = 0
    ) -> None:
        """On torch's current stream; ``given`` are ctypes values, ``shared`` bytes."""
        if name not in self._functions:
            self._functions[name] = self._found(name, shared)
        places = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
        stream = torch.cuda.current_stream().cuda_stream
        sizes = (ctypes.c_uint * 7)(grid[0], grid[1], 1, threads, 1, 1, shared)
        config = _Config(sizes, stream, ctypes.pointer(_AFTER_OTHERS), 1)
        failed = driver().cuLaunchKernelEx(
            ctypes.byref(config), self._functions[name], places, None
        )
        _do(failed, f"starting {name}")

    def _found(self, name: str, shared: int) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        found = driver().cuModuleGetFunction(ctypes.byref(function), self._module, name.encode())
        _do(found, f"finding {name}")
        if shared:
            room = driver().cuFuncSetAttribute(function, MOST_SHARED, shared)
            _do(room, f"shared memory for {name}")
        return function


@cache
def module(name: str, device: int, *defined: tuple[str, Any]) -> Module:
    """Compiled once for each set of constants, loaded once on each device."""
    with torch.cuda.device(device):
        return Module(name, **dict(defined))


class TensorMap(ctypes.Structure):
    """A CUtensorMap: how the copy engine finds tiles of a tensor."""

    _fields_ = (("opaque", ctypes.c_uint64 * 16),)


def tensor_map(tensor_htd: Any, rows: int) -> TensorMap:
    """Tiles of ``rows`` tokens and 64 columns of a tensor (heads, tokens, width)."""
    made = TensorMap()
    heads, tokens, width = tensor_htd.shape
    by_head, by_token, _ = (2 * step for step in tensor_htd.stride())
    failed = driver().cuTensorMapEncodeTiled(
        ctypes.byref(made), KINDS[tensor_htd.dtype], 3, ctypes.c_void_p(tensor_htd.data_ptr()),
        _longs(width, tokens, heads), _longs(by_token, by_head), _ints(64, rows, 1),
        _ints(1, 1, 1), 0, SWIZZLE_128, PROMOTE_256, 0,
    )  # fmt: skip
    _do(failed, "describing a tensor")
    return made


def _longs(*numbers: int) -> Any:
    return (ctypes.c_uint64 * len(numbers))(*numbers)


def _ints(*numbers: int) -> Any:
    return (ctypes.c_uint32 * len(numbers))(*numbers)


def structure(pointers: str, ints: str, maps: str = "", floats: str = "") -> type[Any]:
    """A struct that a kernel takes by value: tensor maps, pointers, ints, floats, by name."""
    kinds = ((maps, TensorMap), (pointers, ctypes.c_void_p), (ints, ctypes.c_int),
             (floats, ctypes.c_float))  # fmt: skip
    fields: list[tuple[str, Any]] = [(x, kind) for names, kind in kinds for x in names.split()]
    if maps:  # a multiple of 64 bytes, as the tensor maps
        size = sum(ctypes.sizeof(kind) for _, kind in fields)
        fields.append(("padding", ctypes.c_byte * (-size % 64)))
    return type("Given", (ctypes.Structure,), {"_fields_": fields})
