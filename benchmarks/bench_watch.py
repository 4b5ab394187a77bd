"""Cost of watching: two models with their default SDPA, watched, and eager with weights.

All take turns in one run, with the same random parameters and the same text. ``watch`` computes
entropy, received, top 16, a map of up to 512 blocks, distances and the measures of the head report;
eager returns the weights and computes nothing from them. Memory is that of a fresh process.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# Threads that wait for another would count as work: processor time is to be compared.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from machine import RESULTS, SETTLE, describe, write
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

import regard

LENGTHS = (512, 2048)
ROOT = Path(__file__).parents[1]


def encoder(tokens: int) -> BertModel:
    """BERT's size with random parameters: time does not depend on them."""
    torch.manual_seed(0)
    return BertModel(BertConfig(max_position_embeddings=max(512, tokens))).eval()


def decoder(tokens: int) -> LlamaForCausalLM:
    """The shape of SmolLM2-135M with random parameters."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=max(8192, tokens),
        tie_word_embeddings=True,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


MODELS: dict[str, Callable[[int], Any]] = {"BERT base": encoder, "SmolLM2-135M": decoder}


def text(tokens: int) -> torch.Tensor:
    """Word ids from this project's documents, so that words repeat as in real text."""
    files = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md"))
    words = re.findall(r"\w+|\S", " ".join(path.read_text(encoding="utf-8") for path in files))
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word.lower(), 1000 + len(numbers)) for word in words]
    return torch.tensor(np.resize(ids, tokens))[None]


def watched(model: Any, ids: torch.Tensor) -> regard.Seen:
    """One watched forward with all measures."""
    with regard.watch(model) as seen:
        model(ids)
    return seen


def eager(model: Any, ids: torch.Tensor) -> object:
    """One forward that returns all weights."""
    model.set_attn_implementation("eager")
    try:
        return model(ids, output_attentions=True)
    finally:
        model.set_attn_implementation("sdpa")


CALLS: dict[str, Callable[[Any, torch.Tensor], object]] = {
    "sdpa": lambda model, ids: model(ids),
    "watch": watched,
    "eager": eager,
}


def measure(name: str, tokens: int, turns: int) -> dict[str, Any]:
    """Wall and processor time: medians, and medians of the ratios of plain and watched.

    Others on the machine slow down one turn more than the next, but the calls of a turn alike.
    Eager comes after them, since the memory that it frees would serve the plain model.
    """
    model, ids = MODELS[name](tokens), text(tokens)
    with torch.no_grad():
        times = timed(model, ids, ("sdpa", "watch"), turns) | timed(model, ids, ("eager",), 2)
    wall = {call: statistics.median(x[0] for x in each) for call, each in times.items()}
    pairs = list(zip(times["watch"], times["sdpa"], strict=True))
    ratios = [statistics.median(x[kind] / y[kind] for x, y in pairs) for kind in range(2)]
    return {
        "model": name, "tokens": tokens, "turns": turns,
        **{f"{call}_ms": round(1e3 * x, 1) for call, x in wall.items()},
        "watch_to_sdpa": round(ratios[0], 3), "processor_watch_to_sdpa": round(ratios[1], 3),
        "eager_to_watch": round(wall["eager"] / wall["watch"], 3),
        "memory_mb": {call: peak(name, call, tokens) for call in CALLS},
    }  # fmt: skip


def timed(
    model: Any, ids: torch.Tensor, calls: tuple[str, ...], turns: int
) -> dict[str, list[tuple[float, float]]]:
    """Wall and processor seconds of calls that take turns; the first turn is to warm up."""
    times: dict[str, list[tuple[float, float]]] = {call: [] for call in calls}
    for _ in range(turns + 1):
        for call in calls:
            time.sleep(SETTLE)
            wall, processor = time.perf_counter(), time.process_time()
            CALLS[call](model, ids)
            times[call].append((time.perf_counter() - wall, time.process_time() - processor))
    return {call: each[1:] for call, each in times.items()}


def peak(name: str, call: str, tokens: int, tries: int = 3) -> float:
    """Median peak resident memory of a call in a fresh process, in MB beyond the model's.

    How the heap is fragmented differs from process to process, so that one try says little.
    """
    command = [sys.executable, __file__, "--peak", name, call, str(tokens)]
    printed = [subprocess.check_output(command, text=True) for _ in range(tries)]
    return statistics.median(float(lines.split()[-1]) for lines in printed)


def show_peak(name: str, call: str, tokens: int) -> None:
    """Print the peak memory: runs in the fresh process, the model first, then the call."""
    model, ids = MODELS[name](tokens), text(tokens)
    with torch.no_grad():
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of making the model
        before = _kilobytes("VmRSS")
        output = CALLS[call](model, ids)
        after = _kilobytes("VmHWM")
    assert output is not None
    print(round((after - before) / 1024, 1))


def _kilobytes(field: str) -> int:
    """VmRSS or VmHWM of this process: what is resident now, or was at most."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(f"{field}:")[1].split()[0])


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| model | tokens | SDPA | watched / SDPA | in processor time "
        "| eager with weights / watched | memory: SDPA | watched | eager |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['model']} | {row['tokens']:,} | {row['sdpa_ms']:,.0f} ms | "
        f"{row['watch_to_sdpa']:.2f} x | {row['processor_watch_to_sdpa']:.2f} x | "
        f"{row['eager_to_watch']:.2f} x | "
        + " | ".join(f"{megabytes:,.0f} MB" for megabytes in row["memory_mb"].values())
        + " |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print each result, save at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--turns", type=int, default=6, help="how often each is run")
    parser.add_argument("--peak", nargs=3, metavar=("MODEL", "CALL", "TOKENS"),
                        help=argparse.SUPPRESS)  # fmt: skip
    chosen = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    if chosen.peak:
        show_peak(chosen.peak[0], chosen.peak[1], int(chosen.peak[2]))
        return
    lengths, turns = ((64,), 1) if chosen.quick else (LENGTHS, chosen.turns)
    rows = []
    for name in MODELS:
        for tokens in lengths:  # shorter calls are noisier
            rows.append(measure(name, tokens, turns * (3 if tokens <= 512 else 1)))
            print(rows[-1], flush=True)
    print(table(rows))
    if chosen.quick:
        return
    machine = describe()
    path = write("watch", {"torch": torch.__version__, "rows": rows})
    (RESULTS / "watch.md").write_text(
        f"Random parameters, float32; {machine['cores']} cores of {machine['processor']}, PyTorch "
        f"{torch.__version__}, {machine['date']}; medians; memory beyond the model's."
        f"\n\n{table(rows)}\n"
    )
    print(f"written to {path}")


if __name__ == "__main__":
    main()
