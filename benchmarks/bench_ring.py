"""One sequence over 1 and 2 processes of one core each: scaling and communication.

Run ``python benchmarks/bench_ring.py``; it writes results/ring.json. 8 heads of width 64 in
float32. One process is ``regard.observe`` on one core; two are ``regard.distributed.observe``.
CPU seconds are those of rank 0: what the run takes when nothing else uses the cores.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADS, WIDTH = 8, 64
ROWS = {"top": 8, "map": 0, "received": False, "profile": False}
FACTS = {
    "output": {**ROWS, "top": 0, "entropy": False},
    "rows": ROWS,
    "all": {"top": 8, "map": 256},
}
MAP = {"top": 0, "map": 256, "profile": False}  # the job of docs/scale.md
FIRST = {**ROWS, "top": 0}  # what its first pass computes
WEAK = 2**0.5  # attention's work grows with the square of the tokens
SENT = 2**24  # numbers, 64 MB: enough to measure bandwidth


def main() -> None:
    """Start both ranks, or be one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, once: a smoke test")
    parser.add_argument("--rank", type=int, help="(internal)")
    parser.add_argument("--port", type=int)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    if asked.rank is None:
        start(asked.quick)
    else:
        figures = Rank(asked.rank, asked.port, asked.quick).figures()
        if asked.rank == 0:
            asked.out.write_text(json.dumps(figures))


def start(quick: bool) -> None:
    """Start two processes, each pinned to one core, with one BLAS thread."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        raise SystemExit("bench_ring needs two cores; this process has one.")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "figures.json"
        asked = [sys.executable, __file__, "--port", str(port), "--out", str(out)]
        asked += ["--quick"] if quick else []
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        ranks = []
        for rank, core in enumerate(cores):
            held = ["taskset", "-c", str(core), *asked, "--rank", str(rank)]
            ranks.append(subprocess.Popen(held, env=environment))
        codes = [rank.wait() for rank in ranks]
        if any(codes):
            raise SystemExit("A rank failed; see above.")
        figures = json.loads(out.read_text())
    if quick:
        print(json.dumps(figures, indent=1))
    else:
        from machine import write

        print(write("ring", figures))


class Rank:
    """One of the two processes; both run the same program, rank 0 records the figures."""

    def __init__(self, rank: int, port: int, quick: bool) -> None:
        import torch.distributed as dist

        self.dist, self.rank = dist, rank
        self.tokens, self.rounds = (1024, 1) if quick else (8192, 3)
        dist.init_process_group(
            "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
        )

    def figures(self) -> dict[str, Any]:
        """All figures of results/ring.json."""
        facts = [("output", True), ("rows", True), ("all", True), ("all", False)]
        found = {
            "heads": HEADS,
            "width": WIDTH,
            "strong": [self.compare(self.tokens, self.tokens, *x) for x in facts],
            "weak": [self.compare(self.tokens, round(self.tokens * WEAK), *x) for x in facts],
            **self.around(),
        }
        self.dist.barrier()
        return found

    def compare(self, alone: int, together: int, facts: str, causal: bool) -> dict[str, Any]:
        """One process on ``alone`` tokens against two on ``together`` tokens."""
        import regard

        layout = "zigzag" if causal else "contiguous"
        whole = arrays(alone)
        own = [regard.distributed.cut(x, layout=layout) for x in arrays(together)]
        asked = {**FACTS[facts], "causal": causal}
        one, two = self.in_turns(
            lambda: regard.observe(*whole, **asked),
            lambda: regard.distributed.observe(*own, layout=layout, **asked),
        )
        return {
            "facts": facts,
            "causal": causal,
            "tokens": [alone, together],
            "one_seconds": one.seconds,
            "two_seconds": two.seconds,
            "times_faster": round(one.seconds / two.seconds, 3),
            "one_processor_seconds": one.processor_seconds,
            "two_processor_seconds": two.processor_seconds,
            "times_less_processor": round(one.processor_seconds / two.processor_seconds, 3),
            **traffic(two.result),
        }

    def around(self) -> dict[str, Any]:
        """The map of a sequence through the ring, even where it could be gathered."""
        from regard.engine.ring import passes

        before, passes.GATHERED_BYTES = passes.GATHERED_BYTES, -1
        alone, both = self.dist.new_group([0]), self.dist.group.WORLD
        sizes = self.tokens // 2, self.tokens, round(self.tokens * WEAK)
        runs = [(alone, sizes[0]), (alone, sizes[1]), *((both, tokens) for tokens in sizes)]
        points = [self.point(MAP, *run) for run in runs]
        first, tiny = self.point(FIRST, alone, self.tokens), self.point(FIRST, both, 4)
        passes.GATHERED_BYTES = before
        pairs = HEADS * self.tokens * (self.tokens + 1) / 2
        spent = [point["processor_seconds"] for point in (first, points[1])]
        costs = {
            "pass_one_seconds_a_pair": spent[0] / pairs,
            "pass_two_seconds_a_pair": (spent[1] - spent[0]) / pairs,
            "seconds_a_step": tiny["seconds"] / 2,
            "bytes_a_second": 4 * SENT / self.best(self.send).seconds,
        }
        return {"around_the_ring": points, "costs": costs}

    def point(self, facts: dict[str, Any], group: Any, tokens: int) -> dict[str, Any]:
        """One length on one rank or two, causal, zigzag."""
        import regard

        ranks = self.dist.get_world_size(group) if group is self.dist.group.WORLD else 1
        if self.rank >= ranks:
            self.best(dict, alone=True)
            return {"seconds": 1.0, "processor_seconds": 1.0}
        asked = {**facts, "causal": True, "layout": "zigzag", "group": group}
        own = [regard.distributed.cut(x, layout="zigzag", group=group) for x in arrays(tokens)]
        best = self.best(lambda: regard.distributed.observe(*own, **asked), ranks == 1)
        times = {"seconds": best.seconds, "processor_seconds": best.processor_seconds}
        return {"ranks": ranks, "tokens": tokens, **times, **traffic(best.result)}

    def send(self) -> None:
        """Send a large array to the other rank and receive one of the same size."""
        import numpy as np

        from regard.engine.ring.agreement import monitor_of
        from regard.engine.ring.transport import Transport

        transport = Transport(self.dist.group.WORLD, monitor_of(self.dist.group.WORLD, 60))
        other, array = 1 - self.rank, np.zeros(SENT, np.float32)
        transport.wait(transport.exchange([(other, array)], [(other, np.empty_like(array))]))

    def in_turns(self, one: Callable[[], Any], two: Callable[[], Any]) -> "tuple[Best, Best]":
        """The best time of each; they take turns, so that noise affects both alike."""
        alone, together = Best(), Best()
        for _ in range(self.rounds + 1):  # the first is a warm-up
            self.once(one, alone, alone=True)
            self.once(two, together)
        return alone, together

    def best(self, call: Callable[[], Any], alone: bool = False) -> "Best":
        """The best of several."""
        best = Best()
        for _ in range(self.rounds + 1):
            self.once(call, best, alone)
        return best

    def once(self, call: Callable[[], Any], best: "Best", alone: bool = False) -> None:
        """Run the call once on both ranks, starting together, or on rank 0 alone."""
        self.dist.barrier()
        if not (self.rank and alone):
            begin, busy = time.perf_counter(), time.process_time()
            found = call()
            best.take(time.perf_counter() - begin, time.process_time() - busy, found)


@dataclass
class Best:
    """The shortest wall time and CPU time; the latter is less disturbed by a busy machine."""

    seconds: float = float("inf")
    processor_seconds: float = float("inf")
    result: Any = None

    def take(self, seconds: float, processor_seconds: float, result: Any) -> None:
        """Record one more run."""
        if seconds < self.seconds:
            self.seconds, self.result = round(seconds, 6), result
        self.processor_seconds = round(min(self.processor_seconds, processor_seconds), 6)


def arrays(tokens: int) -> list[Any]:
    """Query, key and value, the same on both ranks."""
    import numpy as np

    random = np.random.default_rng(tokens)
    return [random.standard_normal((HEADS, tokens, WIDTH), dtype=np.float32) for _ in range(3)]


def traffic(seen: Any) -> dict[str, Any]:
    """Bytes and waiting time of the ring on rank 0."""
    found = seen.traffic
    return {
        "sent_bytes": found.sent_bytes,
        "waited_seconds": round(found.waited_seconds, 6),
        "waited_share": round(found.waited_seconds / found.seconds, 4),
        "plan": seen.cost.plan,
    }


if __name__ == "__main__":
    main()
