"""An observation in a real browser: its map first, then single weights, also by keyboard."""

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
    shown(page, "")
    return page


def shown(page, text: str) -> None:
    page.locator(".map-what", has_text=re.compile(f"{text}.*exact")).wait_for()


def middle(page) -> tuple[float, float]:
    box = page.locator(".map-canvas").bounding_box()
    return box["x"] + 0.5 * box["width"], box["y"] + 0.6 * box["height"]


def test_the_whole_map_comes_first(map_page):
    assert map_page.inner_text(".run-title").endswith("3,000 queries · 2 heads")
    assert map_page.locator(".text-frame:visible").count() == 0
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
    shown(map_page, "Every cell is one weight")
    rows = re.search(r"rows=(\d+)-(\d+)", map_page.url)
    assert int(rows[2]) - int(rows[1]) < 60
    map_page.locator(".cursor", has_text="looks at key").wait_for()


def test_a_number_on_the_page_is_the_weight(map_page, long_file):
    map_page.goto(map_page.url.split("#")[0] + "#map?head=0&rows=1000-1040&columns=970-1010")
    shown(map_page, "Every cell is one weight")
    map_page.mouse.move(*middle(map_page))
    text = map_page.locator(".cursor", has_text="looks at key").inner_text()
    query, key = (int(x.replace(",", "")) for x in re.findall(r"(?:Query|key) ([\d,]+)", text))
    weight = float(regard.load(long_file).tile(query, key, 0)[0, 0])
    said = float(re.search(r"([\d.]+) %", text)[1]) / 100
    assert said == pytest.approx(weight, rel=0.06, abs=1e-5)  # two digits are written


def test_a_smaller_last_block_lies_where_it_is(serve, new_page, noticed, tmp_path):
    """Of 90 tokens in blocks of 16 the last has 10: the page must not stretch it."""
    x = np.random.default_rng(3).normal(size=(90, 4))
    seen = regard.observe(x, x, x, map=9)
    seen.save(tmp_path / "coarse.regard")
    noticed.homes.append(serve(tmp_path / "coarse.regard"))
    page = new_page()
    page.goto(f"{noticed.homes[-1]}/#map")
    shown(page, "Cells of 16 x 16 tokens")
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


def test_the_strongest_shade_is_said_and_follows_what_is_in_view(map_page, long_file):
    map_page.goto(map_page.url.split("#")[0] + "#map?head=0&rows=1000-1040&columns=970-1010")
    shown(map_page, "Every cell is one weight")
    tile = regard.load(long_file).tile(slice(1000, 1040), slice(970, 1010), 0)
    said = re.search(r"Strongest shade: ([\d.]+) %", map_page.inner_text(".map-what"))
    # One cell in 250 may lie beyond the scale: 1,600 cells leave the sixth or seventh largest.
    largest = np.sort(tile.ravel())[::-1]
    assert largest[12] <= float(said[1]) / 100 <= largest[0] * 1.06


def test_without_query_and_key_it_says_so_and_stops(serve, new_page, noticed, tmp_path):
    x = np.random.default_rng(3).normal(size=(2, 600, 4)).astype(np.float32)
    regard.observe(x, x, x, causal=True, map=64).save(tmp_path / "coarse.regard")
    noticed.homes.append(serve(tmp_path / "coarse.regard"))
    page = new_page(width=390, height=844, has_touch=True)
    page.goto(f"{noticed.homes[-1]}/#map?rows=0-128&columns=0-128")
    shown(page, "Cells of 16 x 16 tokens")
    assert "query and key of this layer were not kept" in page.inner_text(".missing")
    for _ in range(3):
        page.get_by_role("button", name="Enlarge").click()
    sides = re.findall(r"(?:rows|columns)=(\d+)-(\d+)", page.url)
    assert [int(b) - int(a) for a, b in sides] == [128, 128]  # eight cells of sixteen
    assert page.locator(".head").count() == 2


def test_two_fingers_enlarge(home, new_page, noticed, until):
    noticed.homes.append(home)
    page = new_page(width=390, height=844, has_touch=True, is_mobile=True)
    page.goto(f"{home}/#map?row=7")
    shown(page, "")
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
    assert "row=7" in page.url  # no row was chosen on the way


def test_a_row_is_listed_and_a_click_chooses_another(map_page, long_file, until):
    map_page.goto(map_page.url.split("#")[0] + "#map?head=0&row=1234")
    map_page.locator(".statement", has_text="Query 1,234 looks at").wait_for()
    weights = regard.load(long_file).row(1234, 0)
    listed = [int(x.get_attribute("data-position"))
              for x in map_page.locator(".row-list li").all()]  # fmt: skip
    assert listed == np.argsort(-weights, kind="stable")[: len(listed)].tolist()
    map_page.mouse.click(*middle(map_page))
    until(map_page, "() => !location.hash.includes('row=1234')")


def test_the_keyboard_moves_and_enlarges(map_page, until):
    map_page.locator(".map-canvas").focus()
    map_page.keyboard.press("+")
    map_page.keyboard.press("ArrowDown")
    until(map_page, "() => location.hash.includes('rows=1125-2625')")
    map_page.keyboard.press("Enter")
    until(map_page, "() => location.hash.includes('row=1875')")
    map_page.keyboard.press("0")
    until(map_page, "() => !location.hash.includes('rows=')")


def test_another_head_is_another_map(map_page, until):
    map_page.locator(".head:not([aria-current])").click()
    number = map_page.locator(".head[aria-current]").get_attribute("data-head")
    until(map_page, f"() => location.hash.includes('head={number}')")


@pytest.mark.nightly  # the same menu as of a shorter run, in test_run
def test_what_is_shown_can_be_saved(map_page, saved):
    map_page.goto(map_page.url.split("#")[0] + "#map?head=0")
    map_page.locator('.head[aria-current][data-head="0"]').wait_for()
    shown(map_page, "")
    files = saved(map_page)
    name = "long-regard-attention-layer-0-head-0"
    assert {name.rpartition(".")[0] for name in files} == {name}
    starts = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF", "json": b"{", "csv": b",",
              "html": b"<!doctype html>"}  # fmt: skip
    for path, content in files.items():
        assert content.startswith(starts.pop(path.rpartition(".")[2]))
    assert starts == {}
    held = json.loads(files[f"{name}.json"])
    assert np.allclose(np.sum(held["weights"], axis=1), 1, atol=1e-5)


def test_a_saved_map_needs_no_server(offline_page, long_file):
    page = offline_page(one_file(regard.load(long_file)))
    page.locator(".map-what", has_text="Cells of 12 x 12 tokens").wait_for()
    page.mouse.click(*middle(page))
    page.locator(".row-list li").first.wait_for()
    assert "not known one by one" in page.locator(".row-panel").inner_text()


def test_without_a_file_the_sentence_is_shown_at_its_highlight(page):
    page.goto("/#map?sentence=A+dog+ate+the+food+because+it+was+hungry")
    page.locator(".map-what", has_text="Every cell is one weight").wait_for()
    assert page.locator(".statement").inner_text() == "it looks at dog, 100 %"
    assert page.get_by_role("link", name="Map").get_attribute("aria-current") == "page"
    page.get_by_role("button", name="cross").click()
    page.locator(".text-frame:visible").nth(1).wait_for()
    page.mouse.move(*middle(page))
    page.locator(".cursor", has_text="looks at key").wait_for()


def test_layer_and_head_of_the_address_are_those_of_the_read_view(page, until):
    page.goto("/#map?sentence=I+am+good&layer=3&head=6")
    page.locator(".run-about", has_text="Layer 3, head 6").wait_for()
    page.get_by_label("Order of the heads").select_option("layer")
    page.locator('.head[data-layer="3"][data-head="0"]').click()
    page.locator(".run-about", has_text="Layer 3, head 0").wait_for()
    until(page, "location.hash.includes('layer=3&head=0')")
