"""Speed and memory of attention and observe against PyTorch and the third document's NumPy.

``make bench`` runs it and writes results/attention.json and attention.md: once with the machine's
widest vector instructions and once with AVX2, forced on NumPy, PyTorch and regard alike, each in
its own process. Times are the best of several rounds in which the peers take turns, on 8 heads of
width 64 in float32.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from machine import RESULTS, best_of, describe, write

import regard
from regard.engine.native.library import native_state, using_level

HEADS, WIDTH = 8, 64
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
EAGER_LIMIT = 4096  # beyond this, eager runs one head at a time to fit in memory, timed once
NUMPY_FROM = 2048  # from this length on, regard is also timed without native kernels
Call = Callable[[], object]
# In order: PyTorch's own loops, its MKL and oneDNN; NumPy's OpenBLAS; regard's kernels.
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
    "REGARD_NATIVE": "avx2",
}


def beyond_avx2() -> str:
    """NumPy's names for the CPU features beyond AVX2, which are to be disabled."""
    features = np._core._multiarray_umath.__cpu_features__
    wide = ("AVX512", "X86_V4", "AMX", "AVX10")
    built_in = set(np._core._multiarray_umath.__cpu_baseline__)
    dispatched = np._core._multiarray_umath.__cpu_dispatch__
    return " ".join(
        name
        for name in dispatched
        if name.startswith(wide) and features.get(name) and name not in built_in
    )


def instruction_sets() -> dict[str, dict[str, str]]:
    """Name and environment of the machine's widest set, and of AVX2 where that is narrower."""
    own = describe()["instructions"]
    forced = AVX2 | {"NPY_DISABLE_CPU_FEATURES": beyond_avx2()}
    return {own: {}} | ({"AVX2": forced} if own == "AVX-512" else {})


def sdpa(arrays: tuple[torch.Tensor, ...], causal: bool) -> torch.Tensor:
    """PyTorch's fused attention: output only."""
    return torch.nn.functional.scaled_dot_product_attention(*arrays, is_causal=causal)


def eager(arrays: tuple[torch.Tensor, ...], causal: bool) -> list[torch.Tensor]:
    """PyTorch with all weights stored: output, entropy, received, top 8 and a map of 256 blocks."""
    query, key, value = arrays
    if query.shape[-2] > EAGER_LIMIT and query.shape[1] > 1:
        heads = [tuple(x[:, h : h + 1] for x in arrays) for h in range(query.shape[1])]
        return [fact for head in heads for fact in eager(head, causal)]
    n = query.shape[-2]
    scores = query @ key.transpose(-1, -2) / WIDTH**0.5
    if causal:
        scores.masked_fill_(torch.ones(n, n, dtype=torch.bool).triu(1), float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    entropy = torch.special.entr(weights).sum(-1)
    side = min(256, n)
    blocks = (
        weights.unflatten(-1, (side, n // side)).sum(-1).unflatten(-2, (side, n // side)).mean(-2)
    )
    return [weights @ value, entropy, weights.sum(-2), *weights.topk(8), blocks]


def document(query: np.ndarray, key: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The third document's NumPy code, with np.dot replaced by a batched product."""
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(WIDTH)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ value


def attention_without_kernels(arrays: tuple[np.ndarray, ...], causal: bool) -> object:
    """``attention`` as it runs without a C compiler."""
    with using_level("off"):
        return regard.attention(*arrays, causal=causal)


def calls(n: int, causal: bool) -> dict[str, Call]:
    """The functions timed at one length."""
    random = np.random.default_rng(n)
    arrays = tuple(random.standard_normal((HEADS, n, WIDTH), dtype=np.float32) for _ in range(3))
    tensors = tuple(torch.from_numpy(array)[None] for array in arrays)
    timed: dict[str, Call] = {
        "sdpa": lambda: sdpa(tensors, causal),
        "attention": lambda: regard.attention(*arrays, causal=causal),
        "observe": lambda: regard.observe(*arrays, causal=causal, top=8, map=256, profile=False),
        "eager": lambda: eager(tensors, causal),
    }
    if n >= NUMPY_FROM:
        timed["numpy"] = lambda: attention_without_kernels(arrays, causal)
    if not causal and n <= EAGER_LIMIT:
        timed["document"] = lambda: document(*arrays)
    return timed


def measure(n: int, causal: bool, seconds: float) -> dict[str, float | int | bool]:
    """Times in milliseconds and their ratios to SDPA."""
    timed = calls(n, causal)
    # NumPy's BLAS threads, and gigabytes being freed, would disturb the calls timed after them.
    alone = [{name: timed.pop(name)} for name in ("eager", "document") if name in timed]
    best = best_of(timed, seconds)
    for call in alone:
        best |= best_of(call, seconds / 4, least=1 if n > EAGER_LIMIT else 3, warm=n <= EAGER_LIMIT)
    row: dict[str, float | int | bool] = {"n": n, "causal": causal}
    row |= {f"{name}_ms": round(1e3 * time, 3) for name, time in best.items()}
    row |= {
        "attention_to_sdpa": round(best["attention"] / best["sdpa"], 2),
        "observe_to_sdpa": round(best["observe"] / best["sdpa"], 2),
        "eager_to_observe": round(best["eager"] / best["observe"], 2),
    }
    if "numpy" in best:
        row["numpy_to_sdpa"] = round(best["numpy"] / best["sdpa"], 2)
    return row


MEMORY = """
import re, sys
import numpy as np, regard
n = int(sys.argv[1])
random = np.random.default_rng(0)
arrays = [random.standard_normal((1, n, 64), dtype=np.float32) for _ in range(3)]
regard.observe(*[a[:, :600] for a in arrays])  # one-off loading is not part of the measured call
def kilobytes(name):
    return int(re.search(name + r":\\s+(\\d+)", open("/proc/self/status").read())[1])
before = kilobytes("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # reset the recorded peak
seen = regard.observe(*arrays, top=8, map=256)
outputs = sum(a.nbytes for a in seen.facts.values()) + seen.profile.weight.nbytes
used = (kilobytes("VmHWM") - before) / 1e3 - outputs / 1e6
print(used, seen.cost.peak_bytes / 1e6, seen.cost.plan)
"""


def memory(n: int) -> dict[str, object]:
    """Peak resident memory of observe beyond inputs and outputs, one head, in a fresh process."""
    command = [sys.executable, "-c", MEMORY, str(n)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(
        maxsplit=2
    )
    return {
        "n": n,
        "megabytes": round(float(answer[0]), 1),
        "stated_megabytes": round(float(answer[1]), 1),
        "plan": answer[2].strip(),
        "weights_megabytes": round(4 * n * n / 1e6, 1),
    }


def table(rows: list[dict[str, float | int | bool]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| n | causal | SDPA | `attention` | / SDPA | without a compiler, / SDPA | `observe` | "
        "/ SDPA | eager, same measures | / `observe` | third document |",
        "|--:|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        causal = "yes" if row["causal"] else "no"
        document = f"{row['document_ms']:,.1f} ms" if "document_ms" in row else ""
        without = f"{row['numpy_to_sdpa']:.2f} x" if "numpy_to_sdpa" in row else ""
        lines.append(
            f"| {row['n']:,} | {causal} | {row['sdpa_ms']:,.2f} ms | "
            f"{row['attention_ms']:,.2f} ms | {row['attention_to_sdpa']:.2f} x | {without} | "
            f"{row['observe_ms']:,.2f} ms | {row['observe_to_sdpa']:.2f} x | "
            f"{row['eager_ms']:,.1f} ms | {row['eager_to_observe']:.1f} x | {document} |"
        )
    return "\n".join(lines)


def measure_all(longest: int, seconds: float) -> list[dict[str, float | int | bool]]:
    """Measure every length in this process; print each result at once."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    rows = []
    for n in [n for n in LENGTHS if n <= longest]:
        for causal in (False, True):
            rows.append(measure(n, causal, seconds))
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def measure_with(settings: dict[str, str], chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure with one instruction set, forced on a new process."""
    command = [sys.executable, __file__, "--worker", "--longest", str(chosen.longest)]
    command += ["--seconds", str(chosen.seconds)]
    environment = os.environ | settings
    answer = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def main() -> None:
    """Measure everything, print each result, save at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longest", type=int, default=LENGTHS[-1])
    parser.add_argument("--seconds", type=float, default=4.0, help="minimum time per length")
    parser.add_argument("--worker", action="store_true", help="measure in this process only")
    chosen = parser.parse_args()
    if chosen.worker:
        rows = measure_all(chosen.longest, chosen.seconds)
        print(json.dumps({"kernels": native_state().level or "NumPy", "rows": rows}))
        return
    sets = {name: measure_with(settings, chosen) for name, settings in instruction_sets().items()}
    peaks = [memory(n) for n in (16384, 65536)]
    print(*peaks, sep="\n")
    figures = {
        "torch": torch.__version__,
        "heads": HEADS,
        "width": WIDTH,
        "sets": sets,
        "memory": peaks,
    }
    machine = describe()
    path = write("attention", figures)
    tables = [
        f"{name} (regard's kernels: {measured['kernels']}):\n\n{table(measured['rows'])}\n"
        for name, measured in sets.items()
    ]
    (RESULTS / "attention.md").write_text(
        f"{machine['cores']} cores of {machine['processor']}, NumPy {machine['numpy']} "
        f"({machine['blas']}), PyTorch {torch.__version__}, {machine['date']}; best of several.\n\n"
        + "\n".join(tables)
    )  # fmt: skip
    print(f"written to {path}")


if __name__ == "__main__":
    main()
