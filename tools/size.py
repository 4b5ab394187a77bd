"""Lines of the house by folder, beside the last version and the budget of the next one.

    python tools/size.py            the table
    python tools/size.py --write    make today's figures those of the last version

Lines are counted as the formatters write them, docstrings and blank lines included. Samples that a
test reads as data, and generated tables, are not code and do not count.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAST = Path(__file__).with_suffix(".json")
PYTHON, WEB, TESTS = "Python in src/regard", "JavaScript, CSS and types", "tests"
WEB_SUFFIXES = (".js", ".mjs", ".css", ".ts")
BUDGET = {PYTHON: 64_000, WEB: 22_000, TESTS: 46_000}


def lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def counted() -> dict[str, dict[str, int]]:
    """Lines by kind and by folder."""
    table: dict[str, Counter[str]] = {kind: Counter() for kind in BUDGET}
    source = ROOT / "src" / "regard"
    for path in source.rglob("*"):
        folder = path.relative_to(source).parts[0] if path.parent != source else "."
        if path.suffix == ".py":
            table[PYTHON][folder] += lines(path)
        elif path.suffix in WEB_SUFFIXES:
            table[WEB]["/".join(path.relative_to(source).parts[:-1])] += lines(path)
    for path in (ROOT / "tests").rglob("*.py"):
        if "samples" not in path.parts:
            folder = path.relative_to(ROOT / "tests").parts[0]
            table[TESTS][folder if path.parent.name != "tests" else "."] += lines(path)
    return {kind: dict(counts) for kind, counts in table.items()}


def report(now: dict[str, dict[str, int]], last: dict[str, dict[str, int]]) -> str:
    """One row a folder: lines now, and what came or went since the last version."""
    rows = []
    for kind, folders in now.items():
        total, before = sum(folders.values()), sum(last[kind].values())
        rows.append(f"{kind}: {total:,} ({total - before:+,}; budget {BUDGET[kind]:,})")
        for folder in sorted(folders.keys() | last[kind].keys()):
            count = folders.get(folder, 0)
            rows.append(f"  {folder:<24} {count:>7,} {count - last[kind].get(folder, 0):>+8,}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="make today's figures the last ones")
    now = counted()
    if parser.parse_args().write:
        LAST.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(report(now, json.loads(LAST.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
