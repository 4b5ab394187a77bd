"""Accuracy and speed on a GPU: observe against SDPA, eager attention and FlexAttention.

    python benchmarks/bench_gpu.py [--quick] [--to results.json]

bf16, causal, 16 heads of width 128; ratios of medians from one run, the calls taking turns.
"""

import argparse
import cProfile
import json
import pstats
import statistics
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from gpu_checks import (
    FACTS,
    TOP,
    errors,
    given_errors,
    inputs,
    million,
    near_inputs,
    other_errors,
    together_errors,
    twice,
)
from gpu_peers import eager, flex_twice, sdpa_forwards
from gpu_watch import watched, watched_forward
from machine import describe

import regard

START = time.perf_counter()


def main() -> None:
    """Run every section; a failure is recorded and the other sections still run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small sizes, short timings")
    parser.add_argument("--to", type=Path, default=Path(__file__).parent / "results" / "h200.json")
    parser.add_argument(
        "--only",
        default="",
        help="run only sections whose name contains one of these words; keep the others",
    )
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    if options.only and options.to.exists():  # keep the other sections
        figures = json.loads(options.to.read_text())
    figures["machine"] = describe() | _gpu()
    sizes = (8192,) if options.quick else (2048, 4096, 8192, 32768, 131072)
    sections: dict[str, Callable[[], Any]] = {
        "errors": lambda: errors(8192),
        "errors of facts from a log-sum-exp": given_errors,
        **{f"times at {n}": lambda n=n: times(n, options.quick) for n in sizes},
        "one call after a pause at 8192": lambda: times(8192, options.quick, alone=True),
        "microseconds of kernels": lambda: {
            str(n): kernels(n) for n in (8192, 32768)[: len(sizes)]
        },
        "host time of an observation": lambda: host_functions(one_observation(2048)),
        "memory at 8192": lambda: memory(8192),
    }
    if not options.quick:
        sections["a million tokens"] = lambda: million(2**20)
        sections["the same twice at 16384"] = lambda: twice(16384)
        sections["best keys that stand together at 8192"] = lambda: together(8192)
        sections["a watched model"] = watched
        sections["host time of a watched model"] = lambda: host_functions(watched_forward(2048))
        sections["errors of other calls"] = other_errors
        sections["flex attention at 32768"] = lambda: flex(32768)
        sections["errors at 131072, one head"] = lambda: errors(131072, heads=1)
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


def times(n: int, quick: bool, alone: bool = False) -> dict[str, Any]:
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
    taken = medians(calls, 0.0 if alone else 0.1 if quick else 0.4)
    fastest = min(t for name, t in taken.items() if name.startswith("SDPA"))
    return {name: {"ms": round(t, 4), "x": round(t / fastest, 3)} for name, t in taken.items()}


def medians(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Median milliseconds by device events, the calls taking turns; a call that fails is left out.

    In each of three turns every call runs for the same time, so that the GPU is equally warm for
    all of them: its clock depends on its power draw. With ``seconds=0``, one call after a pause.
    """
    for name, work in list(calls.items()):
        try:
            work()
            work()
        except Exception as error:
            print(f"  {name} failed: {error!r:.300}", flush=True)
            del calls[name]
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(3 if seconds else 15):
        for name, work in calls.items():
            torch.cuda.synchronize()
            time.sleep(0.0 if seconds else 0.05)
            taken[name] += _timed(work, _number(work, seconds) if seconds else 1)
    return {name: statistics.median(values) for name, values in taken.items()}


def _number(work: Callable[[], Any], seconds: float) -> int:
    """Number of calls that fill the time."""
    return min(1000, max(2, round(1e3 * seconds / min(_timed(work, 2)))))


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


def together(n: int) -> dict[str, Any]:
    """Milliseconds with top 8 and 16 where the top keys are adjacent, and where all are equal."""
    query, key, value = inputs(n)
    near, equal = near_inputs(n), (query, torch.zeros_like(key))
    calls = {
        f"{name}, top {top}": partial(regard.observe, *pair, value, **FACTS | {"top": top})
        for name, pair in (("apart", (query, key)), ("near", near), ("equal", equal))
        for top in (8, 16)
    }
    taken = {name: round(ms, 4) for name, ms in medians(calls, 0.1).items()}
    return {"ms": taken, "errors of best weights at 4000": together_errors(4000)}


def kernels(n: int) -> dict[str, float]:
    """Device microseconds of a call by kernel, from torch's profiler; under 2 are left out."""
    from torch.profiler import ProfilerActivity, profile

    query, key, value = inputs(n)

    def some(number: int) -> None:
        for _ in range(number):
            regard.observe(query, key, value, **FACTS | {"top": TOP})
        torch.cuda.synchronize()

    some(3)
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        some(10)
    events = [(event.key, event.self_device_time_total / 10) for event in seen.key_averages()]
    return {name[:40]: round(taken, 1) for name, taken in events if taken >= 2}


def one_observation(n: int) -> Callable[[], Any]:
    """A call of observe with the measures of the tables."""
    query, key, value = inputs(n)
    return lambda: regard.observe(query, key, value, **FACTS)


def host_functions(work: Callable[[], Any], number: int = 20) -> dict[str, Any]:
    """Host microseconds of one call, and of the functions that take most of it."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(number):
        work()
    alone = (time.perf_counter() - start) / number
    torch.cuda.synchronize()
    with cProfile.Profile() as profile:
        for _ in range(number):
            work()
    torch.cuda.synchronize()
    rows = pstats.Stats(profile).stats.items()
    spent = {f"{Path(at[0]).name}:{at[1]} {at[2]}": row[2] / number for at, row in rows}
    most = sorted(spent.items(), key=lambda pair: -pair[1])[:25]
    return {"all": round(1e6 * alone)} | {name: round(1e6 * taken, 1) for name, taken in most}


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


def flex(n: int) -> dict[str, Any]:
    """FlexAttention forward, then transposed with the log-sum-exp: only output and received."""
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
    taken = medians(calls, seconds=0.4)
    ratios = {x: {"ms": round(t, 4), "x": round(t / taken[fastest], 3)} for x, t in taken.items()}
    return ratios | {"largest difference in received": off}


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
