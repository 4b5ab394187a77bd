"""Every answer of a site is the one that the server at home gives."""

import json
import pickle
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from regard.view.page.in_browser import BrowserPage
from regard.view.page.routes.learn import PAGES

pytestmark = pytest.mark.site
DOG = "A dog ate the food because it was hungry"
HARD = "Tom's sister, who lives in Paris, said that she would never buy such a car 😀 again."
FLOAT32, FLOAT64 = 2e-6, 1e-12  # issue 32: how far another order of the same sums may be off
HEAD = {"part": "encoder", "layer": 5, "head": 6}
FIGURE = {
    "title": "A dog",
    "kind": "attention",
    "rows": ["a", "b"],
    "columns": ["a", "b"],
    "values": [[0.5, 0.5], [0.25, 0.75]],
}
REQUESTS = [
    ("/api/page", {}),
    ("/api/read", {"sentence": DOG, "quick": True}),
    ("/api/read", {"sentence": DOG}),
    ("/api/read", {"sentence": HARD}),
    ("/api/read", {"sentence": "The animal did not cross the street because it was too tired."}),
    *(("/api/read", {"sentence": value}) for value in ("", 5, None)),
    ("/api/weights", {"sentence": DOG, "show": "head", **HEAD}),
    ("/api/weights", {"sentence": DOG, "part": "cross", "show": "layer", "layer": 3}),
    ("/api/weights", {"sentence": DOG, "part": "decoder", "show": "rollout"}),
    *(("/api/thumbnails", {"sentence": DOG, "part": part}) for part in ("encoder", "cross")),
    ("/api/steps", {"sentence": DOG, **HEAD}),
    ("/api/steps", {"example": "good"}),
    ("/api/path", {"sentence": DOG, "part": "encoder", "layer": 5}),
    ("/api/path", {"sentence": DOG, "part": "decoder", "layer": 2}),
    ("/api/next", {"sentence": DOG}),
    ("/api/examples", {}),
    ("/api/experiment", {"sentence": DOG, "changes": [{"change": "ablate", **HEAD}]}),
    ("/api/experiment", {"sentence": DOG, "changes": []}),
    ("/api/effects", {"sentence": DOG, "of": 6, "choice": True}),
    ("/api/effects", {"sentence": DOG, "of": 6, "part": "encoder", "layer": 5}),
    ("/api/because", {"sentence": DOG, "query": 6, "key": 1, "layer": 5, "head": 6}),
    ("/api/export/html", {"sentence": DOG, "state": {"layer": 5, "head": 6}}),
    ("/api/export/card", FIGURE),
    ("/api/export/pdf", FIGURE),
    *(("/api/learn", {"page": page}) for page in PAGES),
    ("/api/learn", {"page": "nothing"}),
    ("/api/export/learn", {}),
    ("/api/export/map", {"file": 0}),
    *((f"/api/map/{name}", {"file": 0}) for name in ("about", "heads", "region", "row", "text")),
    ("/api/map/thumbnails", {"file": 0}),
]


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
    return BrowserPage()


def test_the_kernels_serve(answered):
    assert answered[:2] == ("simd128", None)


def test_every_kind_of_answer_is_asked_for(at_home):
    assert {path for path, _ in REQUESTS} == set(at_home.answers) - {"/api/check"}


@pytest.mark.parametrize("number", range(len(REQUESTS)), ids=lambda at: REQUESTS[at][0])
def test_the_answer_is_the_one_at_home(number, answered, at_home):
    path, fields = REQUESTS[number]
    status, headers, content = at_home.answer(path, json.dumps(fields))
    theirs = answered[2][number]
    assert theirs[0] == status
    assert [tuple(header) for header in theirs[1]] == headers
    if theirs[2] != content:
        compare(content, theirs[2], dict(headers))


def compare(ours, theirs, headers):
    kind = headers["Content-Type"]
    if kind == "application/json":
        compare_values(json.loads(ours), json.loads(theirs))
    elif "X-Regard-Shape" in headers:
        x, y = np.frombuffer(ours, "<f4"), np.frombuffer(theirs, "<f4")
        np.testing.assert_allclose(y, x, rtol=0, atol=FLOAT32)
    elif kind == "application/octet-stream":
        compare_blocks(ours, theirs)
    else:
        assert abs(len(ours) - len(theirs)) <= 0.001 * len(ours)


def compare_values(x, y):
    """Words are equal; numbers differ by rounding alone, relative to those above 1."""
    if isinstance(x, dict):
        assert x.keys() == y.keys()
        for name in x:
            if name == "weights" and isinstance(x[name], str):
                continue  # base64 of float32: /api/weights compares them
            compare_values(x[name], y[name])
    elif isinstance(x, list):
        assert len(x) == len(y)
        for one, other in zip(x, y, strict=True):
            compare_values(one, other)
    elif isinstance(x, float):
        assert abs(x - y) <= FLOAT32 * max(1.0, abs(x))
    else:
        assert x == y


def compare_blocks(ours, theirs):
    """A header in JSON, then matrices of float64, then parameters as they are stored."""
    (size,) = struct.unpack("<I", ours[:4])
    (their_size,) = struct.unpack("<I", theirs[:4])
    mine, other = json.loads(ours[4 : 4 + size]), json.loads(theirs[4 : 4 + their_size])
    compare_values(mine, other)
    for name, (rows, columns, start) in mine["matrices"].items():
        first = start * 8
        last = first + rows * columns * 8
        x = np.frombuffer(ours[4 + size + first : 4 + size + last], "<f8")
        y = np.frombuffer(theirs[4 + their_size + first : 4 + their_size + last], "<f8")
        scale = max(1.0, float(np.abs(x[np.isfinite(x)]).max(initial=0)))
        np.testing.assert_allclose(y, x, rtol=0, atol=FLOAT64 * scale, err_msg=name)
