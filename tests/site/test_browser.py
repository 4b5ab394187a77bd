"""A built site in Chromium: typed sentences, experiments, Save, no network, bad hosts, one file."""

import re
import shutil
from threading import Event

import numpy as np
import pytest
from tests.helpers.planted_model import planted_model, planted_tokenizer
from tests.helpers.static_host import serving

import regard

pytestmark = pytest.mark.site
DOG = "Un chien a mangé la nourriture parce qu'il avait faim"
SENTENCE, TRANSLATED = "The cat sat on the mat because it was warm.", "Le chat"
SAVED = {
    "SVG": b"<svg", "PNG": b"\x89PNG", "JSON": b"{", "CSV": b"",
    "HTML": b"<!doctype html>", "card.svg": b"<svg", "card.png": b"\x89PNG",
}  # fmt: skip
CODE = "import numpy as np\ndef attention(q, k, v):\n    "


def wait_until_ready(page):
    page.wait_for_selector("html[data-python=ready]", state="attached")


def shows(page, text):
    page.locator("body", has_text=text).wait_for()


def type_sentence(page):
    page.locator("textarea").first.fill(SENTENCE)
    shows(page, TRANSLATED)


def test_a_sentence_is_typed_an_experiment_made_and_saved(visit, host):
    page = visit(host.address)
    shows(page, DOG)
    wait_until_ready(page)
    type_sentence(page)
    page.goto(f"{host.address}#read?changes=redirect.6.4.encoder.5.6")
    shows(page, "qu'elle avait faim")
    page.locator("summary", has_text="Save").click()
    for name, start in SAVED.items():
        with page.expect_download() as saved:
            page.get_by_role("menuitem", name=name, exact=True).click()
        assert saved.value.path().read_bytes().startswith(start), name
    assert page.problems == []
    own = (host.address, "blob:", "data:")
    assert [x for x in page.addresses if not x.startswith(own)] == []


def test_the_worker_has_the_policy_of_the_page(visit, host):
    page = visit(f"{host.address}#check")
    policy = page.locator("meta[http-equiv]").get_attribute("content")
    assert "script-src 'self' 'wasm-unsafe-eval';" in policy
    assert "connect-src 'self' blob:;" in policy
    wait_until_ready(page)
    with serving(host.folder) as other:
        fetch = f"from pyodide.http import open_url\nopen_url('{other.address}')"
        evaluate = "import js\njs.eval('1')"
        for code, refused in {evaluate: "EvalError", fetch: "NetworkError"}.items():
            page.locator("textarea").fill(code)
            page.get_by_role("button", name="Check", exact=True).click()
            shows(page, f"the code must run, got JsException: {refused}")
        assert other.requests == []
    assert all("Content Security Policy" in problem for problem in page.problems)


def test_the_first_scene_plays_before_python_is_here(visit, host):
    host.held["parameters.safetensors.zlib"] = Event()
    page = visit(host.address)
    shows(page, "parce qu'elle était délicieuse")  # the other ending
    shows(page, DOG)
    page.goto(f"{host.address}#learn?page=14")
    page.locator(".choices button").first.click()
    page.locator(".answer").wait_for()
    assert page.locator("html").get_attribute("data-python") != "ready"
    host.held["parameters.safetensors.zlib"].set()


def test_what_is_asked_early_waits_and_says_so(visit, host):
    host.held["parameters.safetensors.zlib"] = Event()
    page = visit(host.address)
    shows(page, DOG)
    page.locator("textarea").first.fill(SENTENCE)
    shows(page, "What you asked for comes after that.")
    shows(page, re.compile(r"Loading Python and the model: \d+ %"))
    host.held["parameters.safetensors.zlib"].set()
    shows(page, TRANSLATED)
    page.locator(".site-line").wait_for(state="hidden")


def test_the_second_visit_needs_no_network(visit, host):
    first = visit(host.address)
    wait_until_ready(first)
    assert host.sent <= 50e6
    first.close()
    host.sent = 0
    second = visit(host.address, first.context)
    wait_until_ready(second)
    assert host.sent <= 10e3
    second.close()
    host.stop()
    third = visit(host.address, first.context)
    shows(third, DOG)
    wait_until_ready(third)
    type_sentence(third)
    assert third.problems == []


def test_a_renewed_site_takes_the_place_of_the_old_one(visit, site, tmp_path):
    folder = shutil.copytree(site.path, tmp_path / "public")
    with serving(folder) as host:
        first = visit(host.address)
        wait_until_ready(first)
        first.close()
        renewed = f"{site.version}0"
        (folder / site.version).rename(folder / renewed)
        for name in ("index.html", "offline.js"):
            text = (folder / name).read_text(encoding="utf-8")
            (folder / name).write_text(text.replace(site.version, renewed), encoding="utf-8")
        while not any(f"{renewed}/packages.zlib" in request for request in host.requests):
            page = visit(host.address, first.context)  # the old one works until it is closed
            wait_until_ready(page)
            page.close()
        page = visit(host.address, first.context)
        wait_until_ready(page)
        type_sentence(page)


def test_the_documentation_is_linked_and_not_kept(visit, host):
    page = visit(host.address)
    wait_until_ready(page)
    for text in ("Documentation", "Renewed"):
        (host.folder / "docs" / "index.html").write_text(f"<!doctype html><title>{text}</title>")
        page.goto(host.address)
        page.get_by_role("link", name="Documentation").click()
        page.wait_for_url(f"{host.address}docs/")
        assert page.title() == text


@pytest.mark.parametrize(
    "name",
    [
        *("parameters.safetensors.zlib", "packages.zlib", "python_stdlib.zip"),
        *("pyodide.asm.wasm", "pyodide.asm.mjs"),
    ],
)
def test_a_host_that_cuts_a_file_is_told(name, visit, host):
    host.cut[name] = 200_000
    page = visit(host.address)
    shows(page, f"The host cut {name.removesuffix('.zlib')} after")
    shows(page, "The first sentence and the course still work.")
    shows(page, DOG)
    host.cut.clear()
    page.reload()
    wait_until_ready(page)  # what was cut is not kept


def test_a_script_that_is_cut_is_told(visit, host):
    host.cut["app.js"] = 50_000
    page = visit(host.address)
    shown = 'getComputedStyle(document.getElementById("view"), "::after").content'
    page.wait_for_function(f"{shown}.includes('did not arrive whole')")
    assert page.locator("#view > *").count() == 1  # the noscript that was there


def test_a_host_without_a_file_is_told(visit, host, site, tmp_path):
    folder = shutil.copytree(site.path, tmp_path / "public")
    (folder / site.version / "packages.zlib").unlink()
    with serving(folder) as other:
        shows(visit(other.address), "The host answered 404 for packages")


def test_a_browser_without_simd_is_told(visit, host):
    page = visit(host.address, script="WebAssembly.validate = () => false")
    shows(page, "no WebAssembly SIMD")
    shows(page, DOG)
    page.locator("textarea").first.fill(SENTENCE)
    page.locator("#view", has_text="no WebAssembly SIMD").wait_for()
    assert not any(".zlib" in request for request in host.requests)


@pytest.mark.parametrize(
    "worker",
    ["throw new Error('blocked')", "setTimeout(() => this.onerror(new ErrorEvent('error')), 1)"],
)
def test_a_blocked_worker_is_told(worker, visit, host):
    page = visit(
        host.address, script=f"Worker = class {{ constructor() {{ {worker} }} postMessage() {{}} }}"
    )
    shows(page, "block")
    shows(page, "The first sentence and the course still work.")
    page.goto(f"{host.address}#learn")
    shows(page, "Which word does It look at most?")


@pytest.mark.parametrize("full", [True, False], ids=["full", "forbidden"])
def test_a_cache_that_keeps_nothing_is_told_and_all_works(full, visit, host):
    refused = "navigator.serviceWorker.register = () => Promise.reject(new Error('no'))"
    page = visit("about:blank", script="" if full else refused)
    if full:
        quota = {"origin": host.address, "quotaSize": 5_000_000}
        page.context.new_cdp_session(page).send("Storage.overrideQuotaForOrigin", quota)
    page.goto(host.address)
    wait_until_ready(page)
    shows(page, "the next visit needs the network again")
    type_sentence(page)


@pytest.mark.parametrize("phone", [True, False], ids=["phone", "saveData"])
def test_megabytes_are_not_spent_unasked(phone, visit, host):
    options = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    data = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"
    page = visit(host.address, script="" if phone else data, **(options if phone else {}))
    shows(page, "Un chien")
    page.get_by_role("button", name=re.compile(r"Download \d\d MB")).wait_for()
    page.locator("textarea").first.fill(SENTENCE)
    shows(page, "What you asked for needs Python and the model")
    assert not any(".zlib" in request or ".wasm" in request for request in host.requests)
    page.get_by_role("button", name="Download").click()
    shows(page, TRANSLATED)
    page.close()
    again = visit(host.address, page.context)  # what is here is not asked for
    wait_until_ready(again)


def test_a_link_is_copied(visit, host):
    page = visit(
        f"{host.address}#read?layer=5&head=6", permissions=["clipboard-read", "clipboard-write"]
    )
    shows(page, "Un chien")
    page.locator("#export summary").click()
    page.get_by_role("button", name="Copy link").click()
    shows(page, "Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{host.address}#read?layer=5&head=6"


def test_a_link_carries_its_picture_and_a_phone_asks_for_the_rest(visit, host):
    sentence = "The cat saw the mouse. It was slow."
    address = f"{host.address}#read?sentence={sentence.replace(' ', '+')}"
    desk = visit(address, permissions=["clipboard-read", "clipboard-write"])
    wait_until_ready(desk)
    shows(desk, "Le chat")
    desk.locator("#export summary").click()
    desk.get_by_role("button", name="Copy link").click()
    shows(desk, "Copied")
    copied = desk.evaluate("navigator.clipboard.readText()")
    assert "&seen=" in copied
    french = desk.locator(".french").text_content()
    desk.close()
    sizes = {"viewport": {"width": 390, "height": 844}, "screen": {"width": 390, "height": 844}}
    host.sent = 0
    phone = visit(copied, has_touch=True, is_mobile=True, **sizes)
    shows(phone, french)
    shows(phone, "This picture came with the link")
    phone.locator(".arcs text").first.wait_for()
    assert host.sent < 1e6  # bytes
    for view in ("read", "steps"):
        page = visit(f"{host.address}#{view}?sentence=I+am+a+student", phone.context)
        shows(page, "This needs the model.")
        assert not page.get_by_text("translating").is_visible()
        page.get_by_role("button", name="Look at one that is here").click()
        shows(page, DOG)
    field = visit(f"{host.address}#steps?sentence=I+am+a+student", phone.context)
    assert field.locator(".title-field").input_value() == "I am a student"
    assert phone.problems == []


def test_dropped_files_open_and_others_are_refused(visit, host, tmp_path):
    x = np.random.default_rng(0).normal(size=(3, 1, 2, 8, 4)).astype(np.float32)
    regard.observe(*x).save(tmp_path / "eight.regard")
    model, tokenizer = planted_model(), planted_tokenizer()
    with regard.watch(model, tokenizer=tokenizer) as seen:
        model(**tokenizer("a b c a b", return_tensors="pt"))
    seen.save(tmp_path / "run.regard")
    page = visit(host.address)
    wait_until_ready(page)
    drop(page, "thesis.pdf", b"%PDF")
    shows(page, "thesis.pdf must be a .regard file")
    drop(page, "eight.regard", b"nothing of the kind")
    shows(page, "eight.regard is not a complete .regard file")
    for name, shown in {
        "eight.regard": "All 64 weights of head 0, 0: 8 tokens.",
        "run.regard": "run.regard: what a watched model looked at",
    }.items():
        drop(page, name, (tmp_path / name).read_bytes())
        shows(page, shown)
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


def test_what_a_browser_cannot_do_names_the_command(visit, host):
    page = visit(f"{host.address}#training")
    shows(page, "no training is open here: run regard open FOLDER")


def test_pasted_code_is_checked_and_a_loop_ended(visit, host):
    page = visit(f"{host.address}#check")
    check = page.get_by_role("button", name="Check", exact=True)
    check.click()  # before Python is here: it waits
    shows(page, "Wrong: no scaling".lower())
    page.get_by_role("button", name="Correct").click()
    check.click()
    page.locator("h2.is-right").wait_for()
    page.locator("textarea").fill(f"{CODE}while True: pass")
    check.click()
    shows(page, "It was stopped after 30 s.")
    page.goto(f"{host.address}#learn")
    page.locator("summary", has_text="Write it yourself").click()
    page.locator("textarea").fill(f"{CODE}return np.ones(3)")
    page.get_by_role("button", name="Check", exact=True).click()
    page.locator("h2.is-wrong").wait_for()
    page.goto(f"{host.address}#read")
    type_sentence(page)


def test_the_page_as_one_file(visit, one_file):
    page = visit(one_file.as_uri(), offline=True)
    shows(page, DOG)
    wait_until_ready(page)
    type_sentence(page)
    page.goto(f"{one_file.as_uri()}#read?changes=redirect.6.4.encoder.5.6")
    shows(page, "qu'elle avait faim")
    page.goto(f"{one_file.as_uri()}#check")
    page.get_by_role("button", name="Check", exact=True).click()
    shows(page, "no scaling")
    assert page.problems == []
    assert {x for x in page.addresses if not x.startswith(("file:", "blob:", "data:"))} == set()


def test_every_licence_is_named(site):
    notice = (site.path / "NOTICE.txt").read_text(encoding="utf-8")
    licences = {
        "regard": "MIT", "Pyodide": "MPL-2.0", "CPython": "PSF-2.0", "Emscripten": "MIT",
        "NumPy": "BSD-3-Clause", "Source Serif 4": "OFL-1.1",
    }  # fmt: skip
    for name, licence in licences.items():
        assert re.search(rf"^{name}.*(\n.*)?: {licence}", notice, re.MULTILINE)
    for text in ("Permission is hereby granted", "NumPy Developers", "SIL OPEN FONT LICENSE"):
        assert text.lower() in notice.lower()
