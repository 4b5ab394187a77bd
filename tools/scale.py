"""Estimate the cost of a large survey and of a map of one long sequence, from measured figures.

    python tools/scale.py                                  # print the tables of docs/scale.md
    python tools/scale.py --write                          # write them into docs/scale.md
    python tools/scale.py --figures mine.json              # with your own figures

Figures come from benchmarks/results/ (ring.json, survey.json, h200.json) and from the assumptions
at the top of this file. ``mine.json`` overrides any of them, by the field names of scale_model.py:
{"core": {"bytes_a_second": 2.5e9}, "gpu": {"heads": 32}, "survey": {"documents_a_second": 300}}.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from scale_model import Rank, Survey, fewest_tokens, ring

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "scale.md"
LONG, MANY, CORES = 100_000_000, 1_000_000_000, 64  # tokens, documents, cores per machine

# Where the figures come from.

H200 = {  # bf16, causal, width 128; h200.json overrides the first two if it has them
    "pass_one_seconds_a_pair": 4 * 128 / 580e12,
    "pass_two_seconds_a_pair": 4 * 128 / 580e12,
    "bytes_a_second": 50e9,  # assumed: one 400 Gb/s link per GPU
    "seconds_a_step": 2e-3,  # assumed: as measured between processes on one machine
    "heads": 16,
    "key_heads": 16,
    "width": 128,
    "value_width": 128,
    "number_bytes": 2,
    "memory_bytes": 141e9,
}


def results(name: str) -> dict[str, Any]:
    """Contents of a results file; empty if it does not exist."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def measured_core(own: dict[str, Any]) -> Rank:
    """A rank of one core of the benchmark machine."""
    figures = results("ring")
    sizes = {"heads": figures["heads"], "key_heads": figures["heads"]}
    sizes |= {"width": figures["width"], "value_width": figures["width"]}
    return made_of(Rank, figures["costs"] | sizes | own.get("core", {}))


def measured_gpu(own: dict[str, Any]) -> Rank:
    """A rank of one H200: kernels measured, link to the next rank assumed."""
    return made_of(Rank, H200 | results("h200").get("scale", {}) | own.get("gpu", {}))


def measured_survey(own: dict[str, Any]) -> Survey | None:
    """One worker of the survey benchmark; None if it has not been run."""
    found, mine = results("survey"), own.get("survey", {})
    if not found and "documents_a_second" not in mine:
        return None
    return made_of(Survey, found.get("scale", {}) | mine)


def made_of(kind: type, figures: dict[str, Any]) -> Any:
    """Build a Rank or Survey from named figures; exits on an unknown name."""
    names = [field.name for field in fields(kind)]
    unknown = sorted(figures.keys() - set(names))
    if unknown:
        raise SystemExit(f"no figure is called {unknown[0]!r}; there are: {', '.join(names)}.")
    return kind(**figures)


# The tables.


def ring_table(rank: Rank, tokens: float, ranks: Sequence[int], name: str) -> str:
    """Cost of one causal map, all heads of a layer, by number of ranks."""
    lines = [
        f"| {name} | total | compute | send (overlapped) | step latency | sent per rank "
        "| memory per rank |",
        "|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for number in ranks:
        cost = ring(tokens, number, rank)
        times = (cost.seconds, cost.compute_seconds, cost.send_seconds, cost.step_seconds)
        sizes = (cost.sent_bytes, cost.held_bytes)
        cells = [f"{number:,}", *map(said, times), *map(sized, sizes)]
        cells[-1] += " (does not fit)" if cost.held_bytes > rank.memory_bytes else ""
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def survey_table(figures: Survey, documents: float, machines: Sequence[int], cores: int) -> str:
    """Cost of surveying a corpus, by number of machines."""
    titles = f"| {cores}-core machines | total | of which report | documents/s |"
    lines, report = [titles, "|--:|--:|--:|--:|"], documents / figures.merged_documents_a_second
    for number in machines:
        spent = figures.seconds(documents, number, cores)
        lines.append(f"| {number:,} | {said(spent)} | {said(report)} | {documents / spent:,.0f} |")
    lines += ["", f"The driver saturates at {figures.most_machines(cores):,.0f} such machines; "
              f"{sized(documents * figures.result_bytes)} of results."]  # fmt: skip
    return "\n".join(lines)


def survey_checked(figures: Survey) -> str:
    """Measured runs of two workers on one machine against predictions from one core."""
    found = results("survey")
    lines = ["| engine | documents | measured | predicted | ratio |", "|---|--:|--:|--:|--:|"]
    for engine, run in found["engines"].items():
        guess = figures.seconds(found["documents"], 1, 2)
        cells = (engine, f"{found['documents']:,}", said(run["seconds"]), said(guess))
        lines.append(f"| {' | '.join(cells)} | {run['seconds'] / guess:.2f} |")
    return "\n".join(lines)


def said(seconds: float) -> str:
    """Format a time in a suitable unit.

    >>> said(3e-12), said(0.5), said(90), said(1e6)
    ('3 ps', '500 ms', '1.5 min', '11.6 days')
    """
    units = {"years": 365 * 86_400, "days": 86_400, "h": 3600, "min": 60, "s": 1, "ms": 1e-3,
             "us": 1e-6, "ns": 1e-9}  # fmt: skip
    unit, size = next(((x, n) for x, n in units.items() if seconds >= n), ("ps", 1e-12))
    return f"{seconds / size:,.3g} {unit}"


def sized(number: float) -> str:
    """Format bytes in a suitable unit."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:,.3g} {unit}"
    return f"{number / 1e3:.3g} kB"


def check_table() -> str:
    """Measured points against predictions."""
    core = measured_core({})
    lines = [
        "| ranks | tokens | measured | CPU time | predicted | CPU / predicted |",
        "|--:|--:|--:|--:|--:|--:|",
    ]
    for point in results("ring")["around_the_ring"]:
        guess = ring(point["tokens"], point["ranks"], core).seconds
        times = (point["seconds"], point["processor_seconds"], guess)
        cells = (f"{point['ranks']}", f"{point['tokens']:,}", *map(said, times))
        lines.append(f"| {' | '.join(cells)} | {point['processor_seconds'] / guess:.2f} |")
    return "\n".join(lines)


def tables(own: dict[str, Any]) -> dict[str, str]:
    """Every generated part of docs/scale.md."""
    core, gpu = measured_core(own), measured_gpu(own)
    made = {
        "figures": figures_table(core, gpu),
        "checked": check_table(),
        "cores": ring_table(core, LONG, (16, 256, 1024, 4096, 16384), "cores"),
        "gpus": ring_table(gpu, LONG, (8, 64, 512, 4096, 16384), "H200"),
    }
    documents = measured_survey(own)
    if documents is not None:
        made["survey"] = survey_table(documents, MANY, (1, 10, 100, 1000, 10000), CORES)
        if results("survey"):
            made["survey-checked"] = survey_checked(documents)
    return made


def figures_table(core: Rank, gpu: Rank) -> str:
    """The input figures of all other tables."""
    lines = ["| | one core | one H200 |", "|---|--:|--:|"]
    rows = {
        "time per query-key pair and head, pass one": lambda x: said(x.pass_one_seconds_a_pair),
        "the same, pass two": lambda x: said(x.pass_two_seconds_a_pair),
        "bytes per second to the next rank": lambda x: sized(x.bytes_a_second),
        "latency of an empty ring step": lambda x: said(x.seconds_a_step),
        "heads, head width, bytes per number": lambda x: f"{x.heads}, {x.width}, {x.number_bytes}",
        "tokens per rank below which sending dominates": lambda x: f"{fewest_tokens(x):,.0f}",
    }
    lines += [f"| {name} | {row(core)} | {row(gpu)} |" for name, row in rows.items()]
    return "\n".join(lines)


def write(made: dict[str, str]) -> None:
    """Write each table between its markers in docs/scale.md."""
    text = PAGE.read_text()
    for name, table in made.items():
        between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = between.sub(lambda found, table=table: f"{found[1]}{table}\n{found[2]}", text)
    PAGE.write_text(text)


def main() -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--figures", type=Path, help="JSON file with your own figures")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/scale.md")
    asked = parser.parse_args()
    made = tables(json.loads(asked.figures.read_text()) if asked.figures else {})
    if asked.write:
        write(made)
    else:
        sys.stdout.write("\n\n".join(f"{name}\n\n{table}" for name, table in made.items()) + "\n")


if __name__ == "__main__":
    main()
