"""CUDA C++ compiled by NVRTC, which torch installs, and launched through the driver, by ctypes."""

from __future__ import annotations

import ctypes
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import torch

from regard.errors import BackendError

SOURCES = Path(__file__).parent / "cuda"
ARCHITECTURE = "sm_90a"
MAX_DYNAMIC_SHARED_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
TENSOR_MAP_DTYPES = {torch.bfloat16: 9, torch.float16: 6}  # CU_TENSOR_MAP_DATA_TYPE_...
SWIZZLE_128, PROMOTE_256 = 3, 3


@cache
def nvrtc() -> Any:
    """The compiler's library, from torch's own packages or the system; None without one."""
    packages = Path(torch.__file__).parents[1] / "nvidia"
    installed = sorted(packages.glob("*/lib/libnvrtc.so.*"), reverse=True)
    for builtins in sorted(packages.glob("*/lib/libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(builtins), ctypes.RTLD_GLOBAL)  # NVRTC loads it by name
    for name in [*map(str, installed), "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def compile_source(name: str, macros: dict[str, Any]) -> tuple[bytes, str]:
    """The machine code of one of the .cu files, with these macros, and the compiler's log."""
    library, program = nvrtc(), ctypes.c_void_p()
    source = (SOURCES / "hopper.cuh").read_text() + (SOURCES / f"{name}.cu").read_text()
    library.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), f"{name}.cu".encode(), 0, None, None
    )
    options = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", "--ptxas-options=-v"]
    options += [f"-D{key}={value}" for key, value in macros.items()]
    encoded = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    failed = library.nvrtcCompileProgram(program, len(options), encoded)
    raw_log = _read_buffer(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
    log = raw_log.rstrip(b"\0").decode()
    if failed:
        raise BackendError(f"{name}.cu did not compile: {log}")
    code = _read_buffer(library.nvrtcGetCUBINSize, library.nvrtcGetCUBIN, program)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return code, log


def _read_buffer(size: Any, get: Any, program: ctypes.c_void_p) -> bytes:
    number = ctypes.c_size_t()
    size(program, ctypes.byref(number))
    buffer = ctypes.create_string_buffer(number.value)
    get(program, buffer)
    return buffer.raw


@cache
def driver() -> Any:
    """The driver's library."""
    return ctypes.CDLL("libcuda.so.1")


def _check(error: int, action: str) -> None:
    if error:
        raise BackendError(f"{action} failed with CUDA error {error}.")


class LaunchAttribute(ctypes.Structure):
    """A CUlaunchAttribute."""

    _fields_ = (("id", ctypes.c_int), ("padding", ctypes.c_int), ("value", ctypes.c_int * 16))


class LaunchConfig(ctypes.Structure):
    """A CUlaunchConfig."""

    _fields_ = (
        ("sizes", ctypes.c_uint * 7), ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(LaunchAttribute)), ("number", ctypes.c_uint),
    )  # fmt: skip


# Programmatic dependent launch: a kernel may start before the previous one is done, and waits
# for it in wait_for_previous_kernels (hopper.cuh).
_DEPENDENT_LAUNCH = LaunchAttribute(6, 0, (ctypes.c_int * 16)(1))


def current_stream(index: int) -> int:
    """The handle of torch's current stream on a device."""
    return int(torch._C._cuda_getCurrentRawStream(index))


class PreparedLaunch:
    """A kernel, its grid and its arguments, which every call reads again."""

    def __init__(self, name: str, function: Any, sizes: Any, arguments: tuple[Any, ...]) -> None:
        self.arguments = arguments
        self._name, self._function = name, function
        self._pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        self._config = LaunchConfig(sizes, None, ctypes.pointer(_DEPENDENT_LAUNCH), 1)
        self._reference = ctypes.byref(self._config)

    def __call__(self, stream: int) -> None:
        self._config.stream = stream
        error = driver().cuLaunchKernelEx(self._reference, self._function, self._pointers, None)
        _check(error, f"starting {self._name}")


class Module:
    """A .cu file, compiled and loaded on the current device; its kernels are launched by name."""

    def __init__(self, name: str, **macros: Any) -> None:
        self._module = ctypes.c_void_p()
        self._functions: dict[str, ctypes.c_void_p] = {}
        code, _ = compile_source(name, macros)
        _check(driver().cuModuleLoadData(ctypes.byref(self._module), code), f"loading {name}.cu")

    def launch(
        self, name: str, grid: tuple[int, int], threads: int, *arguments: Any, shared: int = 0
    ) -> None:
        """Launch a kernel on torch's current stream; arguments are ctypes values, shared bytes."""
        self.prepare(name, grid, threads, *arguments, shared=shared)(
            torch.cuda.current_stream().cuda_stream
        )

    def prepare(
        self, name: str, grid: tuple[int, int], threads: int, *arguments: Any, shared: int = 0
    ) -> PreparedLaunch:
        """A launch that can be repeated with other numbers in its arguments."""
        if name not in self._functions:
            self._functions[name] = self._load(name, shared)
        sizes = (ctypes.c_uint * 7)(grid[0], grid[1], 1, threads, 1, 1, shared)
        return PreparedLaunch(name, self._functions[name], sizes, arguments)

    def _load(self, name: str, shared: int) -> ctypes.c_void_p:
        function = ctypes.c_void_p()
        error = driver().cuModuleGetFunction(ctypes.byref(function), self._module, name.encode())
        _check(error, f"finding {name}")
        if shared:
            error = driver().cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_ATTRIBUTE, shared)
            _check(error, f"shared memory for {name}")
        return function


@cache
def module(name: str, device: int, *macros: tuple[str, Any]) -> Module:
    """A module, compiled once for each set of macros and loaded once on each device."""
    with torch.cuda.device(device):
        return Module(name, **dict(macros))


class TensorMap(ctypes.Structure):
    """A CUtensorMap: the layout of a tensor, for the copy engine."""

    _fields_ = (("opaque", ctypes.c_uint64 * 16),)


def tensor_map(tensor_htd: Any, rows: int) -> TensorMap:
    """The map of tiles of ``rows`` tokens and 64 columns of a tensor (heads, tokens, width)."""
    address, layout = tensor_htd.data_ptr(), (tensor_htd.shape, tensor_htd.stride())
    return _encoded(address, *layout, tensor_htd.dtype, rows)


@lru_cache(maxsize=1024)  # torch gives the memory of earlier tensors to later ones of their size
def _encoded(address: int, shape: Any, strides: Any, dtype: torch.dtype, rows: int) -> TensorMap:
    result = TensorMap()
    heads, tokens, width = shape
    by_head, by_token, _ = (2 * step for step in strides)
    error = driver().cuTensorMapEncodeTiled(
        ctypes.byref(result), TENSOR_MAP_DTYPES[dtype], 3, ctypes.c_void_p(address),
        _longs(width, tokens, heads), _longs(by_token, by_head), _ints(64, rows, 1),
        _ints(1, 1, 1), 0, SWIZZLE_128, PROMOTE_256, 0,
    )  # fmt: skip
    _check(error, "describing a tensor")
    return result


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
    return type("KernelArguments", (ctypes.Structure,), {"_fields_": fields})
