"""Compilation of the native kernels into one shared library, by whatever C compiler there is.

Standard library only: the build backend's hook runs this file before anything is installed. It
also runs by itself, ``python -m regard.engine.native.compile``, when a compiler came later than the
package. If no library can be made nothing is raised: the reason is written to a file next to the
sources, and NumPy serves.

The loader reads names from this file at every start: modules that only a build needs are imported
by the functions that build.
"""

from __future__ import annotations

import os
import platform
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
KERNEL_SOURCES = (
    "attention.c",
    "int8_product.c",
    "decoder_step.c",
    "squares.c",
    "product64.c",
)  # compiled once for each level
COMMON_SOURCES = ("threads.c", "levels.c")  # compiled once
# Instruction sets beyond what every processor of the architecture has, from low to high.
LEVELS: dict[str, dict[str, list[str]]] = {
    "x86_64": {
        "baseline": [],
        "avx2": ["-mavx2", "-mfma", "-mbmi", "-mpopcnt"],
        "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mbmi",
                   "-mprefer-vector-width=512"],
    },
    "arm64": {"neon": []},
    "wasm32": {"simd128": ["-msimd128"]},
}  # fmt: skip
# Products may be fused; nothing else about the order or the special values of floats may change.
COMPILER_FLAGS = [
    "-std=gnu11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math",
    "-fvisibility=hidden",
]  # fmt: skip
# Not on users' machines, where a warning of a newer compiler must not prevent the build.
STRICT_FLAGS = ["-Wall", "-Wextra", "-Werror"]
SANITIZER_FLAGS = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
             "-fno-omit-frame-pointer"]  # fmt: skip
LIBRARY_SUFFIXES = {"Darwin": ".dylib", "Windows": ".dll"}
RECORD_FILE = "_kernels.json"  # the outcome of the last build


class BuildError(Exception):
    """A library that could not be made, and why."""


@dataclass(frozen=True)
class Outcome:
    """The library that a build made, or the reason why it made none."""

    library: str | None = None
    compiler: str | None = None
    reason: str | None = None
    size: int | None = None  # bytes of the library
    crc32: int | None = None


def architecture() -> str:
    """The processor's architecture under one name on every system: x86_64, arm64, or its own.

    >>> architecture() == architecture().lower()
    True
    """
    # Builds of wheels for another processor name it in ARCHFLAGS.
    named = os.environ.get("ARCHFLAGS", "").split()[-1:] or [platform.machine()]
    return {"amd64": "x86_64", "aarch64": "arm64"}.get(named[0].lower(), named[0].lower())


def architecture_levels(machine: str) -> dict[str, list[str]]:
    """Levels of an architecture with their compiler flags; a plain one where none is known."""
    return LEVELS.get(machine, {"baseline": []})


def library_name() -> str:
    """The library's file name on this system and processor; it has no Python version in it."""
    system = platform.system()
    return f"_kernels.{system.lower()}-{architecture()}{LIBRARY_SUFFIXES.get(system, '.so')}"


def sources_checksum(folder: Path = FOLDER) -> int:
    """A checksum of all C sources; the library carries that of the sources it was made from."""
    checksum = 0
    for path in sorted([*folder.glob("*.c"), *folder.glob("*.h")]):
        checksum = zlib.crc32(path.read_bytes().replace(b"\r\n", b"\n"), checksum)
    return checksum


def find_compiler() -> str:
    """The C compiler: ``CC`` if that is set, else the first of the usual ones.

    Vector types need gcc or clang; Microsoft's compiler has none.
    """
    import shutil

    if chosen := os.environ.get("CC", "").strip():
        if shutil.which(chosen.split()[0]) is None:
            raise BuildError(f"the C compiler named by CC, {chosen!r}, is not installed")
        return chosen
    names = ("clang", "gcc") if platform.system() == "Windows" else ("cc", "gcc", "clang")
    for name in names:
        if shutil.which(name):
            return name
    raise BuildError(f"there is no C compiler here ({', '.join(names)})")


def compile_library(target: Path, *, strict: bool = False, sanitized: bool = False) -> str:
    """Compile and link every kernel at every level; returns the compiler. Raises BuildError."""
    import tempfile
    from concurrent.futures import ThreadPoolExecutor

    compiler = find_compiler().split()
    flags = [
        *COMPILER_FLAGS,
        *(STRICT_FLAGS if strict else []),
        *(SANITIZER_FLAGS if sanitized else []),
    ]
    flags += os.environ.get("ARCHFLAGS", "").split()
    windows = platform.system() == "Windows"
    if not windows:
        flags += ["-fPIC", "-pthread"]
    checksum = f"-DREGARD_SOURCES={sources_checksum()}u"
    jobs = [(name, [checksum], "") for name in COMMON_SOURCES]
    for level, extra in architecture_levels(architecture()).items():
        defined = [f"-DREGARD_LEVEL={level}", f"-DREGARD_{level.upper()}=1", *extra]
        jobs += [(name, defined, f".{level}") for name in KERNEL_SOURCES]
    with tempfile.TemporaryDirectory() as temporary:
        objects = [str(Path(temporary, f"{name}{suffix}.o")) for name, _, suffix in jobs]
        commands = [
            [*compiler, *flags, *extra, "-c", str(FOLDER / name), "-o", made]
            for (name, extra, _), made in zip(jobs, objects, strict=True)
        ]
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            list(pool.map(_call, commands))
        made = str(Path(temporary, target.name))
        libraries = [] if windows else ["-lm"]
        _call([*compiler, *flags, "-shared", *objects, "-o", made, *libraries])
        # A process that has the old library mapped keeps it: the name gets another file.
        fresh = target.with_name(f"{target.name}.{os.getpid()}")
        try:
            fresh.write_bytes(Path(made).read_bytes())
            fresh.replace(target)
        finally:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
    return (_call([*compiler, "--version"]).splitlines() or [compiler[0]])[0].strip()


WASM_PLATFORM = "pyemscripten_2026_0_wasm32"  # of Pyodide 314, in a wheel's tag (PEP 783)
WASM_LIBRARY = "_kernels.emscripten-wasm32.so"  # library_name() of Python in a browser


def build_wasm(folder: Path) -> Path:
    """The kernels as WebAssembly for Pyodide, with their record, in a folder. Raises BuildError.

    Clang and wasm-ld of PyPI's ziglang suffice: the kernels call nothing but the C library, which
    Pyodide has, and Pyodide's loader takes any side module of its ABI.
    """
    import importlib.util
    import json
    import sys
    import tempfile

    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        raise BuildError("the compiler for WebAssembly is missing: pip install ziglang")
    headers = Path(spec.submodule_search_locations[0], "lib", "libc", "include")
    zig = [sys.executable, "-m", "ziglang"]
    flags = [
        *("-target", "wasm32-emscripten", *COMPILER_FLAGS, "-fPIC"),
        *("-isystem", str(headers / "wasm-wasi-musl"), "-isystem", str(headers / "generic-musl")),
        f"-DREGARD_SOURCES={sources_checksum()}u",
    ]
    ((level, extra),) = LEVELS["wasm32"].items()
    flags += [f"-DREGARD_LEVEL={level}", f"-DREGARD_{level.upper()}=1", *extra]
    target = folder / WASM_LIBRARY
    with tempfile.TemporaryDirectory() as temporary:
        objects = []
        for name in (*KERNEL_SOURCES, *COMMON_SOURCES):
            objects.append(str(Path(temporary, f"{name}.o")))
            _call([*zig, "cc", *flags, "-c", str(FOLDER / name), "-o", objects[-1]])
        linking = ["-shared", "--experimental-pic", "--import-memory", "--strip-debug"]
        linking += ["--unresolved-symbols=import-dynamic", *objects, "-o", str(target)]
        _call([*zig, "wasm-ld", *linking])
    size, crc32 = fingerprint(target)
    made_by = f"zig {_call([*zig, 'version']).strip()}"
    _write_record(folder, json.dumps(asdict(Outcome(target.name, made_by, size=size, crc32=crc32))))
    return target


def build(folder: Path = FOLDER, *, strict: bool = False, sanitized: bool = False) -> Outcome:
    """Make the library in a folder, or write there why not; an earlier library stays then."""
    import json

    target = folder / library_name()
    try:
        made_by = compile_library(target, strict=strict, sanitized=sanitized)
        size, crc32 = fingerprint(target)
        outcome = Outcome(target.name, made_by, size=size, crc32=crc32)
        _write_record(folder, json.dumps(asdict(outcome)))
    except (BuildError, OSError) as error:
        outcome = Outcome(reason=str(error))
        if not target.exists():
            with suppress(OSError):  # a folder that cannot be written has no record either
                _write_record(folder, json.dumps(asdict(outcome)))
    return outcome


def fingerprint(library: Path) -> tuple[int, int]:
    """Size and CRC-32 of a library. One cut short would end the process (SIGBUS) once loaded."""
    content = library.read_bytes()
    return len(content), zlib.crc32(content)


def _write_record(folder: Path, text: str) -> None:
    (folder / RECORD_FILE).write_text(text + "\n", encoding="utf-8")


def platform_tag() -> str:
    """The platform part of a wheel's tag, for the one processor that the library is for."""
    import sysconfig

    tag = sysconfig.get_platform().replace("universal2", platform.machine())
    return tag.replace("-", "_").replace(".", "_")


def _call(command: list[str]) -> str:
    """The output of a compiler's command; BuildError with its messages where it fails."""
    import subprocess

    ended = subprocess.run(command, capture_output=True, text=True, errors="replace")  # noqa: S603
    if ended.returncode:
        messages = (ended.stderr or ended.stdout).strip()[-2000:]
        raise BuildError(f"the C compiler {command[0]!r} failed: {messages or 'no message'}")
    return ended.stdout


def main() -> None:
    """Build in place, or elsewhere; exit with an error where no library could be made."""
    import argparse
    import sys

    parser = argparse.ArgumentParser(description="Compile regard's native kernels.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the folder of the library")
    parser.add_argument("--strict", action="store_true", help="warnings are errors")
    parser.add_argument("--sanitized", action="store_true", help="with address and UB sanitizers")
    chosen = parser.parse_args()
    try:
        chosen.folder.mkdir(parents=True, exist_ok=True)
        outcome = build(chosen.folder, strict=chosen.strict, sanitized=chosen.sanitized)
    except OSError as error:
        outcome = Outcome(reason=str(error))
    if outcome.reason and (chosen.folder / library_name()).exists():
        sys.exit(f"The kernels were not built again, and the earlier ones stay: {outcome.reason}.")
    if outcome.reason:
        sys.exit(f"No native kernels, NumPy will serve: {outcome.reason}.")
    print(f"{chosen.folder / str(outcome.library)} by {outcome.compiler}")


if __name__ == "__main__":
    main()
