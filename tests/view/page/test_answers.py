"""The table of answers: plain functions, which the server adds nothing to."""

import subprocess
import sys

import pytest

from regard.errors import ArgumentError
from regard.view.page.answers import Sources, Stop, json_answer, json_fields
from regard.view.page.readings import Readings
from regard.view.page.routes import all_answers

SENTENCE = "A dog ate the food because it was hungry"
HEAD = {"sentence": SENTENCE, "part": "encoder", "layer": 1, "head": 0}
REQUESTS = [
    ("/api/page", {}),
    ("/api/read", {"sentence": SENTENCE}),
    ("/api/weights", HEAD),
    ("/api/thumbnails", {"sentence": SENTENCE, "part": "cross"}),
    ("/api/steps", HEAD),
    ("/api/path", HEAD),
    ("/api/next", {"sentence": SENTENCE}),
    ("/api/examples", {}),
    ("/api/export/html", {"sentence": SENTENCE}),
    ("/api/because", {**HEAD, "query": 1, "key": 0}),
]


@pytest.fixture(scope="module")
def table(small_model):
    return all_answers(Sources(Readings(small_model)))


def test_no_answer_needs_a_web_framework():
    """A static site has none: the browser calls these functions."""
    code = (
        "import sys; from regard.view.page.routes import all_answers;"
        "from regard.view.page.answers import Sources; all_answers(Sources());"
        "print(*{x.partition('.')[0] for x in sys.modules} & {'starlette', 'uvicorn', 'anyio'})"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == ""


@pytest.mark.parametrize(("path", "fields"), REQUESTS, ids=[path for path, _ in REQUESTS])
def test_the_server_passes_an_answer_on_as_it_is(table, client, path, fields):
    answer, served = table[path](fields, Stop()), client.post(path, json=fields)
    assert served.status_code == answer.status == 200
    assert served.content == answer.content
    assert served.headers["content-type"].partition(";")[0] == answer.media_type
    assert answer.headers.items() <= {x.title(): y for x, y in served.headers.items()}.items()


def test_every_answer_is_served_to_post_alone(table, client):
    assert {client.post(path, content=b"[]").status_code for path in table} == {400}
    assert {client.get(path).status_code for path in table} == {405}


def test_a_number_that_json_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_answer({"score": float("nan")})


@pytest.mark.parametrize("body", [b"[]", b"{", b'"text"', b'{"sentence": "\\ud800"}'])
def test_only_a_json_object_is_a_request(body):
    with pytest.raises(ArgumentError, match="a request must"):
        json_fields(body)
