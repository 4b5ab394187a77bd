"""Every answer of a site is the one that the server at home gives."""

import base64
import json
import pickle
import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from regard.view.page import routes
from regard.view.page.in_browser import BrowserPage
from regard.view.page.routes.learn import PAGES

pytestmark = pytest.mark.site
DOG = "A dog ate the food because it was hungry"
TIRED = "The animal did not cross the street because it was too tired."
HARD = "Tom's sister, who lives in Paris, said that she would never buy such a car 😀 again."
# Other kernels add in another order, in float32 through the layers of the model.
FLOAT32, FLOAT64 = 2e-6, 1e-12
DECIMALS = 1e-6  # the course's numbers have six decimals: half a step on each side
# Numbers of these answers are float64 from the start.
EXACT = {"/api/examples", "/api/because"}
HEAD = {"part": "encoder", "layer": 5, "head": 6}
REDIRECT = [{"change": "redirect", "word": 6, "to": 4, **HEAD}]
FIGURE = {
    "title": "A dog", "caption": "it looks", "provenance": "a test", "what": "weights",
    "kind": "heatmap", "queries": ["A", "dog"], "keys": ["A", "dog"], "axes": ["looks", "is"],
    "steps": base64.b64encode(struct.pack("<4h", 16384, 16383, 8192, 24575)).decode(),
}  # fmt: skip
ANSWERED = [
    ("/api/page", {}),
    ("/api/read", {"sentence": DOG, "quick": True}),
    *(("/api/read", {"sentence": sentence}) for sentence in (DOG, HARD, TIRED)),
    ("/api/weights", {"sentence": DOG, "show": "head", **HEAD}),
    ("/api/weights", {"sentence": DOG, "show": "head", **HEAD, "changes": REDIRECT}),
    ("/api/weights", {"sentence": DOG, "part": "cross", "show": "layer", "layer": 3}),
    ("/api/weights", {"sentence": DOG, "part": "decoder", "show": "rollout"}),
    *(("/api/thumbnails", {"sentence": DOG, "part": x}) for x in ("encoder", "decoder", "cross")),
    ("/api/steps", {"sentence": DOG, **HEAD}),
    ("/api/steps", {"sentence": TIRED, **HEAD, "position": False}),
    ("/api/steps", {"example": "good"}),
    *(("/api/path", {"sentence": DOG, "part": x, "layer": 5}) for x in ("encoder", "cross")),
    ("/api/path", {"sentence": DOG, "part": "decoder", "layer": 2}),
    ("/api/next", {"sentence": DOG}),
    ("/api/examples", {}),
    ("/api/experiment", {"sentence": DOG, "changes": [{"change": "ablate", **HEAD}]}),
    ("/api/experiment", {"sentence": DOG, "changes": REDIRECT}),
    ("/api/effects", {"sentence": DOG, "of": 6, "choice": True}),
    ("/api/effects", {"sentence": DOG, "of": 6, "part": "encoder", "layer": 5}),
    ("/api/because", {"sentence": DOG, "query": 6, "key": 1, "layer": 5, "head": 6}),
    ("/api/export/html", {"sentence": DOG, "state": {"layer": 5}, "tried": [REDIRECT]}),
    ("/api/export/html", {"example": "robots"}),
    ("/api/export/card", FIGURE),
    *(("/api/learn", {"page": page}) for page in PAGES),
    ("/api/export/learn", {}),
]
OF_A_FILE = ("about", "heads", "region", "row", "text", "thumbnails", "weights", "link", "column",
             "mixer")  # fmt: skip
REFUSED = [
    *(("/api/read", {"sentence": value}) for value in ("", 5, None, "a" * 5000)),
    ("/api/experiment", {"sentence": DOG, "changes": []}),
    ("/api/learn", {"page": "nothing"}),
    ("/api/export/pdf", {**FIGURE, "steps": "!"}),
    ("/api/read", {"file": 0}),
    ("/api/export/map", {"file": 0}),
    *((f"/api/map/{name}", {"file": 0}) for name in OF_A_FILE),
    *((f"/api/model/{name}", {"text": DOG}) for name in ("about", "progress", "read")),
    *((f"/api/monitor/{name}", {"training": 0}) for name in ("about", "measure")),
]
REQUESTS = [*ANSWERED, *REFUSED]


@pytest.fixture(scope="module")
def answered(site, tmp_path_factory):
    """The site's answers, in Node, with the level of its kernels."""
    folder = tmp_path_factory.mktemp("answers")
    (folder / "requests.json").write_text(json.dumps(REQUESTS))
    script = Path(__file__).with_name("answers.mjs")
    files = [site.path / site.version, folder / "requests.json", folder / "answers.pickle"]
    subprocess.run(["node", script, *files], check=True, capture_output=True)
    return pickle.loads((folder / "answers.pickle").read_bytes())  # noqa: S301


@pytest.fixture(scope="module")
def at_home():
    with pytest.MonkeyPatch.context() as patch:  # matplotlib, if it is here, would write a PDF
        patch.setattr(routes, "is_installed", lambda: False)
        yield BrowserPage()


def test_the_kernels_serve(answered):
    assert answered[:2] == ("simd128", None)


def test_every_kind_of_answer_is_asked_for(at_home):
    assert {path for path, _ in REQUESTS} == set(at_home.answers) - {"/api/check"}


@pytest.mark.parametrize("number", range(len(REQUESTS)), ids=lambda at: REQUESTS[at][0])
def test_the_answer_is_the_one_at_home(number, answered, at_home):
    path, fields = REQUESTS[number]
    status, headers, content = at_home.answer(path, json.dumps(fields))
    theirs = answered[2][number]
    assert status == (200 if number < len(ANSWERED) else 400)
    assert theirs[0] == status
    assert [tuple(header) for header in theirs[1]] == headers
    if theirs[2] != content:
        compare(path, content, theirs[2], dict(headers))


def compare(path, ours, theirs, headers):
    kind = headers["Content-Type"]
    if kind == "application/json":
        allowed = FLOAT64 if path in EXACT else FLOAT32
        allowed += DECIMALS if path == "/api/learn" else 0
        compare_values(json.loads(ours), json.loads(theirs), allowed)
    elif "X-Regard-Shape" in headers:
        compare_floats(ours, theirs)
    elif kind == "application/octet-stream":
        compare_blocks(ours, theirs)
    else:
        assert without_data(ours) == without_data(theirs)
        assert abs(len(ours) - len(theirs)) <= 0.001 * len(ours)


def compare_values(x, y, allowed):
    """Words are equal; numbers differ by rounding alone, relative to those above 1."""
    if isinstance(x, dict):
        assert x.keys() == y.keys()
        for name in x:
            if name == "weights" and isinstance(x[name], str):
                compare_floats(*map(base64.b64decode, (x[name], y[name])))
            else:
                compare_values(x[name], y[name], allowed)
    elif isinstance(x, list):
        assert len(x) == len(y)
        for one, other in zip(x, y, strict=True):
            compare_values(one, other, allowed)
    elif isinstance(x, float):
        assert abs(x - y) <= allowed * max(1.0, abs(x))
    else:
        assert x == y


def compare_floats(ours, theirs):
    x, y = np.frombuffer(ours, "<f4"), np.frombuffer(theirs, "<f4")
    np.testing.assert_allclose(y, x, rtol=0, atol=FLOAT32)


def without_data(page):
    """A saved page without its compressed numbers, whose last bits and length may differ."""
    data = r'<script type="(?:application/json|text/plain)" id="[^"]*">.*?</script>'
    return re.sub(data, "", page.decode(), flags=re.DOTALL)


def compare_blocks(ours, theirs):
    """A header in JSON, then matrices of float64, then parameters as they are stored."""
    (size,) = struct.unpack("<I", ours[:4])
    (their_size,) = struct.unpack("<I", theirs[:4])
    mine, other = json.loads(ours[4 : 4 + size]), json.loads(theirs[4 : 4 + their_size])
    compare_values(mine, other, FLOAT64)
    for name, (rows, columns, start) in mine["matrices"].items():
        first = start * 8
        last = first + rows * columns * 8
        x = np.frombuffer(ours[4 + size + first : 4 + size + last], "<f8")
        y = np.frombuffer(theirs[4 + their_size + first : 4 + their_size + last], "<f8")
        scale = max(1.0, float(np.abs(x[np.isfinite(x)]).max(initial=0)))
        np.testing.assert_allclose(y, x, rtol=0, atol=FLOAT64 * scale, err_msg=name)
