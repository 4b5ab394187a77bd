"""A built site in Chromium, served from a folder: bytes, times and memory, and the local page.

    python benchmarks/bench_site.py [--wheels FOLDER] [--rounds N]

Every time is the best of several visits, since other processes can only make it longer; the median
is saved as well. Writes results/site.json.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import write
from page_clocks import served

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.helpers.static_host import serving

SENTENCES = {
    "The animal did not cross the street because it was too tired.": "fatigu",
    "She gave the book to the boy because he wanted to read it.": "livre",
    "The cat sat on the mat because it was warm.": "Le chat",
}
LIMITS = {
    "first_visit_megabytes": 50.0, "later_visit_kilobytes": 10.0, "first_picture_seconds": 1.0,
    "ready_seconds": 6.0, "sentence_seconds": 0.6, "steps_megabytes": 400.0,
}  # fmt: skip
LIMIT_MS = 120_000


def main() -> None:
    """Build, visit, compare with the limits, write the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--wheels", type=Path, help="folder of parts, as of regard site")
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    from playwright.sync_api import sync_playwright

    from regard.view.site.build import build_site

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        built = build_site(Path(folder, "public"), wheels=chosen.wheels)
        visits = [_visits(driver, built.path) for _ in range(chosen.rounds)]
        local = [_local_sentences(driver) for _ in range(chosen.rounds)]
    best = {name: min(visit[name] for visit in visits) for name in visits[0]}
    median = {name: statistics.median(visit[name] for visit in visits) for name in visits[0]}
    at_home = min(local)
    figures: dict[str, Any] = {
        "best": best, "median": median, "limits": LIMITS,
        "local_sentence_seconds": at_home,
        "sentence_to_local_ratio": best["sentence_seconds"] / at_home,
        "built_megabytes": built.bytes / 1e6,
    }  # fmt: skip
    for name, limit in LIMITS.items():
        mark = "" if best[name] <= limit else "  (over)"
        print(f"{name:26} {best[name]:10.2f}  median {median[name]:10.2f}  at most {limit}{mark}")
    print(f"a sentence at home: {at_home:.2f} s")
    write("site", figures)


def _visits(driver: Any, folder: Path) -> dict[str, float]:
    """A first visit and a later one, in a browser of their own."""
    with serving(folder) as host:
        browser = _browser(driver)
        context = browser.new_context(viewport={"width": 1400, "height": 900})
        figures = {}
        page, start = context.new_page(), time.perf_counter()
        page.set_default_timeout(LIMIT_MS)
        page.goto(host.address, wait_until="commit")
        page.locator("body", has_text="Un chien").wait_for()
        figures["first_picture_seconds"] = time.perf_counter() - start
        page.wait_for_selector("html[data-python=ready]", state="attached")
        figures["ready_seconds"] = time.perf_counter() - start
        figures["first_visit_megabytes"] = host.sent / 1e6
        figures |= _typed(page)
        page.evaluate("location.hash = '#steps?layer=5&head=6'")
        page.locator(".view.steps canvas, .view.steps table").first.wait_for()
        figures["steps_megabytes"] = _renderer_megabytes()
        page.close()
        host.sent, start = 0, time.perf_counter()
        page = context.new_page()
        page.set_default_timeout(LIMIT_MS)
        page.goto(host.address, wait_until="commit")
        page.wait_for_selector("html[data-python=ready]", state="attached")
        figures["later_ready_seconds"] = time.perf_counter() - start
        figures["later_visit_kilobytes"] = host.sent / 1e3
        browser.close()
    return figures


def _typed(page: Any) -> dict[str, float]:
    """Seconds from typing to the French: of the first sentence, and the best of later ones."""
    times = []
    for sentence, french in SENTENCES.items():
        start = time.perf_counter()
        page.locator("textarea").first.fill(sentence)
        page.locator("body", has_text=french).wait_for()
        times.append(time.perf_counter() - start)
    return {"first_sentence_seconds": times[0], "sentence_seconds": min(times[1:])}


def _local_sentences(driver: Any) -> float:
    """The same in the page of regard open."""
    with served() as address:
        browser = _browser(driver)
        page = browser.new_page()
        page.goto(address)
        page.locator("body", has_text="Un chien").wait_for()
        seconds = _typed(page)["sentence_seconds"]
        browser.close()
    return seconds


def _browser(driver: Any) -> Any:
    return driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])


def _renderer_megabytes() -> float:
    """Memory of the largest renderer process, its share of shared pages counted in (PSS)."""
    largest = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" not in (process / "cmdline").read_bytes():
                continue
            lines = (process / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # it has ended
        largest = max(largest, *(int(x.split()[1]) for x in lines if x.startswith("Pss:")))
    return largest / 1e3


if __name__ == "__main__":
    main()
