"""What monitoring a training costs: a step plain, with certificates, observed, and exact maxima.

    python benchmarks/bench_monitor.py [--quick] [--seconds 12]

On a GPU a Llama of 12 layers in bf16, 8 x 2,048 and 2 x 8,192 tokens; on a CPU a small one. Ratios
of medians from one run, the kinds of steps taking turns. Facts are compared with float64.
"""

import argparse
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import RESULTS, describe
from transformers import LlamaConfig, LlamaForCausalLM

import regard

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # for deterministic algorithms
START = time.perf_counter()
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
THRESHOLD = 100.0
LOUD_LAYERS = (3, 7) if ON_GPU else (1,)
NEVER = 10**9
TO_REACH = {
    "certificate at every step": 1.02,
    "all facts on an observed step": 1.3,
    "every=50": 1.01,
    "exact maxima at every step": 1.05,
}


def say(text: str) -> None:
    print(f"[{time.perf_counter() - START:5.0f} s] {text}", flush=True)


def config(tokens: int, quick: bool) -> LlamaConfig:
    """16 heads of width 128 with 4 key heads on a GPU; 8 of 32 with 4 on a CPU."""
    sizes: dict[str, Any] = {
        "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632,
        "num_hidden_layers": 12, "num_attention_heads": 16, "num_key_value_heads": 4,
    }  # fmt: skip
    if not ON_GPU or quick:
        sizes = {
            "vocab_size": 2000, "hidden_size": 256, "intermediate_size": 704,
            "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 4,
        }  # fmt: skip
    return LlamaConfig(**sizes, max_position_embeddings=tokens, use_cache=False)


class Training:
    """A model, its optimizer and one batch."""

    def __init__(self, sentences: int, tokens: int, quick: bool) -> None:
        torch.manual_seed(0)
        dtype = torch.bfloat16 if ON_GPU else torch.float32
        self.model = LlamaForCausalLM(config(tokens, quick)).to(DEVICE, dtype).train()
        with torch.no_grad():  # scores of about 400 in these layers, of about 1 in the others
            for layer in LOUD_LAYERS:
                self.model.model.layers[layer].self_attn.q_proj.weight.mul_(300)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-7, fused=ON_GPU)
        self.ids = torch.randint(
            0, self.model.config.vocab_size, (sentences, tokens), device=DEVICE
        )

    def step(self, update: bool = True) -> torch.Tensor:
        loss = self.model(input_ids=self.ids, labels=self.ids).loss
        loss.backward()
        if update:
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def monitored(self, **arguments: Any) -> Any:
        return regard.monitor(self.model, **{"on_alert": _ignore, "on_error": "raise"} | arguments)


def _ignore(alert: Any) -> None:
    """Alerts are not told."""


def wait() -> None:
    if ON_GPU:
        torch.cuda.synchronize()


# Other programs share the cores of a CPU: their time does not count.
clock = time.perf_counter if ON_GPU else time.process_time


def kinds(training: Training, folder: str) -> dict[str, Callable[[], Any]]:
    """Monitors by what they do at a step; each has its own folder."""

    def to(name: str) -> str:
        return tempfile.mkdtemp(prefix=name, dir=folder)

    return {
        "plain": nullcontext,
        "certificate at every step": lambda: training.monitored(
            every=NEVER, step=1, threshold=1e6, to=to("certificate")
        ),
        "all facts on an observed step": lambda: training.monitored(
            every=1, threshold=THRESHOLD, to=to("facts")
        ),
        "rows=256 on an observed step": lambda: training.monitored(
            every=1, rows=256, threshold=THRESHOLD, to=to("rows")
        ),
        "exact maxima at every step": lambda: training.monitored(
            every=NEVER, step=1, threshold=THRESHOLD, to=to("exact")
        ),
        "watch around the forward": lambda: watching(training.model),
    }


@contextmanager
def watching(model: Any) -> Any:
    """``regard.watch`` around every forward, as it was before there was a monitor."""
    forward = model.forward

    def watched(*arguments: Any, **keywords: Any) -> Any:
        with regard.watch(model, top=0, map=0):
            return forward(*arguments, **keywords)

    model.forward = watched
    try:
        yield
    finally:
        del model.forward


def times(training: Training, folder: str, seconds: float) -> dict[str, list[float]]:
    """Seconds of a step by kind, in turns of a few steps each, after two that are not counted."""
    blocks, taken = kinds(training, folder), {}
    for name, block in list(blocks.items()):
        try:
            with block():
                training.step()
                training.step()
            taken[name] = []
        except Exception as error:
            if name != "watch around the forward":
                raise
            say(f"{name} failed: {error!r:.200}")
            del blocks[name]
        say(f"warmed up: {name}")
    wait()
    began, steps = time.perf_counter(), 4
    least = 2 if seconds < 5 else 5
    while time.perf_counter() - began < seconds or len(taken["plain"]) < least:
        for name, block in blocks.items():
            with block():
                training.step()
                training.step()
                wait()
                start = clock()
                for _ in range(steps):
                    training.step()
                wait()
                taken[name].append((clock() - start) / steps)
    return taken


def every_fifty(training: Training, folder: str, turns: int, every: int) -> tuple[float, float]:
    """Seconds of a step plain, and of ``every`` steps of which one is observed."""
    taken: dict[str, list[float]] = {"plain": [], "monitored": []}
    for turn in range(turns):
        for name in sorted(taken, reverse=bool(turn % 2)):  # a GPU that warms up slows the second
            block: Any = nullcontext()
            if name == "monitored":
                block = training.monitored(every=every, to=tempfile.mkdtemp(dir=folder))
            with block:
                training.step()
                wait()
                start = clock()
                for _ in range(every):  # the last is observed; step 0 was before
                    training.step()
                wait()
                taken[name].append((clock() - start) / every)
    return statistics.median(taken["plain"]), statistics.median(taken["monitored"])


def memory(training: Training, folder: str) -> dict[str, float]:
    """Megabytes at the peak of a step beyond the plain one's."""
    if not ON_GPU:
        return {}
    peaks = {}
    for name, block in kinds(training, folder).items():
        try:
            with block():
                training.step()
                wait()
                torch.cuda.reset_peak_memory_stats()
                for _ in range(3):
                    training.step()
                wait()
                peaks[name] = torch.cuda.max_memory_allocated() / 1e6
        except Exception as error:
            say(f"memory of {name} failed: {error!r:.200}")
    return {name: round(peak - peaks["plain"], 1) for name, peak in peaks.items()}


def same_bits(training: Training, folder: str, repeats: int) -> dict[str, Any]:
    """Which of loss and gradients differ from a plain step, with each monitor and without one.

    Each is repeated: one equal pair of plain steps does not show that kernels are deterministic.
    """
    names = ["loss", *(name for name, _ in training.model.named_parameters())]

    def run(block: Any) -> list[torch.Tensor]:
        with block as monitor:
            for _ in range(1 if monitor is None else 2):  # the first forward is always observed
                training.optimizer.zero_grad(set_to_none=True)
                loss = training.step(update=False)
                if monitor is not None:
                    monitor.end_step()
        return [loss, *(x.grad.clone() for x in training.model.parameters())]

    torch.use_deterministic_algorithms(True)  # with warn_only cuDNN's backward is not
    plain, results = run(nullcontext()), {}
    for name, block in kinds(training, folder).items():
        if name == "watch around the forward":
            continue
        pairs = [zip(names, plain, run(block()), strict=True) for _ in range(repeats)]
        differing = [[x for x, a, b in pair if not torch.equal(a, b)] for pair in pairs]
        results[name] = {
            "equal": sum(not found for found in differing),
            "of": repeats,
            "differing": sorted({x for found in differing for x in found}, key=names.index)[:5],
        }
    training.optimizer.zero_grad(set_to_none=True)
    torch.use_deterministic_algorithms(False)
    return results


@contextmanager
def stored(calls: list[Any]) -> Any:
    """Query and key of every attention, as the kernel gets them."""
    from regard.watcher.capture.events import attention_events

    with attention_events(lambda event: calls.append(event)):
        yield


def exactness(training: Training) -> dict[str, float]:
    """Largest errors of measures against float64, of some layers and heads; and of max_scores."""
    seen: list[Any] = []
    monitor = training.monitored(every=1, to=seen.append, threshold=THRESHOLD)
    calls: list[Any] = []
    with monitor:
        with stored(calls):
            training.step()
        largest = monitor.max_scores()
    health, errors = seen[0], {}
    for layer in sorted({0, LOUD_LAYERS[0], len(calls) - 1}):
        expected = reference(calls[layer])
        for name, numbers in expected.items():
            found = health.layer(name, layer)[: len(numbers)]
            error = np.abs(found - numbers) / np.maximum(1.0, np.abs(numbers))
            errors[name] = max(errors.get(name, 0.0), float(error.max()))
    for layer in LOUD_LAYERS:
        scores = reference(calls[layer])["score"]
        found = largest[f"model.layers.{layer}.self_attn"].double().cpu().numpy()[: len(scores)]
        assert (scores > THRESHOLD).all(), scores
        error = float((np.abs(found - scores) / np.abs(scores)).max())
        errors["max_scores"] = max(errors.get("max_scores", 0.0), error)
    return errors


def reference(event: Any, heads: int = 4) -> dict[str, np.ndarray]:
    """Measures of some heads from stored scores in float64, sentence by sentence."""
    query, key = event.query, event.key
    scale = query.shape[-1] ** -0.5 if event.scale is None else event.scale
    group, n = query.shape[1] // key.shape[1], query.shape[2]
    hidden = torch.ones(n, n, dtype=torch.bool, device=query.device).triu(1)
    visible = torch.arange(1, n + 1, device=query.device).double()
    rows: dict[str, list[list[torch.Tensor]]] = {}
    for head in range(heads):
        parts: dict[str, list[torch.Tensor]] = {}
        for sentence in range(query.shape[0]):
            scores = (
                query[sentence, head].double() @ key[sentence, head // group].double().T * scale
            )
            scores = scores.masked_fill_(hidden, -math.inf)
            total = scores.logsumexp(-1)
            weights = (scores - total[:, None]).exp()
            entropy = torch.special.entr(weights).sum(-1)
            facts = {
                "score": scores.amax(-1), "bound": total, "entropy": entropy,
                "min_entropy": entropy[1:], "entropy_share": entropy[1:] / visible[1:].log(),
                "largest_weight": weights.amax(-1), "first": weights[:, 0],
                "self": weights.diagonal(), "effective_keys": entropy.exp(),
                "query_norm": query[sentence, head].double().norm(dim=-1),
                "key_norm": key[sentence, head // group].double().norm(dim=-1),
                "output_norm": event.output[sentence, head].double().norm(dim=-1),
                "previous": torch.cat([weights.diagonal(-1), weights.new_zeros(1)]),
            }  # fmt: skip
            for name, numbers in facts.items():
                parts.setdefault(name, []).append(numbers)
        for name, numbers in parts.items():
            rows.setdefault(name, []).append(numbers)
    reduced: dict[str, np.ndarray] = {}
    for name, of_heads in rows.items():
        joined = torch.stack([torch.cat(x) for x in of_heads])
        by = {"score": joined.amax(1), "bound": joined.amax(1), "min_entropy": joined.amin(1)}
        reduced[name] = by.get(name, joined.mean(1)).cpu().numpy()
    return reduced


TILES = [
    {"BQ": 128, "BK": 128, "num_warps": 8, "num_stages": 2},
    {"BQ": 128, "BK": 128, "num_warps": 8, "num_stages": 3},
    {"BQ": 128, "BK": 64, "num_warps": 4, "num_stages": 3},
    {"BQ": 128, "BK": 64, "num_warps": 8, "num_stages": 3},
    {"BQ": 64, "BK": 128, "num_warps": 4, "num_stages": 3},
    {"BQ": 64, "BK": 64, "num_warps": 4, "num_stages": 3},
]


def kernels(sentences: int, tokens: int) -> dict[str, float]:
    """Device microseconds of the monitor's kernels with several tiles, beside SDPA's forward."""
    from regard.engine.gpu import health

    query, key, value = (
        torch.randn(sentences, tokens, heads, 128, device=DEVICE, dtype=torch.bfloat16)
        for heads in (16, 4, 4)
    )
    query, key, value = (x.transpose(1, 2) for x in (query, key, value))
    total = torch.full((sentences, 16, tokens), 20.0, device=DEVICE)
    bounds = {
        name: torch.full((16,), x, device=DEVICE) for name, x in (("below", 0.0), ("above", 9.0))
    }
    largest, default = torch.full((16,), -math.inf, device=DEVICE), health._blocks
    wide = [x.repeat_interleave(4, dim=1) for x in (key, value)]
    sdpa = torch.nn.functional.scaled_dot_product_attention
    taken = {"SDPA forward": device_time(lambda: sdpa(query, *wide, is_causal=True))}
    taken["largest log-sum-exp"] = device_time(lambda: total.amax(dim=(0, 2)))
    taken["norms of keys"] = device_time(
        lambda: torch.linalg.vector_norm(key, dim=-1, dtype=torch.float32)
    )
    for tile in TILES:
        health._blocks = lambda query, tile=tile: tile
        name = " ".join(str(x) for x in tile.values())
        try:
            taken[f"all sums, {name}"] = device_time(
                lambda: health.row_sums(query, key, total, scale=0.09, causal=True)
            )
            for at, bound in bounds.items():
                call = partial(health.join_largest, query, key, bound, largest)
                taken[f"largest score {at}, {name}"] = device_time(
                    partial(call, threshold=1.0, scale=0.09, causal=True)
                )
        except Exception as error:
            say(f"{name}: {error!r:.200}")
    health._blocks = default
    return {name: round(x, 1) for name, x in taken.items()}


def device_time(work: Callable[[], Any], number: int = 20) -> float:
    """Median microseconds by device events, after a warm-up."""
    for _ in range(3):
        work()
    marks = []
    for _ in range(number):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        marks.append((start, end))
    wait()
    return statistics.median(1e3 * start.elapsed_time(end) for start, end in marks)


def measure(sentences: int, tokens: int, quick: bool, seconds: float) -> dict[str, Any]:
    say(f"{sentences} x {tokens} tokens")
    training = Training(sentences, tokens, quick)
    with tempfile.TemporaryDirectory() as folder:
        training.step()
        repeats = 2 if quick else 5
        results: dict[str, Any] = {"same bits": same_bits(training, folder, repeats)}
        say(f"same bits: {results['same bits']}")
        results["errors"] = exactness(training)
        say(f"errors: {results['errors']}")
        taken = times(training, folder, seconds)
        medians = {name: statistics.median(values) for name, values in taken.items()}
        results["ms"] = {name: round(1e3 * x, 3) for name, x in medians.items()}
        results["x"] = {name: round(x / medians["plain"], 4) for name, x in medians.items()}
        say(f"x: {results['x']}")
        turns = 1 if quick else 6 if ON_GPU else 3
        plain, fifty = every_fifty(training, folder, turns, 5 if quick else 50)
        results["ms"]["plain beside every=50"] = round(1e3 * plain, 3)
        results["ms"]["every=50"] = round(1e3 * fifty, 3)
        results["x"]["every=50"] = round(fifty / plain, 4)
        results["memory MB"] = memory(training, folder)
        say(f"every=50: {results['x']['every=50']}; memory {results['memory MB']}")
    return results


def table(measured: dict[str, Any]) -> str:
    lines = ["| | to reach | " + " | ".join(measured) + " |", "|---|--:|" + "--:|" * len(measured)]
    names = list(next(iter(measured.values()))["x"])
    for name in names:
        limit = f"{TO_REACH[name]} x" if name in TO_REACH else ""
        cells = " | ".join(f"{x['x'].get(name, float('nan')):.3f} x" for x in measured.values())
        lines.append(f"| {name} | {limit} | {cells} |")
    for name in ("all facts on an observed step",):
        cells = " | ".join(
            f"{x['memory MB'].get(name, float('nan')):.0f} MB" for x in measured.values()
        )
        lines.append(f"| memory beyond the plain peak | 200 MB | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Measure every length, print the table, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small model, short: a smoke test")
    parser.add_argument("--seconds", type=float, default=30.0, help="minimum time of the turns")
    chosen = parser.parse_args()
    if not ON_GPU:
        torch.set_num_threads(1)
    shapes = [(8, 2048), (2, 8192)] if ON_GPU else [(4, 256), (2, 512)]
    if chosen.quick and not ON_GPU:
        shapes = [(2, 64)]
    seconds = 2.0 if chosen.quick else chosen.seconds
    figures: dict[str, Any] = {"machine": describe(), "torch": torch.__version__, "lengths": {}}
    if ON_GPU:
        figures["gpu"] = torch.cuda.get_device_name()
    name = "monitor_h200.json" if ON_GPU else "monitor.json"
    folder = Path(os.environ["OUT"]) / "benchmarks" / "results" if "OUT" in os.environ else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    for sentences, tokens in shapes:
        key = f"{sentences} x {tokens}"
        figures["lengths"][key] = measure(sentences, tokens, chosen.quick, seconds)
        if ON_GPU:
            torch.cuda.empty_cache()
            figures["lengths"][key]["kernels, microseconds"] = kernels(sentences, tokens)
            say(json.dumps(figures["lengths"][key]["kernels, microseconds"]))
            torch.cuda.empty_cache()
        if not chosen.quick:
            (folder / name).write_text(json.dumps(figures, indent=1) + "\n")
    print(table(figures["lengths"]))


if __name__ == "__main__":
    main()
