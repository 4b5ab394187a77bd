"""A click on a cell computes, fetches and redraws only what depends on the cell."""

from typing import Any

import numpy as np
import pytest

import regard

ATTEND = "function attend("
# Changes below some elements, from now on.
WATCH = """selectors => {
  globalThis.mutated = [];
  const note = (records) => globalThis.mutated.push(...records.map((one) => one.target.className));
  for (const selector of selectors) {
    const settings = { childList: true, subtree: true, attributes: true, characterData: true };
    new MutationObserver(note).observe(document.querySelector(selector), settings);
  }
}"""


def count_attention(page: Any) -> None:
    """Count calls of ``attend`` in ``globalThis.attendCalls``."""

    def served(route: Any) -> None:
        response = route.fetch()
        text = response.text()
        assert ATTEND in text
        counted = (
            "function attend(...values) {\n"
            "  globalThis.attendCalls = (globalThis.attendCalls || 0) + 1;\n"
            "  return attendUncounted(...values);\n}\n"
        )
        body = text.replace(ATTEND, f"{counted}function attendUncounted(", 1)
        route.fulfill(response=response, body=body)

    page.route("**/app.js", served)


def attended(page: Any) -> int:
    return page.evaluate("globalThis.attendCalls")


def test_a_cell_of_the_steps(page, until):
    count_attention(page)
    page.goto("/#steps?from=robots")
    page.wait_for_selector(".why .line")
    assert attended(page) == 1
    page.evaluate(WATCH, [".origin", ".switches", ".claims"])
    for stage, row, column in (("scores", 1, 4), ("output", 0, 1), ("weights", 2, 2)):
        page.click(f'[data-stage="{stage}"] td[data-row="{row}"][data-column="{column}"]')
        until(page, "text => document.querySelector('.why b').textContent.startsWith(text)", stage)
    assert (attended(page), page.evaluate("globalThis.mutated")) == (1, [])


def test_a_switch_of_the_steps_computes_what_it_changes(page, until):
    count_attention(page)
    page.goto("/#steps?from=robots")
    page.wait_for_selector(".why .line")
    page.evaluate(WATCH, [".origin"])
    page.get_by_label("divide by").uncheck()
    page.wait_for_selector(".changed-statement:not(:empty)")
    assert attended(page) == 2
    page.get_by_label("divide by").check()
    page.wait_for_selector(".changed-statement:empty", state="attached")
    assert (attended(page), page.evaluate("globalThis.mutated")) == (2, [])


def test_a_change_of_another_view_computes_nothing(page, until):
    count_attention(page)
    page.goto("/#steps?from=robots")
    page.wait_for_selector(".why .line")
    page.evaluate(WATCH, [".steps"])
    page.evaluate("location.hash = '#steps?from=robots&least=7'")
    until(page, "new Promise((done) => setTimeout(() => done(true)))")
    assert (attended(page), page.evaluate("globalThis.mutated")) == (1, [])


def test_a_word_of_the_sentence_in_the_map(page, open_map, until):
    fetched: list[str] = []
    open_map(page)
    # The small pictures of all heads come after the first one, and are drawn in the next frame.
    page.wait_for_load_state("networkidle")
    until(page, "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))")
    page.on("request", lambda request: fetched.append(request.url))
    page.evaluate(WATCH, [".run-title", ".heads-column .ranked"])
    page.locator(".t[data-t='4']").click()
    page.locator(".statement", has_text="Food looks at").wait_for()
    fetched = [url for url in fetched if "/api/" in url]
    assert (fetched, page.evaluate("globalThis.mutated")) == ([], [])


@pytest.fixture(scope="module")
def map_file(tmp_path_factory):
    x = np.random.default_rng(3).normal(size=(600, 8)).astype(np.float32)
    path = tmp_path_factory.mktemp("maps") / "map.regard"
    regard.observe(x, x, x, causal=True, map=64, top=4).save(path, query_and_key=True)
    return path


def test_a_row_of_the_map(page, serve, noticed, until, map_file):
    address = serve(map_file)
    noticed.homes.append(address)
    page.goto(f"{address}/#map")
    page.locator(".map-what", has_text="exact").wait_for()
    page.locator(".row-list li").first.wait_for()
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url.partition("/api/map/")[2]))
    page.evaluate(WATCH, [".run-title", ".map .notes", ".heads-column"])
    box = page.locator(".map-canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    until(page, "location.hash.includes('row=')")
    page.locator(".statement", has_text="Query").wait_for()
    assert [path for path in fetched if path] == ["row"]
    assert page.evaluate("globalThis.mutated") == []
