"""Cost of watching: a BERT-size encoder with its default SDPA, watched, and eager with weights.

All take turns in one run, with the same random parameters and the same text. ``watch`` computes
entropy, received, top 16, a map of up to 512 blocks, distances and the measures of the head report;
eager returns the weights and computes nothing from them.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import RESULTS, best_of, describe, write
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM

import regard

LENGTHS = (128, 512, 1024, 4096)
LAYERS = 6
ROOT = Path(__file__).parents[1]


def encoder(tokens: int) -> BertModel:
    """Six layers of BERT's size with random parameters: time does not depend on them."""
    torch.manual_seed(0)
    sizes = {"num_hidden_layers": LAYERS, "max_position_embeddings": max(512, tokens)}
    return BertModel(BertConfig(**sizes)).eval()


def text(tokens: int) -> torch.Tensor:
    """Word ids from this project's documents, so that words repeat as in real text."""
    files = sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md"))
    words = re.findall(r"\w+|\S", " ".join(path.read_text(encoding="utf-8") for path in files))
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(word.lower(), 1000 + len(numbers)) for word in words]
    return torch.tensor(np.resize(ids, tokens))[None]


def watched(model: BertModel, ids: torch.Tensor) -> regard.Seen:
    """One watched forward with all measures."""
    with regard.watch(model) as seen:
        model(ids)
    return seen


def eager(model: BertModel, ids: torch.Tensor) -> object:
    """One forward that returns all weights."""
    model.set_attn_implementation("eager")
    try:
        return model(ids, output_attentions=True)
    finally:
        model.set_attn_implementation("sdpa")


def measure(tokens: int, seconds: float) -> dict[str, float | int]:
    """Times of the three, taking turns."""
    model, ids = encoder(tokens), text(tokens)
    calls = {
        "sdpa": lambda: model(ids),
        "watch": lambda: watched(model, ids),
        "eager": lambda: eager(model, ids),
    }
    with torch.no_grad():
        times = best_of(calls, seconds, least=3)
    return {
        "tokens": tokens,
        **{f"{name}_ms": round(1e3 * best, 2) for name, best in times.items()},
        "watch_to_sdpa": round(times["watch"] / times["sdpa"], 3),
        "eager_to_watch": round(times["eager"] / times["watch"], 3),
    }


def decoder(tokens: int) -> LlamaForCausalLM:
    """The shape of SmolLM2-135M with random parameters."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30,
        num_attention_heads=9, num_key_value_heads=3, max_position_embeddings=max(8192, tokens),
        tie_word_embeddings=True,
    )  # fmt: skip
    return LlamaForCausalLM(config).eval()


MODELS = {"BERT, 6 layers": encoder, "SmolLM2-135M": decoder}


def second_call(model: torch.nn.Module, ids: torch.Tensor) -> float:
    """Seconds of a second forward in a block."""
    with regard.watch(model):
        model(ids)
        start = time.perf_counter()
        model(ids)
        return time.perf_counter() - start


def measure_model(name: str, dtype: torch.dtype, tokens: int, seconds: float) -> dict[str, Any]:
    """Times of a forward plain, watched and second in its block, and the size of a saved file."""
    model, ids = MODELS[name](tokens).to(dtype), text(tokens)
    with torch.no_grad():
        times = best_of(
            {"sdpa": lambda: model(ids), "watch": lambda: watched(model, ids)}, seconds, least=3
        )
        second = min(second_call(model, ids) for _ in range(3))
        kept = _kept_bytes(model, ids)
    return {
        "model": name, "dtype": str(dtype).removeprefix("torch."), "tokens": tokens,
        **{f"{kind}_ms": round(1e3 * best, 1) for kind, best in times.items()},
        "watch_to_sdpa": round(times["watch"] / times["sdpa"], 3),
        "second_to_sdpa": round(second / times["sdpa"], 3), **kept,
    }  # fmt: skip


def _kept_bytes(model: torch.nn.Module, ids: torch.Tensor) -> dict[str, float]:
    """Megabytes of the first layer with query and key, saved and in memory."""
    with regard.watch(model, layers=[0], keep="all") as seen:
        model(ids)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layer.regard"
        seen.save(path)
        start = time.perf_counter()
        regard.load(path)
        opened = time.perf_counter() - start
        size = path.stat().st_size
    facts, query_key, _ = seen.recorder.runs[-1].bytes
    return {"file_mb": round(size / 1e6, 2), "arrays_mb": round((facts + query_key) / 1e6, 2),
            "opened_ms": round(1e3 * opened, 1)}  # fmt: skip


def peak(kind: str, tokens: int) -> float:
    """Peak resident memory of one call in a fresh process, in MB beyond the model's."""
    command = [sys.executable, __file__, "--peak", kind, str(tokens)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(answer.stdout.split()[-1])


def show_peak(kind: str, tokens: int) -> None:
    """Print the peak memory: runs in the fresh process, the model first, then the call."""
    model, ids = encoder(tokens), text(tokens)
    calls = {"sdpa": model, "watch": watched, "eager": eager}
    with torch.no_grad():
        model(ids[:, :16])
        before = _peak_kilobytes()
        output = model(ids) if kind == "sdpa" else calls[kind](model, ids)
        after = _peak_kilobytes()
    assert output is not None
    print(round((after - before) / 1024, 1))


def _peak_kilobytes() -> int:
    """Peak of this process; getrusage would start from the peak of the process that forked it."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0])


def table(rows: list[dict[str, float | int]], peaks: list[dict[str, float | int]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| tokens | SDPA | watched | / SDPA | eager with weights | / watched |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row['tokens']:,} | {row['sdpa_ms']:,.0f} ms | {row['watch_ms']:,.0f} ms | "
        f"{row['watch_to_sdpa']:.2f} x | {row['eager_ms']:,.0f} ms | "
        f"{row['eager_to_watch']:.2f} x |"
        for row in rows
    ]
    lines += [
        f"\nPeak memory at {x['tokens']:,} tokens, beyond the model: sdpa {x['sdpa']:,.0f} MB, "
        f"watched {x['watch']:,.0f} MB, eager with weights {x['eager']:,.0f} MB."
        for x in peaks
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print each result, save at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--seconds", type=float, default=8.0, help="minimum time per length")
    parser.add_argument("--peak", nargs=2, metavar=("KIND", "TOKENS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    torch.set_num_threads(len(__import__("os").sched_getaffinity(0)))
    if chosen.peak:
        show_peak(chosen.peak[0], int(chosen.peak[1]))
        return
    lengths, seconds = ((64, 128), 0.0) if chosen.quick else (LENGTHS, chosen.seconds)
    rows = []
    for tokens in lengths:
        rows.append(measure(tokens, seconds))
        print(rows[-1], flush=True)
    models = []
    for name in MODELS:
        for dtype in (torch.float32, torch.bfloat16):
            for tokens in (64,) if chosen.quick else (512, 2048):
                models.append(measure_model(name, dtype, tokens, seconds))
                print(models[-1], flush=True)
    last = lengths[-1]
    peaks = [{"tokens": last, **{kind: peak(kind, last) for kind in ("sdpa", "watch", "eager")}}]
    print(table(rows, peaks))
    if chosen.quick:
        return
    machine = describe()
    path = write("watch", {"torch": torch.__version__, "layers": LAYERS, "rows": rows,
                           "memory": peaks, "models": models})  # fmt: skip
    (RESULTS / "watch.md").write_text(
        f"BERT's size, {LAYERS} layers of 12 heads, random parameters; {machine['cores']} cores of "
        f"{machine['processor']}, PyTorch {torch.__version__}, {machine['date']}; best of several."
        f"\n\n{table(rows, peaks)}\n"
    )
    print(f"written to {path}")


if __name__ == "__main__":
    main()
