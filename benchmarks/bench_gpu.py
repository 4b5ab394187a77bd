"""A GPU, checked and timed in one run: observe against SDPA, eager attention and FlexAttention.

    python benchmarks/bench_gpu.py [--quick] [--to results.json]

bf16, causal, 16 heads of width 128; ratios are of medians taken in turns in this run.
"""

import argparse
import json
import math
import statistics
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from gpu_peers import eager, flex_twice, sdpa_forwards
from machine import describe

import regard
from regard.self_attention.backends.device.call import call
from regard.self_attention.backends.device.chunks import find_in_chunks
from regard.self_attention.backends.device.observe import NOTHING, observation
from regard.self_attention.tiles.rows import Wanted

HEADS, WIDTH, MAP, TOP = 16, 128, 512, 8
FACTS = {"top": 0, "map": MAP, "profile": False, "causal": True}
START = time.perf_counter()


def main() -> None:
    """Every section on its own: one that fails is noted, and the others still run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small sizes, short timings")
    parser.add_argument("--to", type=Path, default=Path(__file__).parent / "results" / "h200.json")
    parser.add_argument("--only", default="", help="words; only sections with one in their name")
    options = parser.parse_args()
    figures: dict[str, Any] = {"machine": describe() | _gpu()}
    sizes = (8192,) if options.quick else (8192, 32768, 131072)
    sections: dict[str, Callable[[], Any]] = {
        "errors": lambda: errors(8192),
        **{f"times at {n}": lambda n=n: times(n, options.quick) for n in sizes},
        "memory at 8192": lambda: memory(8192),
    }
    if not options.quick:
        sections["a million tokens"] = lambda: million(2**20)
        sections["flex attention at 32768"] = lambda: flex(32768)
        sections["errors of other calls"] = other_errors
    words = options.only.split(",")
    for name, section in sections.items():
        if not any(word in name for word in words):
            continue
        figures[name] = _attempt(section)
        seconds = time.perf_counter() - START
        print(f"[{seconds:5.0f} s] {name}: {json.dumps(figures[name])}", flush=True)
        options.to.write_text(json.dumps(figures, indent=1) + "\n")


def _attempt(section: Callable[[], Any]) -> Any:
    try:
        return section()
    except Exception as error:
        traceback.print_exc(limit=6)
        return {"failed": f"{type(error).__name__}: {error}"[:500]}
    finally:
        torch.cuda.empty_cache()


def _gpu() -> dict[str, Any]:
    import triton

    return {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
            "triton": triton.__version__, "cudnn": torch.backends.cudnn.version()}  # fmt: skip


def inputs(n: int, heads: int = HEADS, width: int = WIDTH, dtype: Any = torch.bfloat16) -> Any:
    """Query, key and value, fresh numbers each time."""
    return tuple(
        torch.randn(1, heads, n, width, device="cuda", dtype=torch.float32).to(dtype)
        for _ in range(3)
    )


def errors(n: int) -> dict[str, float]:
    """Largest relative error of each statistic, of 2 heads against float64 on the same numbers."""
    query, key, value = inputs(n, heads=2)
    seen = regard.observe(query, key, value, **FACTS | {"top": TOP, "profile": True})
    found = _compare(seen, _reference(query, key, value, {"causal": True}, TOP, MAP))
    sums = torch.as_tensor(seen.received, dtype=torch.float64).sum(dim=-1)
    return found | {"received sums to n within": float((sums / n - 1).abs().max())}


def other_errors() -> dict[str, Any]:
    """The same for calls that take other paths."""
    bf16 = torch.bfloat16
    cases: dict[str, Any] = {
        "n = 5,000": (bf16, (1, 4, 2, 5000, 128), {"causal": True}),
        "not causal, width 64": (bf16, (1, 2, 2, 2048, 64), {}),
        "map of 8 blocks": (bf16, (1, 2, 2, 8192, 128), {"causal": True}),
        "window, grouped heads": (bf16, (2, 4, 2, 1000, 64), {"window": (99, 0)}),
        "softcap, float16": (torch.float16, (1, 2, 2, 900, 128), {"causal": True, "softcap": 30.0}),
        "lengths, float32": (torch.float32, (3, 2, 2, 300, 80), {"lengths": [300, 0, 77]}),
    }
    found = {}
    for name, (dtype, (b, h, g, n, d), arguments) in cases.items():
        query, key, value = (torch.randn(b, x, n, d, device="cuda").to(dtype) for x in (h, g, g))
        side = 8 if "map" in name else 100
        seen = regard.observe(query, key, value, top=16, map=side, **arguments)
        errors = _compare(seen, _reference(query, key, value, arguments, 16, side))
        found[name] = max(errors.values())
        print(f"  {name}: {errors}", flush=True)
    return found


def _reference(query: Any, key: Any, value: Any, arguments: Any, top: int, map: int) -> Any:
    here = call(query.double(), key.double(), value.double(), NOTHING | arguments)
    wanted = Wanted(True, True, top, map, True, True)
    return observation(here, wanted, find_in_chunks(here, wanted), "chunks", None)


def _compare(seen: Any, exact: Any) -> dict[str, float]:
    """Relative to the exact number, or to a thousandth of the mean where that is larger."""
    pairs = {x: (getattr(seen, x), getattr(exact, x)) for x in ("entropy", "received", "map")}
    pairs["best weights"] = seen.top().weights, exact.top().weights
    pairs["weights by distance"] = seen.profile.weight, exact.profile.weight
    found = {}
    for name, (x, y) in pairs.items():
        a, b = torch.as_tensor(x).double(), torch.as_tensor(y).double()
        found[name] = float(((a - b).abs() / b.abs().clamp(min=1e-3 * float(b.abs().mean()))).max())
    return found


def times(n: int, quick: bool) -> dict[str, Any]:
    """Milliseconds and ratios to the fastest SDPA forward."""
    query, key, value = inputs(n)
    calls: dict[str, Callable[[], Any]] = dict(sdpa_forwards(query, key, value))

    def seen(**facts: Any) -> Callable[[], Any]:
        return lambda: regard.observe(query, key, value, **facts)

    calls["regard: attention"] = lambda: regard.attention(query, key, value, causal=True)
    calls["regard: output, entropy, received, map 512"] = seen(**FACTS)
    calls["the same and top 8"] = seen(**FACTS | {"top": TOP})
    if n <= 32768:
        calls["regard: everything (top 16, map 256, profile)"] = seen(causal=True)
    if n == 8192:
        calls["eager with weights"] = lambda: eager(query, key, value)
    taken = medians(calls, seconds=1.0 if quick else 2.0)
    fastest = min(t for name, t in taken.items() if name.startswith("SDPA"))
    return {name: {"ms": round(t, 4), "x": round(t / fastest, 3)} for name, t in taken.items()}


def medians(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Median milliseconds by device events, calls taken in turns; what fails is left out."""
    for name, work in list(calls.items()):
        try:
            work()
            work()
        except Exception as error:
            print(f"  {name} failed: {error!r:.300}", flush=True)
            del calls[name]
    torch.cuda.synchronize()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or len(next(iter(taken.values()))) < 3:
        for name, work in calls.items():
            taken[name] += _block(work)
    return {name: statistics.median(values) for name, values in taken.items()}


def _block(work: Callable[[], Any]) -> list[float]:
    """One call, and if it is short several in a row, so that launches run ahead of the device."""
    first = _timed(work, 1)
    return first if first[0] > 50 else _timed(work, 8)


def _timed(work: Callable[[], Any], number: int) -> list[float]:
    marks = []
    for _ in range(number):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        kept = work()
        end.record()
        del kept
        marks.append((start, end))
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in marks]


def memory(n: int) -> dict[str, Any]:
    """Peak megabytes beyond inputs and outputs."""
    query, key, value = inputs(n)
    output_bytes = query.numel() * query.element_size()

    def peak(work: Callable[[], Any]) -> float:
        work()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        kept = work()
        torch.cuda.synchronize()
        used = torch.cuda.max_memory_allocated() - before
        del kept
        return (used - output_bytes) / 1e6

    ours = peak(lambda: regard.observe(query, key, value, **FACTS))
    with_top = peak(lambda: regard.observe(query, key, value, **FACTS | {"top": TOP}))
    whole = peak(lambda: eager(query, key, value))
    return {"regard MB": ours, "with top 8 MB": with_top, "eager MB": whole,
            "share of eager": ours / whole}  # fmt: skip


def million(n: int) -> dict[str, Any]:
    """One call over this many tokens, with the map."""
    query, key, value = inputs(n)
    start = time.perf_counter()
    seen = regard.observe(query, key, value, **FACTS)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    sums = torch.as_tensor(seen.received, dtype=torch.float64).sum(dim=-1)
    rows = torch.as_tensor(seen.map, dtype=torch.float64).sum(dim=-1)
    return {"tokens": n, "seconds": seconds, "peak GB": torch.cuda.max_memory_allocated() / 1e9,
            "received sums to n within": float((sums / n - 1).abs().max()),
            "map rows sum to 1 within": float((rows - 1).abs().max()),
            "entropy of the last query": float(seen.entropy[0, 0, -1]),
            "of log n": math.log(n)}  # fmt: skip


def flex(n: int) -> dict[str, Any]:
    """FlexAttention forward, then transposed with the log-sum-exp: output and received only."""
    query, key, value = inputs(n)
    peer = flex_twice(query, key, value)
    fewer = FACTS | {"map": 0, "entropy": False}
    received = torch.as_tensor(regard.observe(query, key, value, **fewer).received)
    off = float((received - peer()[1].float().cpu()).abs().max())
    fastest = "SDPA cuDNN"
    calls = {
        fastest: sdpa_forwards(query, key, value)[fastest],
        "flex twice": peer,
        "regard: output, received": lambda: regard.observe(query, key, value, **fewer),
    }
    taken = medians(calls, seconds=2.0)
    ratios = {x: {"ms": round(t, 4), "x": round(t / taken[fastest], 3)} for x, t in taken.items()}
    return ratios | {"largest difference in received": off}


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
