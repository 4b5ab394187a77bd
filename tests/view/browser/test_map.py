"""The Map view in a real browser: the whole first, then single weights, also by keyboard."""

import json
import re

import numpy as np
import pytest

import regard
from regard.view.page.embed import offline_page as one_file

TOKENS = 3000


@pytest.fixture(scope="module")
def long_file(tmp_path_factory):
    """Neighbours look at each other; the first key is looked at by all."""
    random = np.random.default_rng(5)
    steps = np.cumsum(random.normal(size=(2, TOKENS, 16)), axis=1)
    x = (8 * steps / np.linalg.norm(steps, axis=-1, keepdims=True)).astype(np.float32)
    path = tmp_path_factory.mktemp("map") / "long.regard"
    regard.observe(x, x, x, causal=True, map=64, top=5).save(path, query_and_key=True)
    return path


@pytest.fixture(scope="module")
def home(serve, long_file):
    return serve(long_file)


@pytest.fixture
def map_page(home, new_page, noticed):
    """The Map view of the file, opened."""
    noticed.homes.append(home)
    page = new_page()
    page.goto(f"{home}/#map")
    shown(page, "exact")
    return page


def shown(page, text: str) -> None:
    page.locator(".main p[role=status]", has_text=f"Shown: {text}").wait_for()


def middle(page) -> tuple[float, float]:
    box = page.locator(".map-canvas").bounding_box()
    return box["x"] + 0.5 * box["width"], box["y"] + 0.6 * box["height"]


def test_the_whole_map_comes_first(map_page):
    assert "All 9,000,000 weights of head 0: 3,000 tokens." in map_page.inner_text(".statement")
    ink = map_page.evaluate(
        "() => { const c = document.querySelector('.map-canvas'); const d = c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data; const seen = new Set();"
        " for (let i = 0; i < d.length; i += 4) seen.add(d[i] + ',' + d[i+1] + ',' + d[i+2]);"
        " return seen.size; }"
    )
    assert ink > 20  # shades, not a blank


def test_the_wheel_goes_down_to_single_weights(map_page):
    map_page.mouse.move(*middle(map_page))
    for _ in range(6):
        map_page.mouse.wheel(0, -240)
    shown(map_page, "exact: every cell is one weight")
    rows = re.search(r"rows=(\d+)-(\d+)", map_page.url)
    assert int(rows[2]) - int(rows[1]) < 60
    map_page.locator(".cursor", has_text="looks at key").wait_for()


def test_a_number_on_the_page_is_the_weight(map_page, long_file):
    map_page.goto(map_page.url.split("#")[0] + "#map?rows=1000-1040&columns=970-1010")
    shown(map_page, "exact: every cell is one weight")
    map_page.mouse.move(*middle(map_page))
    text = map_page.locator(".cursor", has_text="looks at key").inner_text()
    query, key = (int(x.replace(",", "")) for x in re.findall(r"(?:Query|key) ([\d,]+)", text))
    weight = float(regard.load(long_file).tile(query, key, 0)[0, 0])
    said = float(re.search(r"([\d.]+) %", text)[1]) / 100
    assert said == pytest.approx(weight, rel=0.06, abs=1e-9)  # two digits are written


def test_a_smaller_last_block_lies_where_it_is(serve, new_page, noticed, tmp_path):
    """Of 90 tokens in blocks of 16 the last has 10: the page must not stretch it."""
    x = np.random.default_rng(3).normal(size=(90, 4))
    seen = regard.observe(x, x, x, map=9)
    seen.save(tmp_path / "coarse.regard")
    noticed.homes.append(serve(tmp_path / "coarse.regard"))
    page = new_page()
    page.goto(f"{noticed.homes[-1]}/#map")
    shown(page, "exact: each cell is the mean over up to 16 queries")
    page.get_by_text("As a table").click()
    page.locator(".as-table tbody td").first.wait_for()
    cells = page.locator(".as-table tbody tr").first.locator("th, td").all_inner_texts()
    row, column = (int(x) for x in np.unravel_index(seen.map.argmax(), seen.map.shape))
    places = [f"{16 * at} to {min(90, 16 * at + 16) - 1}" for at in (row, column)]
    assert cells[:2] == places
    box = page.locator(".map-canvas").bounding_box()
    for across in (0.9, 0.5):
        page.mouse.move(box["x"] + across * box["width"], box["y"] + 0.86 * box["height"])
        text = page.locator(".cursor", has_text="in the cell around them").inner_text()
        query, key = (int(x) for x in re.findall(r"(?:Query|key) ([\d,]+)", text))
        said = float(re.search(r"([\d.]+) %", text)[1]) / 100
        # Two digits are written.
        assert said == pytest.approx(seen.map[query // 16, key // 16], rel=0.06)


def test_a_bar_says_what_shades_mean_and_when_they_change(map_page, long_file, until):
    numbers = map_page.locator(".shade-numbers span").all_inner_texts()
    assert numbers[0] == "0"
    most = float(re.match(r"[\d.]+", numbers[2])[0])
    assert float(re.match(r"[\d.]+", numbers[1])[0]) == pytest.approx(most / 4, rel=0.06)
    map_page.goto(map_page.url.split("#")[0] + "#map?rows=1000-1040&columns=970-1010")
    shown(map_page, "exact: every cell is one weight")
    tile = regard.load(long_file).tile(slice(1000, 1040), slice(970, 1010), 0)
    written = map_page.locator(".shade-numbers span").last.inner_text()
    assert float(re.match(r"[\d.]+", written)[0]) / 100 <= tile.max() * 1.06
    assert "Shades scaled anew: the strongest was" in map_page.inner_text(".rescaled")
    map_page.get_by_label("the same shades at every zoom").check()
    until(map_page, "() => location.hash.includes('shades=')")
    map_page.get_by_role("button", name="The whole map").click()
    until(map_page, "() => !location.hash.includes('rows=')")
    until(map_page, "() => !document.querySelector('.rescaled').textContent")
    assert (
        map_page.locator(".shade-numbers span")
        .last.inner_text()
        .startswith(written.removesuffix(" or more"))
    )


def test_without_query_and_key_it_says_what_to_add_and_stops(serve, new_page, noticed, tmp_path):
    x = np.random.default_rng(3).normal(size=(2, 600, 4)).astype(np.float32)
    regard.observe(x, x, x, causal=True, map=64).save(tmp_path / "coarse.regard")
    noticed.homes.append(serve(tmp_path / "coarse.regard"))
    page = new_page(width=390, height=844, has_touch=True)
    page.goto(f"{noticed.homes[-1]}/#map?rows=0-8&columns=0-8")
    shown(page, "exact: each cell is the mean over up to 16 queries")
    status = page.inner_text(".main p[role=status]")
    assert "seen.save(path, query_and_key=True), or regard watch ... --keep LAYERS" in status
    for _ in range(3):
        page.get_by_role("button", name="Enlarge").click()
    sides = re.findall(r"(?:rows|columns)=(\d+)-(\d+)", page.url)
    assert [int(b) - int(a) for a, b in sides] == [128, 128]  # eight cells of sixteen
    assert page.locator(".part .layer button").count() == 2  # a grid of its heads


def test_two_fingers_enlarge(home, new_page, noticed, until):
    noticed.homes.append(home)
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(f"{home}/#map")
    shown(page, "exact")
    assert "pinch with two fingers" in page.inner_text(".cursor")
    assert "wheel" not in page.inner_text("#view")
    page.locator(".map-canvas").scroll_into_view_if_needed()
    x, y = middle(page)
    client = page.context.new_cdp_session(page)

    def fingers(kind: str, apart: int) -> None:
        points = [{"x": x + 20 + d, "y": y + d, "id": i} for i, d in enumerate((-apart, apart))]
        client.send("Input.dispatchTouchEvent",
                    {"type": kind, "touchPoints": points if apart else []})  # fmt: skip

    fingers("touchStart", 20)
    for apart in (30, 40, 60):
        fingers("touchMove", apart)
    fingers("touchEnd", 0)
    until(page, "() => location.hash.includes('rows=')")
    rows = re.search(r"rows=(\d+)-(\d+)", page.url)
    assert int(rows[2]) - int(rows[1]) == pytest.approx(TOKENS / 3, rel=0.1)
    assert "row=" not in page.url.replace("rows=", "")


def test_a_click_pins_a_row_and_says_what_it_looks_at(map_page, long_file, until):
    map_page.goto(map_page.url.split("#")[0] + "#map?row=1234")
    map_page.locator(".map-row table").wait_for()
    top = regard.load(long_file).top(5)
    cells = map_page.locator(".row-table tr td:last-child").all_inner_texts()
    assert [int(x.replace(",", "")) for x in cells] == top.keys[0, 1234].tolist()
    map_page.mouse.click(*middle(map_page))
    until(map_page, "() => !location.hash.includes('row=1234')")


def test_the_keyboard_moves_and_enlarges(map_page, until):
    map_page.locator(".map-canvas").focus()
    map_page.keyboard.press("+")
    map_page.keyboard.press("ArrowDown")
    until(map_page, "() => location.hash.includes('rows=1125-2625')")
    map_page.keyboard.press("Enter")
    map_page.locator(".map-row table").wait_for()
    map_page.keyboard.press("0")
    until(map_page, "() => !location.hash.includes('rows=')")


def test_another_head_is_another_map(map_page):
    map_page.locator("select").select_option("1")
    map_page.locator(".statement", has_text="head 1").wait_for()
    assert "head=1" in map_page.url


def test_what_is_shown_can_be_saved(map_page, saved):
    files = saved(map_page)
    assert {name.rpartition(".")[0] for name in files} == {"long-regard-attention-head-0"}
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "json": b"{", "csv": b",",
              "html": b"<!doctype html>"}  # fmt: skip
    for name, content in files.items():
        assert content.startswith(starts.pop(name.rpartition(".")[2]))
    assert starts == {}
    held = json.loads(files["long-regard-attention-head-0.json"])
    assert np.allclose(np.sum(held["weights"], axis=1), 1, atol=1e-5)


def test_a_saved_map_needs_no_server(offline_page, long_file):
    page = offline_page(one_file(regard.load(long_file)))
    page.locator("p[role=status]", has_text="this file holds nothing finer").wait_for()
    page.mouse.click(*middle(page))
    page.locator(".map-row table").wait_for()


def test_without_a_file_the_sentence_is_shown(page):
    page.goto("/#map?sentence=I+am+good")
    page.locator("p[role=status]", has_text="every cell is one weight").wait_for()
    page.mouse.move(*middle(page))
    page.locator(".cursor mark").first.wait_for()


def test_layer_and_head_of_the_address_are_those_of_the_read_view(page):
    page.goto("/#map?sentence=I+am+good&layer=3&head=6")
    page.locator(".statement", has_text="All 16 weights of layer 3, head 6: 4 tokens.").wait_for()
    page.locator("label", has_text="Head").locator("select").select_option("0")
    page.locator(".statement", has_text="layer 3, head 0").wait_for()
    assert page.url.endswith("layer=3&head=0")
