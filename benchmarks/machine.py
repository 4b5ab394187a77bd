"""Shared by all benchmarks: description of the machine, timing, results files."""

import json
import os
import platform
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def describe() -> dict[str, Any]:
    """The machine and the versions on which the figures were measured."""
    import numpy
    from threadpoolctl import threadpool_info

    blas = [
        f"{x['internal_api']} {x['version']}" for x in threadpool_info() if x["user_api"] == "blas"
    ]
    return {
        "date": date.today().isoformat(),
        "processor": _processor(),
        "instructions": _instructions(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "blas": ", ".join(sorted(set(blas))),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return platform.processor()


def _instructions() -> str:
    """The processor's widest vector instructions, on which most times depend."""
    flags = set(Path("/proc/cpuinfo").read_text().split())
    names = {"avx512f": "AVX-512", "avx2": "AVX2", "asimd": "NEON"}
    return next((name for flag, name in names.items() if flag in flags), "unknown instructions")


def instruction_sets() -> dict[str, dict[str, str]]:
    """Process environments: widest instructions, AVX2 only, no native kernels.

    Each applies to NumPy, its BLAS, PyTorch and regard alike. AVX2 is omitted where it is widest.
    """
    from numpy._core._multiarray_umath import __cpu_dispatch__

    sets: dict[str, dict[str, str]] = {_instructions(): {}}
    if "AVX-512" in sets:
        wide = [name for name in __cpu_dispatch__ if name.startswith(("X86_V4", "AVX512"))]
        sets["AVX2"] = {
            "NPY_DISABLE_CPU_FEATURES": " ".join(wide), "OPENBLAS_CORETYPE": "Haswell",
            "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2", "REGARD_NATIVE": "avx2",
        }  # fmt: skip
    return {**sets, "no native kernels": {"REGARD_NATIVE": "off"}}


# OpenBLAS and OpenMP threads keep spinning this long after a call and would disturb the next peer.
SETTLE = 0.05  # seconds
BLOCK = 0.05  # seconds; calls shorter than this are repeated in a block


def best_of(
    calls: dict[str, Callable[[], object]], seconds: float, least: int = 5, warm: bool = True
) -> dict[str, float]:
    """The best time of each call; they take turns, so that noise affects all alike."""
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values() if warm else ():
        call()
    start, rounds = time.perf_counter(), 0
    while rounds < least or time.perf_counter() - start < seconds:
        for name, call in calls.items():
            time.sleep(SETTLE)
            best[name] = min(best[name], _best_of_block(call))
        rounds += 1
    return best


def _best_of_block(call: Callable[[], object]) -> float:
    best, start = float("inf"), time.perf_counter()
    while (before := time.perf_counter()) - start < BLOCK:
        call()
        best = min(best, time.perf_counter() - before)
    return best


def write(name: str, figures: dict[str, Any]) -> Path:
    """Save figures under results/, with a description of the machine."""
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": describe(), **figures}, indent=1) + "\n")
    return path
