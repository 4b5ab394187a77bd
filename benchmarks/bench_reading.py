"""Speed and memory of reading a sentence: the whole command, and translation against PyTorch.

    python benchmarks/bench_reading.py [--model FOLDER]

Every peer runs in a process of its own, in turns, on all cores; the best of the rounds counts.
Writes results/reading.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from machine import write

SENTENCE = "A dog ate the food because it was hungry"
MANY = 200
LIMITS = {
    "command_seconds": 1.0, "command_over_imports": 0.2, "one_over_torch": 1.0,
    "many_over_torch": 1.0, "command_megabytes": 400.0,
}  # fmt: skip


def main() -> None:
    """Measure in turns, compare with the limits, write."""
    options = _options()
    if options.peer:
        sys.stdout.write(json.dumps(PEERS[options.peer](options.model)))
        return
    command = _command(options.model)
    imports, imported = _imports()
    times: dict[str, list[float]] = {"command": [], "imports": [], "one": [], "many": []}
    times |= {"torch one": [], "torch many": []}
    megabytes = 0.0
    for once in (command, imports):  # writes the bytecode
        _run(once)
    for _ in range(options.rounds):
        seconds, memory = _run(command)
        times["command"].append(seconds)
        megabytes = max(megabytes, memory)
        times["imports"].append(_run(imports)[0])
        for peer, prefix in (("regard", ""), ("torch", "torch ")):
            one, many = _peer(peer, options.model)
            times[f"{prefix}one"].append(one)
            times[f"{prefix}many"].append(many)
    best = {name: min(taken) for name, taken in times.items()}
    figures = _figures(best, megabytes)
    met = {name: figures[name] <= limit for name, limit in LIMITS.items()}
    seconds = {name: round(taken, 3) for name, taken in best.items()}
    conditions = {"imports": imported, "sentences": MANY, "seconds": seconds}
    path = write("reading", {"figures": figures, "limits": LIMITS, "met": met, **conditions})
    sys.stdout.write(path.read_text())


def _figures(best: dict[str, float], megabytes: float) -> dict[str, float]:
    return {
        "command_seconds": round(best["command"], 3),
        "command_over_imports": round(best["command"] / best["imports"], 3),
        "one_over_torch": round(best["one"] / best["torch one"], 3),
        "many_over_torch": round(best["many"] / best["torch many"], 3),
        "command_megabytes": round(megabytes, 1),
    }


def time_regard(folder: Path | None) -> list[float]:
    """Seconds for one sentence and for many, in NumPy."""
    from regard.transformer import load_model, translate

    model = load_model(folder)
    return [
        _best(lambda: translate(model, [SENTENCE]), 10),
        _best(lambda: translate(model, _many()), 2),
    ]


def time_torch(folder: Path | None) -> list[float]:
    """The same parameters, the same beams, in PyTorch."""
    from regard.transformer.checkpoint import SHIPPED, TOKENS, load_parameters
    from regard.transformer.train.subwords import load_tokens
    from regard.transformer.train.torch_decoding import Translator
    from regard.transformer.train.torch_model import to_torch

    place = folder or SHIPPED
    config, parameters = load_parameters(place)
    translator = Translator((to_torch(parameters),), config, load_tokens(place / TOKENS))
    return [_best(lambda: translator([SENTENCE]), 10), _best(lambda: translator(_many()), 2)]


PEERS = {"regard": time_regard, "torch": time_torch}


def _many() -> list[str]:
    from regard.transformer.contrast_frames import contrasts

    return [item.sentence for pair in contrasts(MANY // 2) for item in pair.items]


def _best(call: Any, times: int) -> float:
    call()
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return min(taken)


def _peer(name: str, folder: Path | None) -> tuple[float, float]:
    extra = ["--model", str(folder)] if folder else []
    told = subprocess.run(
        [sys.executable, __file__, "--peer", name, *extra],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    one, many = json.loads(told.stdout)
    return one, many


def _command(folder: Path | None) -> list[str]:
    """The installed command, as a person runs it."""
    extra = ["--model", str(folder)] if folder else []
    return [str(Path(sys.executable).parent / "regard"), SENTENCE, *extra]


def _imports() -> tuple[list[str], str]:
    """What a torch user waits for before the first line of their own runs."""
    if importlib.util.find_spec("transformers"):
        return [sys.executable, "-c", "import torch, transformers"], "torch, transformers"
    return [sys.executable, "-c", "import torch"], "torch alone: transformers is not installed"


def _run(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak megabytes of a fresh process."""
    before = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=_installed())
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with status {process.returncode}.")
    return seconds, usage.ru_maxrss / 1024


@cache
def _installed() -> dict[str, str]:
    """An environment in which bytecode is kept, as an installer leaves it."""
    kept = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": tempfile.mkdtemp(prefix="regard-bytecode-")}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", type=Path, help="the shipped model unless given")
    parser.add_argument("--rounds", type=int, default=3, help="rounds that the peers take turns in")
    parser.add_argument("--peer", choices=sorted(PEERS), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
