"""HTML documents in one file, and the explorer as such a file."""

import base64
import hashlib
import json
import re
import zlib

import numpy as np
import numpy.testing as npt
import pytest

import regard
from regard.errors import ArgumentError
from regard.textbook.stages import softmax
from regard.transformer.model import Transformer
from regard.view.page.embed import (
    VIEW_MODULES,
    Blobs,
    Form,
    Tables,
    choose_form,
    embed_tables,
    offline_page,
    pack_table,
    page_with,
)
from regard.view.page.single_file import (
    bundle,
    module_imports,
    modules_in_order,
    web_files,
)

SENTENCE = "A dog ate the food because it was hungry"
MODEL = Transformer.random(SENTENCE, layers=2, heads=2, width=16)
ENTRY = "lib/embedded.js"
MODULES = {
    name: text
    for name, text in web_files().items()
    if name.endswith(".js") and not name.startswith(("survey/", "site/"))  # have their own entry
}


@pytest.fixture(scope="module")
def page():
    return offline_page(regard.read(SENTENCE, model=MODEL), {"layer": 1, "head": 0})


def embedded_in(page: str) -> dict:
    return json.loads(re.search(r'id="embedded">(.*?)</script>', page, re.DOTALL)[1])


def block(page: str, span: list[int]) -> bytes:
    text = re.search(r'id="numbers">(.*?)</script>', page, re.DOTALL)[1]
    return zlib.decompress(base64.b64decode(text[span[0] : span[0] + span[1]]), -15)


def test_two_modules_may_use_one_name():
    """Nothing of a module is seen by another but what it exports."""
    names = [
        name for text in MODULES.values() for name in re.findall(r"^const ([A-Z_]+) =", text, re.M)
    ]
    assert len(names) > len(set(names))
    modules = {
        "a.js": 'import { b } from "./b.js";\nconst MOST = 1;\nout(MOST + b());\n',
        "b.js": "const MOST = 2;\nexport function b() {\n  return MOST;\n}\n",
    }
    assert bundle(modules, "a.js").split("\n")[2:-2] == [
        *("const $0 = (() => {", "const MOST = 2;", "function b() {", "return MOST;", "}"),
        *("return { b };", "})();", "", "const $1 = (() => {", "const { b } = $0;"),
        *("const MOST = 1;", "out(MOST + b());", "return {  };", "})();"),
    ]


def test_every_module_keeps_to_what_the_joiner_reads():
    script = bundle(MODULES, ENTRY)
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert "</script" not in script
    assert "import(" not in script
    assert set(modules_in_order(MODULES, ENTRY)) == set(MODULES)
    lines = [
        re.sub(r'"`"|/\(.*?\)/', "", line)
        for module in MODULES.values()
        for line in module.splitlines()
    ]
    assert [line for line in lines if line.count("`") % 2] == []


def test_modules_come_after_what_they_need():
    order = modules_in_order(MODULES, ENTRY)
    for name in order:
        needed = module_imports(name, MODULES[name])
        assert all(order.index(other) < order.index(name) for other in needed), name


def test_a_page_has_the_scripts_of_its_views_alone():
    """The table of views is that of app.js, and what a page does not show is not in it."""
    views = re.search(r"const VIEWS = \{(.*?)\};", MODULES["app.js"], re.DOTALL)[1]
    assert re.findall(r"(\w+): \[\"\w+\", (\w+)\]", views) == [
        (view, show) for view, (_, show) in VIEW_MODULES.items()
    ]
    for module, show in VIEW_MODULES.values():
        assert f'import {{ {show} }} from "./{module}";' in MODULES["app.js"]
    page = page_with({"views": ["learn"], "address": "#learn"}, Blobs())
    assert "async function showLearn(root" in page
    assert page.count("This page does not hold this view.") == len(VIEW_MODULES) - 1
    assert "/api/model/read" not in page


def test_nothing_but_its_own_script_and_style_may_run(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    begin = "default-src 'none'; font-src data:; base-uri 'none'; form-action 'none'; "
    assert policy.startswith(begin)
    for kind, text in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        (content,) = re.findall(text, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    outside = set(re.findall(r"https?://[^\s\"'<)]+", page))
    names = {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}
    assert outside <= names  # of namespaces; nothing is fetched


def test_the_numbers_are_those_of_the_reading(page):
    reading = regard.read(SENTENCE, model=MODEL)
    embedded = embedded_in(page)
    assert embedded["address"] == "#read?layer=1&head=0"
    table = embedded["tables"]["decoder"]
    values = np.frombuffer(block(page, table["blobs"]["head 1 0"]), "<f4")
    weights = reading.weights(part="decoder", layer=1, head=0, by="tokens")
    npt.assert_array_equal(values.reshape(table["rows"], table["columns"]), weights.astype("f4"))
    rolled = np.frombuffer(block(page, embedded["tables"]["encoder"]["blobs"]["rollout"]), "<f4")
    npt.assert_array_equal(rolled, reading.rollout().tokens_qk.astype("f4").reshape(-1))
    assert list(embedded["steps"]) == ["encoder 1 0"]


TEXTS = ["</script><img src=x onerror=alert(1)>", "a \u2028 <!-- b", "half a character: \ud83d"]


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_text_cannot_leave_its_place(text):
    steps = regard.self_attention(np.eye(2), np.eye(2), np.eye(2), np.eye(2), words=[text, "b"])
    page = offline_page(steps)
    assert page.count("<script") == 3
    assert "<img" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    reading = regard.read(text, model=MODEL)
    page = offline_page(reading)
    assert page.encode()
    assert embedded_in(page)["reading"]["sentence"] == text
    assert page.count("<script") == 3


def weights_lhqk(tokens: int, layers: int = 12, heads: int = 12) -> np.ndarray:
    random = np.random.default_rng(0)
    x = random.normal(size=(2, layers, heads, tokens, 16)).astype(np.float32)
    scores = x[0] @ x[1].swapaxes(-1, -2) * random.uniform(0.1, 1, size=(layers, heads, 1, 1))
    return softmax(scores).astype(np.float32)


def side(tokens: int) -> dict:
    names = [f"word{at}" for at in range(tokens)]
    return {"language": "", "tokens": names, "words": names, "word_of_token": list(range(tokens))}


@pytest.mark.parametrize(("tokens", "most"), [(64, 2.3e6), (256, 6e6)])
def test_a_file_of_twelve_by_twelve_heads_is_small(tokens, most):
    """Bytes in all, 0.1 MB of them fonts and 0.6 MB the page."""
    weights, blobs = weights_lhqk(tokens), Blobs()
    part = {"name": "heads", "query": side(tokens), "key": side(tokens)}
    reading = {"sentence": "", "notes": [], "parts": [part]}
    others = {"all": weights.mean(axis=(0, 1))}
    embedded = embed_tables(reading, {"heads": Tables(weights, others)}, blobs)
    assert len(page_with(embedded, blobs).encode()) <= most
    (note,) = embedded["reading"]["notes"]
    assert "to three digits" in note
    assert ("is not in it" in note) == (tokens > 64)


def two_bytes(content: bytes, start: int, count: int, kind: str) -> np.ndarray:
    low, high = (np.frombuffer(content, "u1", count, start + part * count) for part in (0, 1))
    return (low + (high.astype("<u2") << 8)).astype("<u2").view(kind)


def test_the_largest_weights_are_kept_and_the_rest_is_counted():
    weights = softmax(np.random.default_rng(1).normal(size=(20, 30)) * 3)
    weights[4] = 0
    weights[5, 2:] = 0
    content, left_out = pack_table(weights, Form("largest", 6))
    counts = two_bytes(content, 0, 20, "<u2")
    assert counts[4] == 0
    assert counts[5] == 2
    total = int(counts.sum())
    steps = two_bytes(content, 40, total, "<u2")
    kept = two_bytes(content, 40 + 2 * total, total, "<f2").astype(float)
    rest = two_bytes(content, 40 + 4 * total, 20, "<f2").astype(float)
    for row, start in enumerate(np.cumsum(counts) - counts):
        keys = np.cumsum(steps[start : start + counts[row]])
        best = np.sort(np.argsort(weights[row])[::-1][: counts[row]])
        npt.assert_array_equal(keys, best)
        # float16 has 11 bits: half a unit is 2^-11 of a weight
        npt.assert_allclose(kept[start : start + counts[row]], weights[row, keys], rtol=2**-11)
        npt.assert_allclose(rest[row], weights[row].sum() - weights[row, keys].sum(), atol=2e-3)
    assert left_out == pytest.approx(rest.mean(), abs=2e-3)


def test_the_form_follows_the_size():
    assert choose_form(100, 100) == Form("float32")
    assert choose_form(144 * 64, 64) == Form("float16")
    assert choose_form(144 * 512, 512) == Form("largest", 40)
    assert choose_form(10**6, 1000) == Form("largest", 4)


def test_what_has_no_page_is_explained():
    with pytest.raises(ArgumentError) as caught:
        offline_page(3)
    assert str(caught.value) == (
        "a page can show a reading, steps, an observation or a watched model, got int."
    )


def test_an_observation_keeps_its_maps(tmp_path):
    x = np.random.default_rng(2).normal(size=(2, 50, 4))
    seen = regard.observe(x, x, x, causal=True, map=10, top=3)
    page = seen.picture().save(tmp_path / "it.html").read_text()
    (part,) = embedded_in(page)["run"]["parts"]
    head = part["heads"][0][1]
    assert head["cells"] == [50, 50]
    values = np.frombuffer(block(page, head["blob"]), "<f4")[:2500].reshape(50, 50)
    npt.assert_allclose(values, seen.tile(slice(None), slice(None), 1), atol=1e-6)
    pairs = np.frombuffer(block(page, part["best"][0][1]), "<f4").reshape(50, 3, 2)
    npt.assert_array_equal(pairs[..., 0], seen.top().keys[1])
