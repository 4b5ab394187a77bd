"""A built site in Chromium, served from a folder: bytes, times and memory, and the local page.

    python benchmarks/bench_site.py [--wheels FOLDER] [--rounds N]

Every time is the best of several visits, since other processes can only make it longer; the median
is saved as well. Writes results/site.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
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
LIMIT_SECONDS, POLL_SECONDS = 120, 0.01
STEPS_SECONDS = 3  # memory is the most in this time
READY = "document.documentElement.dataset.python === 'ready'"
TYPE = """{
    const box = document.querySelector("textarea");
    box.value = %s;
    box.dispatchEvent(new Event("input", { bubbles: true }));
}"""


def main() -> None:
    """Build, visit, compare with the limits, write the results."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--wheels", type=Path, help="folder of parts, as of regard site")
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    from playwright.sync_api import sync_playwright

    from regard.view.site.build import build_site

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        built = build_site(Path(folder, "public"), wheels=chosen.wheels)
        rounds = [
            {**_visits(driver, built.path), "local_sentence_seconds": _local_sentence(driver)}
            for _ in range(chosen.rounds)
        ]
        version = _browser(driver).version
    best = {name: min(one[name] for one in rounds) for name in rounds[0]}
    median = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    figures: dict[str, Any] = {
        "chromium": version,
        "statistic": "best of several visits, and the median",
        "load_average": round(os.getloadavg()[1], 2),
        "best": best, "median": median, "limits": LIMITS,
        "sentence_to_local_ratio": best["sentence_seconds"] / best["local_sentence_seconds"],
        "built_megabytes": built.bytes / 1e6,
    }  # fmt: skip
    for name, value in best.items():
        limit = f"at most {LIMITS[name]}" if name in LIMITS else ""
        over = "  (over)" if value > LIMITS.get(name, value) else ""
        print(f"{name:24} {value:8.2f}  median {median[name]:8.2f}  {limit}{over}")
    write("site", figures)


class Tab:
    """A page that nothing but this looks at: a driver that watches it keeps a copy of every file.

    Its context is new, or that of another tab.
    """

    def __init__(self, browser: Any, address: str, context: str | None = None) -> None:
        self.session, self.answers, self.last = browser.new_browser_cdp_session(), {}, 0
        self.session.on("Target.receivedMessageFromTarget", self._receive)
        self.context = context or self._send("Target.createBrowserContext")["browserContextId"]
        window = {"width": 1400, "height": 900, "browserContextId": self.context}
        self.start = time.perf_counter()
        self.target = self._send("Target.createTarget", url=address, **window)["targetId"]
        attach = {"targetId": self.target, "flatten": False}
        self.tab = self._send("Target.attachToTarget", **attach)["sessionId"]

    def evaluate(self, expression: str) -> Any:
        self.last += 1
        fields = {"expression": expression, "returnByValue": True}
        message = {"id": self.last, "method": "Runtime.evaluate", "params": fields}
        self._send("Target.sendMessageToTarget", sessionId=self.tab, message=json.dumps(message))
        while self.last not in self.answers:
            self._send("Browser.getVersion")
        answer = self.answers.pop(self.last)  # an error while it goes from one page to another
        return answer["result"]["result"].get("value") if "result" in answer else None

    def wait(self, expression: str) -> float:
        """Wait until it is true; seconds since the tab was opened."""
        end = time.perf_counter() + LIMIT_SECONDS
        while not self.evaluate(expression):
            if time.perf_counter() > end:
                raise TimeoutError(expression)
            time.sleep(POLL_SECONDS)
        return time.perf_counter() - self.start

    def wait_for_text(self, text: str) -> float:
        return self.wait(f"document.body?.textContent.includes({json.dumps(text)})")

    def type_sentence(self, sentence: str, french: str) -> float:
        """Seconds from the last key to the French."""
        before = time.perf_counter()
        self.evaluate(TYPE % json.dumps(sentence))
        self.wait_for_text(french)
        return time.perf_counter() - before

    def megabytes(self) -> float:
        """Memory of its process, the largest renderer, with its share of shared pages (PSS)."""
        processes = self._send("SystemInfo.getProcessInfo")["processInfo"]
        sizes = []
        for process in (x for x in processes if x["type"] == "renderer"):
            try:
                text = Path(f"/proc/{process['id']}/smaps_rollup").read_text()
            except OSError:
                continue  # it has ended
            sizes += [int(size) for size in re.findall(r"^Pss:\s+(\d+)", text, re.MULTILINE)]
        return max(sizes) / 1e3

    def close(self) -> None:
        self._send("Target.closeTarget", targetId=self.target)

    def _send(self, method: str, **fields: Any) -> Any:
        return self.session.send(method, fields)

    def _receive(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        self.answers[message.get("id")] = message


def _visits(driver: Any, folder: Path) -> dict[str, float]:
    """A first visit and a later one, in a browser of their own."""
    with serving(folder) as host:
        browser = _browser(driver)
        tab = Tab(browser, host.address)
        figures = {"first_picture_seconds": tab.wait_for_text("Un chien")}
        figures["ready_seconds"] = tab.wait(READY)
        figures["first_visit_megabytes"] = host.sent / 1e6
        figures |= _typed(tab)
        figures["sentences_megabytes"] = tab.megabytes()
        tab.evaluate("location.hash = '#steps?layer=5&head=6'")
        shown = tab.wait("document.querySelector('.view.steps table') !== null")
        samples = [tab.megabytes()]
        while time.perf_counter() - tab.start < shown + STEPS_SECONDS:
            samples.append(tab.megabytes())
        figures["steps_megabytes"] = max(samples)
        tab.close()
        host.sent = 0
        later = Tab(browser, host.address, tab.context)
        figures["later_picture_seconds"] = later.wait_for_text("Un chien")
        figures["later_ready_seconds"] = later.wait(READY)
        figures["later_visit_kilobytes"] = host.sent / 1e3
        browser.close()
    return figures


def _typed(tab: Tab) -> dict[str, float]:
    """Seconds from typing to the French: of the first sentence, and the best of later ones."""
    times = [tab.type_sentence(*sentence) for sentence in SENTENCES.items()]
    return {"first_sentence_seconds": times[0], "sentence_seconds": min(times[1:])}


def _local_sentence(driver: Any) -> float:
    """The same in the page of regard open."""
    with served() as address:
        browser = _browser(driver)
        tab = Tab(browser, address)
        tab.wait_for_text("Un chien")
        seconds = _typed(tab)["sentence_seconds"]
        browser.close()
    return seconds


def _browser(driver: Any) -> Any:
    return driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])


if __name__ == "__main__":
    main()
