"""Run the tests that depend on arithmetic with every BLAS kernel and fewer CPU features.

    python tools/kernels.py                      # every kernel below, one after the other
    python tools/kernels.py Haswell Prescott     # only these
    python tools/kernels.py Haswell --tests tests/textbook tests/heads

OpenBLAS has kernels for each processor family and NumPy has loops for each instruction set; each
sums in its own order. A kernel that this processor cannot run is skipped, and the summary says so.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
# Of the browser tests, only those that compare the page's arithmetic with Python's.
TESTS = (
    "src", "tests/textbook", "tests/engine", "tests/heads", "tests/text", "tests/transformer",
    "tests/checker", "tests/corpus", "tests/view/figure", "tests/view/page", "tests/view/terminal",
    "tests/view/worksheet", "tests/view/browser/test_steps.py", "tests/test_readme.py",
    "tests/test_examples.py",
)  # fmt: skip
# Tests that train or start many processes: they test little arithmetic and double the time.
LEFT_OUT = (
    "tests/engine/ring", "tests/engine/gpu", "tests/transformer/train",
    "tests/corpus/test_ray_engine.py", "tests/corpus/test_engines.py",
)  # fmt: skip
NO_AVX512 = ("X86_V4", "AVX512")  # prefixes of the feature names, in every version of NumPy
TRY = "import numpy as np; x = np.ones((64, 64), np.float32); assert (x @ x == 64).all()"


class Processor(NamedTuple):
    """A processor to emulate: OpenBLAS's kernel, and the features that NumPy must not use."""

    name: str
    kernel: str = ""
    without: tuple[str, ...] = ()

    def environment(self) -> dict[str, str]:
        """Environment variables of its process."""
        features = [x for x in dispatched() if x.startswith(self.without)] if self.without else []
        names = {"OPENBLAS_CORETYPE": self.kernel, "NPY_DISABLE_CPU_FEATURES": " ".join(features)}
        if self.without:
            names |= {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
        return {**os.environ, **{name: value for name, value in names.items() if value}}


PROCESSORS = (
    Processor("Haswell", "Haswell"),
    Processor("Zen", "Zen"),
    Processor("SkylakeX", "SkylakeX"),
    Processor("Sandybridge", "Sandybridge"),
    Processor("Prescott", "Prescott"),
    Processor("no-AVX512", without=NO_AVX512),
    Processor("Haswell-no-AVX512", "Haswell", NO_AVX512),
    Processor("Prescott-baseline", "Prescott", ("",)),
)


def main(arguments: Sequence[str]) -> int:
    """Run the tests on every processor; return how many had failures."""
    every = [x.name for x in PROCESSORS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kernels", nargs="*", metavar="kernel", help=f"one of {', '.join(every)}")
    parser.add_argument("--tests", nargs="+", default=[], help="run these tests instead")
    asked = parser.parse_args(arguments)
    if unknown := set(asked.kernels) - set(every):
        parser.error(f"kernel must be one of {', '.join(every)}, got {', '.join(sorted(unknown))}")
    chosen = [x for x in PROCESSORS if not asked.kernels or x.name in asked.kernels]
    results = [run(x, asked.tests) for x in chosen]
    sys.stdout.write("\n".join(["", *(f"{name:18} {result}" for name, result, _ in results), ""]))
    return sum(failed for _, _, failed in results)


def run(processor: Processor, tests: Sequence[str]) -> tuple[str, str, bool]:
    """Run the tests on one processor; return its name, pytest's last line, whether any failed."""
    sys.stdout.write(f"\n== {processor.name}\n")
    sys.stdout.flush()
    environment = processor.environment()
    if subprocess.run([sys.executable, "-c", TRY], env=environment, check=False).returncode:
        return processor.name, "skipped: this processor cannot run it", False
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    command += tests or [*TESTS, *(f"--ignore={x}" for x in LEFT_OUT)]
    line = "no output"
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE
    ) as process:
        for line in process.stdout or ():
            sys.stdout.write(line)
            sys.stdout.flush()
    return processor.name, line.strip(), bool(process.returncode)


def dispatched() -> list[str]:
    """CPU features beyond the baseline for which this NumPy has loops."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    return list(__cpu_dispatch__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
