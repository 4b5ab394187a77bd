"""A survey of sentences: Ray against processes, one core against eager attention, memory.

    python benchmarks/bench_survey.py [--documents 20000] [--quick]

The shipped model reads the sentences of survey_text.py. Writes results/survey.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from machine import write
from survey_text import sentences

LIMITS = {"ray_over_local": 0.85, "survey_over_eager": 2.0, "memory_growth": 1.1}


def main() -> None:
    """Measure, compare with the limits, write the results."""
    options = _options()
    if options.run:
        sys.stdout.write(json.dumps(RUNS[options.run](options)))
        return
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "sentences.txt"
        corpus.write_text("\n".join(sentences(options.documents)), encoding="utf-8")
        engines = {
            name: _apart(name, corpus, options.documents)
            for _ in range(options.rounds)
            for name in ("local", "ray")
        }
        memory = [_apart("local", corpus, options.documents // 4), engines["local"]]
        cores = _apart("eager", corpus, options.compared)
    figures = _figures(engines, memory, cores)
    met = {
        "ray_over_local": figures["ray_over_local"] >= LIMITS["ray_over_local"],
        "survey_over_eager": figures["survey_over_eager"] >= LIMITS["survey_over_eager"],
        "memory_growth": figures["memory_growth"] <= LIMITS["memory_growth"],
    }
    held = {"documents": options.documents, "engines": engines, "one_core": cores}
    held["scale"] = _scale(engines["local"], cores)
    told = {"figures": figures, "limits": LIMITS, "met": met, **held}
    sys.stdout.write(
        json.dumps(told, indent=1) if options.quick else write("survey", told).read_text()
    )


def _figures(
    engines: dict[str, Any], memory: Sequence[dict[str, Any]], cores: dict[str, Any]
) -> dict[str, Any]:
    """The published ratios; rates with and without the start-up of processes."""
    local, ray = engines["local"], engines["ray"]
    over = {x: round(cores["survey"] / rate, 2) for x, rate in cores.items() if "eager" in x}
    return {
        "ray_over_local": round(ray["rate"] / local["rate"], 3),
        "ray_over_local_with_start": round(local["seconds"] / ray["seconds"], 3),
        "local_documents_per_second": round(local["rate"], 1),
        "ray_documents_per_second": round(ray["rate"], 1),
        "memory_megabytes": [round(one["megabytes"], 1) for one in memory],
        "memory_growth": round(memory[1]["megabytes"] / memory[0]["megabytes"], 3),
        "survey_over_eager": over["eager, batches of 32"],
        "survey_over_eager_sorted": over["eager, sorted, batches of 32"],
        "survey_over_eager_one_by_one": over["eager, one by one"],
    }


def _scale(local: dict[str, Any], cores: dict[str, Any]) -> dict[str, float]:
    """The figures that tools/scale.py uses."""
    driver = local["driver"]
    return {
        "documents_a_second": cores["worker"],
        "driver_documents_a_second": 1 / (driver["read"] + driver["write"]),
        "merged_documents_a_second": 1 / driver["merge"],
        "document_bytes": driver["text_bytes"],
        "result_bytes": driver["bytes"],
    }


def driver_costs(out: Path, corpus: Path) -> dict[str, float]:
    """What one driver spends on a document, whoever does the work: seconds of each part."""
    from regard.corpus.batches import Sampling
    from regard.corpus.models import ModelSpec
    from regard.corpus.readers import documents, find_sources
    from regard.corpus.shards import DOCUMENTS, HEADS, SUMS, Shard, Shards
    from regard.corpus.totals import Totals, total
    from regard.engine.profile import bands_within

    held, times = Shards(out), {}
    parts = sorted(held.finished())
    before = time.perf_counter()
    every = Sampling().batches(documents(find_sources([corpus])))
    number = sum(len(batch.documents) for batch in every)
    times["read"] = (time.perf_counter() - before) / number
    kinds = (SUMS, DOCUMENTS, HEADS)
    shards = [
        Shard(x, 0, 0, {kind: held.path(kind, x).read_bytes() for kind in kinds}) for x in parts
    ]
    surveyed = json.loads((out / "report.json").read_text())["corpus"]["documents"]
    with tempfile.TemporaryDirectory() as folder:
        again, before = Shards(Path(folder)), time.perf_counter()
        for shard in shards:
            again.write(shard)
        times["write"] = (time.perf_counter() - before) / surveyed
    size = sum(len(content) for shard in shards for content in shard.files.values())
    observer, before = ModelSpec().observer(), time.perf_counter()
    bands = bands_within(observer.window)
    total(held, parts, Totals(len(observer.heads), bands.stop - bands.start, observer.window))
    times["merge"] = (time.perf_counter() - before) / surveyed
    return {**times, "bytes": size / surveyed, "text_bytes": corpus.stat().st_size / number}


def run_engine(options: argparse.Namespace) -> dict[str, Any]:
    """Run a survey with one engine and two workers, in this process and its children."""
    import regard

    seen: list[tuple[float, int]] = []

    def told(now: Any) -> None:
        seen.append((time.perf_counter(), now.done))

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        regard.survey(
            options.corpus, out=Path(folder) / "out", workers=2, engine=options.run,
            limit=options.documents, progress=told,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        driver = driver_costs(Path(folder) / "out", options.corpus)
    # The first batches include the start-up of the workers.
    (from_time, from_done), (to_time, to_done) = seen[min(4, len(seen) - 2)], seen[-1]
    return {
        "rate": (to_done - from_done) / (to_time - from_time),
        "seconds": seconds,
        "megabytes": max(own, children) / 1024,
        "own_megabytes": own / 1024,
        "driver": driver,
    }


def run_eager(options: argparse.Namespace) -> dict[str, float]:
    """Documents per second on one core: a survey and the same by eager attention, in turns."""
    import numpy as np
    import torch
    from survey_peer import eager_statistics, pegasus

    from regard.corpus.batches import BatchJob, Sampling
    from regard.corpus.models import EncoderObserver, ModelSpec
    from regard.corpus.readers import documents, find_sources
    from regard.corpus.shards import pack
    from regard.engine.profile import bands_within

    torch.set_num_threads(1)
    spec = ModelSpec()
    observer = spec.observer()
    assert isinstance(observer, EncoderObserver)
    chosen = Sampling(limit=options.documents, batch=256)
    batches = list(chosen.batches(documents(find_sources([options.corpus]))))
    encoder, bands, work = pegasus(observer.model), bands_within(observer.window), BatchJob(spec)

    def texts() -> list[tuple[int, ...]]:
        """Tokenize; every peer is timed with it."""
        every = (x for batch in batches for x in batch.documents)
        return [window.tokens for x in every for window in observer.windows(x.text)]

    sums = observer.observe([w for x in batches[0].documents for w in observer.windows(x.text)])
    same = eager_statistics(encoder, texts()[: len(batches[0].documents)], 32, bands)
    apart = np.abs(np.moveaxis(sums.sums_mwh, 0, -1) - same["sums"]).max()
    calls: dict[str, Callable[[], object]] = {
        "survey": lambda: [work(batch) for batch in batches],
        "worker": lambda: [pack(work(batch)) for batch in batches],  # including its Parquet files
        "eager, batches of 32": lambda: eager_statistics(encoder, texts(), 32, bands),
        "eager, sorted, batches of 32": lambda: eager_statistics(
            encoder, sorted(texts(), key=len), 32, bands
        ),
        "eager, one by one": lambda: eager_statistics(encoder, texts(), 1, bands),
    }
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(options.rounds):
        for name, call in calls.items():
            before = time.process_time()  # one thread; excludes other processes' CPU time
            call()
            best[name] = min(best[name], time.process_time() - before)
    rates = {name: options.documents / seconds for name, seconds in best.items()}
    return {**rates, "largest difference of a sum over queries": float(apart)}


RUNS = {"local": run_engine, "ray": run_engine, "eager": run_eager}


def _apart(run: str, corpus: Path, documents: int) -> dict[str, Any]:
    """Run in a fresh process; on one core and one thread where one core is measured."""
    command = [sys.executable, __file__, "--run", run, "--corpus", str(corpus),
               "--documents", str(documents)]  # fmt: skip
    environment = dict(os.environ)
    if run == "eager":
        core = str(min(os.sched_getaffinity(0)))
        command = ["taskset", "-c", core, *command]
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    said = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout
    found: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
    sys.stderr.write(f"{run}, {documents:,} documents: {found}\n")
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--compared", type=int, default=2_000, help="documents for eager attention")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="2,000 documents, once: a smoke test")
    parser.add_argument("--run", choices=("local", "ray", "eager"), help=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.quick:
        options.documents, options.compared, options.rounds = 2_000, 512, 1
    return options


if __name__ == "__main__":
    main()
