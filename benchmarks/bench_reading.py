"""Speed and memory of reading a sentence: the whole command, and translation against PyTorch.

    python benchmarks/bench_reading.py [--model FOLDER] [--rounds N]

Every peer runs in its own process, in turns, on all cores: with the machine's widest instructions,
with AVX2 only for all of them, and without native kernels. The best round counts; medians are saved
as well. Writes results/reading.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

from machine import instruction_sets, write

SENTENCE = "A dog ate the food because it was hungry"
MANY = 200
LIMITS = {
    "command_seconds": 1.0, "command_over_imports": 0.1, "command_megabytes": 130.0,
    "one_over_torch": 1.0, "many_over_torch": 0.4, "reading_milliseconds": 150.0,
}  # fmt: skip
Times = dict[str, list[float]]


def main() -> None:
    """Measure, compare with the limits, write the results."""
    options = _options()
    if options.peer:
        sys.stdout.write(json.dumps(PEERS[options.peer](options.model)))
        return
    sets = {}
    for name, environment in instruction_sets().items():
        times = _measure(options.model, options.rounds, {**_installed(), **environment})
        sets[name] = _result(times)
        sys.stderr.write(f"{name}: {sets[name]['figures']}\n")
    figures = next(iter(sets.values()))["figures"]
    met = {x: {name: one["met"][name] for name in LIMITS} for x, one in sets.items()}
    conditions = {"imports": _imports()[1], "sentences": MANY, "sets": sets}
    path = write("reading", {"figures": figures, "limits": LIMITS, "met": met, **conditions})
    sys.stdout.write(path.read_text())


def _measure(folder: Path | None, rounds: int, environment: dict[str, str]) -> Times:
    """Seconds of every peer in every round; megabytes of the command."""
    command, imports = _command(folder), _imports()[0]
    names = ("command", "megabytes", "imports", "one", "many", "reading", "torch one", "torch many")
    times: Times = {name: [] for name in names}
    for once in (command, imports):  # write the bytecode before timing
        _run(once, environment)
    for _ in range(rounds):
        seconds, megabytes = _run(command, environment)
        results = {"command": seconds, "megabytes": megabytes}
        results["imports"] = _run(imports, environment)[0]
        results |= _peer("regard", folder, environment)
        results |= {f"torch {x}": y for x, y in _peer("torch", folder, environment).items()}
        for name, result in results.items():
            times[name].append(result)
    return times


def _result(times: Times) -> dict[str, Any]:
    best = {name: min(x) for name, x in times.items()} | {"megabytes": max(times["megabytes"])}
    median = {name: statistics.median(x) for name, x in times.items()}
    figures = _figures(best)
    return {
        "figures": figures,
        "medians": _figures(median),
        "met": {name: figures[name] <= limit for name, limit in LIMITS.items()},
        "seconds": {name: round(x, 3) for name, x in best.items() if name != "megabytes"},
    }


def _figures(times: dict[str, float]) -> dict[str, float]:
    return {
        "command_seconds": round(times["command"], 3),
        "command_over_imports": round(times["command"] / times["imports"], 3),
        "one_over_torch": round(times["one"] / times["torch one"], 3),
        "many_over_torch": round(times["many"] / times["torch many"], 3),
        "reading_milliseconds": round(times["reading"] * 1000, 1),
        "command_megabytes": round(times["megabytes"], 1),
    }


def time_regard(folder: Path | None) -> dict[str, float]:
    """Seconds for one sentence, for many, and for one with its reading."""
    from regard.transformer import load_model, read, translate

    model = load_model(folder)
    return {
        "one": _best(lambda: translate(model, [SENTENCE]), 10),
        "many": _best(lambda: translate(model, _many()), 2),
        "reading": _best(lambda: read(SENTENCE, model=model), 10),
    }


def time_torch(folder: Path | None) -> dict[str, float]:
    """The same parameters, the same beams, in PyTorch."""
    from regard.transformer.checkpoint import SHIPPED, TOKENS, load_parameters
    from train.data import load_tokens
    from train.decoding import Translator
    from train.model import to_torch

    path = folder or SHIPPED
    config, parameters = load_parameters(path)
    translator = Translator((to_torch(parameters),), config, load_tokens(path / TOKENS))
    return {
        "one": _best(lambda: translator([SENTENCE]), 10),
        "many": _best(lambda: translator(_many()), 2),
    }


PEERS = {"regard": time_regard, "torch": time_torch}


def _many() -> list[str]:
    from judge.frames import contrasts

    return [item.sentence for pair in contrasts(MANY // 2) for item in pair.items]


def _best(call: Any, times: int) -> float:
    call()
    taken = []
    for _ in range(times):
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return min(taken)


def _peer(name: str, folder: Path | None, environment: dict[str, str]) -> dict[str, float]:
    extra = ["--model", str(folder)] if folder else []
    ended = subprocess.run(
        [sys.executable, __file__, "--peer", name, *extra],
        check=True, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    seconds: dict[str, float] = json.loads(ended.stdout)
    return seconds


def _command(folder: Path | None) -> list[str]:
    """The installed command, as a person runs it."""
    extra = ["--model", str(folder)] if folder else []
    return [str(Path(sys.executable).parent / "regard"), SENTENCE, *extra]


def _imports() -> tuple[list[str], str]:
    """The imports a torch user waits for before their own first line runs."""
    if importlib.util.find_spec("transformers"):
        return [sys.executable, "-c", "import torch, transformers"], "torch, transformers"
    return [sys.executable, "-c", "import torch"], "torch alone: transformers is not installed"


def _run(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Wall seconds and peak megabytes of a fresh process."""
    before = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - before
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with status {process.returncode}.")
    return seconds, usage.ru_maxrss / 1024


@cache
def _installed() -> dict[str, str]:
    """An environment in which bytecode is cached, as an installer leaves it."""
    others = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**others, "PYTHONPYCACHEPREFIX": tempfile.mkdtemp(prefix="regard-bytecode-")}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", type=Path, help="default: the shipped model")
    parser.add_argument("--rounds", type=int, default=3, help="rounds; the peers take turns")
    parser.add_argument("--peer", choices=sorted(PEERS), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
