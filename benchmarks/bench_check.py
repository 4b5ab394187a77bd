"""Ask regard.check about the collections of code that others wrote, and print who passes.

    python benchmarks/bench_check.py first [--example] [--only NAME] [--jobs N] [--save]

Each collection has 30 right and 45 wrong implementations, and a corrected twin for every wrong one.
With ``--example`` each is asked with one call of its author's. ``--save`` writes every verdict to
``results/check_COLLECTION.json``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import os
import signal
import time
import warnings
from pathlib import Path

import numpy as np

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch

from regard.checker.check import check
from regard.checker.example import read_call

SAMPLES = Path(__file__).parents[1] / "tests" / "checker" / "samples"
RESULTS = Path(__file__).parent / "results"
SECONDS = 120  # of processor time
COLUMNS = ("right", "wrong", "not judged")


def ask(folder: Path, entry: dict[str, str], with_example: bool) -> dict[str, object]:
    """The verdict on one implementation, and its seconds of processor time."""
    spec = importlib.util.spec_from_file_location(entry["file"][:-3], folder / entry["file"])
    module = importlib.util.module_from_spec(spec)
    begin = time.process_time()
    signal.signal(signal.SIGPROF, lambda *_: (_ for _ in ()).throw(TimeoutError("too slow")))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        torch.manual_seed(0)
        spec.loader.exec_module(module)
        names = {"np": np, "torch": torch} | vars(module)
        if with_example:
            target, example = read_call(entry["example"], names)
            report = check(target, *example.arguments, **example.keywords)
        else:
            report = check(getattr(module, entry["name"]))
        verdict = ("right", "wrong", "not judged")[report.status]
        said = [*report.mistakes, *report.differences] or list(report.tried)[:2]
        detail = [f"{x.name}: {x.detail}" for x in report.failed][:3]
    except Exception as error:  # an exception that leaves check is no verdict
        verdict, said, detail = "not judged", [f"RAISED {type(error).__name__}: {error}"], []
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = round(time.process_time() - begin, 2)
    return {"verdict": verdict, "said": said, "detail": detail, "seconds": seconds}


def table(entries: list[dict[str, str]], answers: dict[str, dict[str, object]]) -> str:
    """Who got which verdict, as a table."""
    lines = ["| | right | wrong | not judged |", "|---|--:|--:|--:|"]
    for kind in ("right", "wrong", "twin"):
        verdicts = [answers[e["file"]]["verdict"] for e in entries if e["kind"] == kind]
        counts = " | ".join(str(verdicts.count(x)) for x in COLUMNS)
        lines.append(f"| {kind} ({len(verdicts)}) | {counts} |")
    accused = {e.get("of") or e["twin_of"] for e in entries if e["kind"] == "twin"
               and answers[e["file"]]["verdict"] == "wrong"}  # fmt: skip
    caught = [e for e in entries if e["kind"] == "wrong" and e["file"] not in accused
              and answers[e["file"]]["verdict"] == "wrong"]  # fmt: skip
    lines.append(f"\nwrong ones caught whose twin is not accused: {len(caught)}")
    lines.append(f"seconds of processor time: {sum(a['seconds'] for a in answers.values()):.0f}")
    return "\n".join(lines)


def main() -> None:
    """Ask a collection and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection")
    parser.add_argument("--example", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    folder = SAMPLES / options.collection
    entries = [e for e in json.loads((folder / "index.json").read_text())
               if options.only in e["file"]]  # fmt: skip
    answers = {}
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        asked = pool.starmap(ask, [(folder, x, options.example) for x in entries], chunksize=1)
    for entry, answer in zip(entries, asked, strict=True):
        answers[entry["file"]] = answer
        fine = answer["verdict"] == ("wrong" if entry["kind"] == "wrong" else "right")
        print(f"{'  ' if fine else '! '}{entry['kind']:6}{entry['file']:30}{answer['verdict']:11}"
              f"{answer['seconds']:6} {answer['said']} {answer['detail']}"[:400],
              flush=True)  # fmt: skip
    print(table(entries, answers))
    if options.save:
        name = f"check_{options.collection}{'_example' if options.example else ''}.json"
        kinds = {e["file"]: e["kind"] for e in entries}
        saved = {file: {"kind": kinds[file]} | a for file, a in answers.items()}
        (RESULTS / name).write_text(json.dumps(saved, indent=1) + "\n")


if __name__ == "__main__":
    main()
