"""A built site in Chromium: typed sentences, experiments, Save, no network, bad hosts, one file."""

import numpy as np
import pytest
from tests.helpers.static_host import serving

import regard

pytestmark = pytest.mark.site
SENTENCE, TRANSLATED = "The cat sat on the mat because it was warm.", "Le chat"


def wait_until_ready(page):
    page.wait_for_selector("html[data-python=ready]", state="attached")


def shows(page, text):
    page.locator("body", has_text=text).wait_for()


def type_sentence(page):
    page.locator("textarea").first.fill(SENTENCE)
    shows(page, TRANSLATED)


@pytest.fixture
def host(site):
    with serving(site.path) as made:
        yield made


def test_a_sentence_is_typed_an_experiment_made_and_saved(visit, host):
    page = visit(host.address)
    shows(page, "Un chien")
    assert page.locator("html").get_attribute("data-python") != "failed"
    wait_until_ready(page)
    type_sentence(page)
    page.goto(f"{host.address}#read?changes=redirect.6.4.encoder.5.6")
    shows(page, "qu'elle avait faim")
    page.locator("summary", has_text="Save").click()
    with page.expect_download() as saved:
        page.get_by_role("menuitem", name="PDF").click()
    assert saved.value.path().read_bytes().startswith(b"%PDF")
    assert page.problems == []
    assert {request.split("/")[1] for request in host.requests} <= {
        *("", "icon.svg", "offline.js"),
        *(path.name for path in host.folder.iterdir() if path.is_dir()),
    }


def test_the_second_visit_needs_no_network(visit, host):
    first = visit(host.address)
    wait_until_ready(first)
    first.close()
    host.stop()
    second = visit(host.address, first.context)
    shows(second, "Un chien")
    wait_until_ready(second)
    type_sentence(second)


def test_a_later_visit_fetches_almost_nothing(visit, host):
    first = visit(host.address)
    wait_until_ready(first)
    assert host.sent <= 50e6
    first.close()
    host.sent = 0
    second = visit(host.address, first.context)
    wait_until_ready(second)
    assert host.sent <= 10e3


def test_a_host_that_cuts_a_file_is_told(visit, host):
    host.cut["parameters.safetensors"] = 1_000_000
    page = visit(host.address)
    shows(page, "sent only 1000000 of the 38103160 bytes of parameters.safetensors")
    shows(page, "Un chien")  # what was stored stays


def test_a_browser_without_simd_is_told(visit, host, chromium):
    context = chromium.new_context()
    context.add_init_script("WebAssembly.validate = () => false")
    page = visit(host.address, context)
    shows(page, "no WebAssembly SIMD")
    shows(page, "Un chien")


def test_a_blocked_worker_is_told(visit, host, chromium):
    context = chromium.new_context()
    context.add_init_script("Worker = class { constructor() { throw new Error('blocked'); } }")
    page = visit(host.address, context)
    shows(page, "blocked")
    shows(page, "Un chien")


def test_a_full_cache_is_told_and_all_works(visit, host, chromium):
    context = chromium.new_context()
    context.add_init_script(
        "navigator.serviceWorker.register = () => Promise.reject(new Error('full'))"
    )
    page = visit(host.address, context)
    wait_until_ready(page)
    shows(page, "the next visit needs the network again")
    type_sentence(page)


def test_paid_data_is_not_spent_unasked(visit, host, chromium):
    context = chromium.new_context()
    context.add_init_script(
        "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"
    )
    page = visit(host.address, context)
    shows(page, "Un chien")
    assert not any("parameters" in request for request in host.requests)
    page.get_by_role("button", name="Fetch").click()
    wait_until_ready(page)
    type_sentence(page)


def test_a_link_is_copied(visit, host, chromium):
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = visit(f"{host.address}#read?layer=5&head=6", context)
    shows(page, "Un chien")
    page.locator("#export summary").click()
    page.get_by_role("button", name="Copy link").click()
    shows(page, "Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{host.address}#read?layer=5&head=6"


def test_a_dropped_file_opens_and_another_is_refused(visit, host, tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 1, 2, 8, 4)).astype(np.float32)
    regard.observe(*x).save(tmp_path / "eight.regard")
    page = visit(host.address)
    wait_until_ready(page)
    drop(page, "eight.regard", b"nothing of the kind")
    shows(page, "eight.regard is not a complete .regard file")
    drop(page, "eight.regard", (tmp_path / "eight.regard").read_bytes())
    page.locator("nav a[aria-current=page]", has_text="Map").wait_for()
    page.locator("canvas").first.wait_for()
    assert page.problems == []


def drop(page, name, content):
    page.evaluate(
        """([name, bytes]) => {
            const data = new DataTransfer();
            data.items.add(new File([Uint8Array.from(bytes)], name));
            dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
        }""",
        [name, list(content)],
    )


def test_pasted_code_is_checked_and_a_loop_ended(visit, host):
    page = visit(f"{host.address}#check")
    wait_until_ready(page)
    page.get_by_role("button", name="Check").click()
    shows(page, "no scaling")
    page.locator("textarea").fill("def attention(q, k, v):\n    while True: pass")
    page.get_by_role("button", name="Check").click()
    shows(page, "ended after 30 s")
    page.goto(f"{host.address}#read")
    type_sentence(page)


def test_the_page_as_one_file(visit, site, wheels, tmp_path):
    from regard.view.site.build import build_file

    built = build_file(tmp_path / "explorer.html", wheels=wheels)
    page = visit(built.path.as_uri())
    shows(page, "Un chien")
    wait_until_ready(page)
    type_sentence(page)
    assert page.problems == []
