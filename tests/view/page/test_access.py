"""The page of this machine's user is served and nobody else; every refusal is a sentence."""

import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from regard.transformer.model import Transformer
from regard.view.page.access import (
    INTERNAL_ERROR_MESSAGE,
    MAX_BODY_BYTES,
    NOT_ALLOWED_MESSAGE,
    SECURITY_HEADERS,
    Access,
    Guard,
)
from regard.view.page.jobs import Context
from regard.view.page.readings import Readings
from regard.view.page.server import app, static_files

HOME = "http://127.0.0.1:8000"
TOKEN = "the-right-one"  # noqa: S105
BEARER = {"Authorization": f"Bearer {TOKEN}"}
OTHERS = "Requests from other sites are refused."


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    model = Transformer.random(layers=1, heads=2, width=16)
    context = Context(readings=Readings(model), token=TOKEN)
    with TestClient(app(context, 8000), base_url=HOME, headers=BEARER) as made:
        yield made


@pytest.fixture
def stranger(client: TestClient) -> TestClient:
    """A client that knows no token."""
    return TestClient(client.app, base_url=HOME)


@pytest.mark.smoke
def test_the_page_is_served_with_every_header(client):
    answer = client.get("/")
    assert answer.status_code == 200
    assert {name: answer.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "script" in answer.text
    assert "unsafe" not in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:8001", "localhost.evil:8000", ""]
)
def test_another_host_is_refused(client, host):
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json() == {
        "error": f"This page answers to 127.0.0.1:8000 or localhost:8000, not to {host!r}."
    }


def test_localhost_is_the_same(client):
    assert client.get("/", headers={"Host": "localhost:8000"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8000",
                                    "http://localhost:8000"])  # fmt: skip
def test_another_origin_is_refused(client, origin):
    answer = client.post("/api/read", json={"sentence": "I am good"}, headers={"Origin": origin})
    assert (answer.status_code, answer.json()) == (403, {"error": OTHERS})


def test_its_own_origin_is_served(client):
    answer = client.post("/api/read", json={"sentence": "A dog ate"}, headers={"Origin": HOME})
    assert answer.status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_cannot_use_it_even_without_an_origin(client, site):
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    for path in ("/", "/api/page", "/app.js"):
        answer = client.get(path, headers=headers)
        assert (answer.status_code, answer.json()) == (403, {"error": OTHERS})


def test_a_link_from_elsewhere_may_lead_to_the_page_but_nowhere_else(client):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/api/page", headers=headers).status_code == 403


def test_ten_megabytes_are_refused_politely(client):
    answer = client.post("/api/read", json={"sentence": "dog " * 2_500_000})
    assert answer.status_code == 413
    assert answer.json()["error"] == (
        "This is too long: the page takes up to 256 kB in one request, got 9,766 kB. "
        "Enter one sentence, or open a long text as a file: regard open FILE.regard."
    )


def test_a_body_that_does_not_say_its_length_is_counted(client):
    def pieces() -> Iterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 1024 + 2):
            yield b" " * 1024

    answer = client.post("/api/read", content=pieces())
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("This is too long: ")


@pytest.mark.parametrize("path", [
    "/../server.py", "/static/app.js", "/%2e%2e/server.py", "/..%2fserver.py",
    "/app.js/../server.py", "/etc/passwd", "//etc/passwd", "/app.js%00", "/index.html",
])  # fmt: skip
def test_no_path_reaches_the_file_system(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json() == {"error": "Not found (Not Found)."}


def test_only_what_the_page_is_made_of_is_served(client):
    for name, (content, kind) in static_files().items():
        answer = client.get(f"/{name}")
        assert answer.content == content
        assert answer.headers["content-type"].startswith(kind)


def test_a_wrong_method_is_a_sentence(client):
    answer = client.put("/api/read")
    assert (answer.status_code, "error" in answer.json()) == (405, True)


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_a_sentence(client, body):
    answer = client.post("/api/read", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"] in (
        "a request must be a JSON object.", "sentence must be text, got None."
    )  # fmt: skip


def test_an_error_inside_is_a_sentence_and_tells_nothing(caplog):
    async def broken(scope: object, receive: object, send: object) -> None:
        raise ZeroDivisionError("a secret")

    guard = Guard(broken, 8000, Access(TOKEN, 8000))
    answer = TestClient(guard, base_url=HOME, headers=BEARER).get("/")
    assert (answer.status_code, answer.json()) == (500, {"error": INTERNAL_ERROR_MESSAGE})
    assert "a secret" in caplog.text


@pytest.mark.parametrize("path", [
    "/", "/app.js", "/lib/dom.js", "/api/page", "/nothing", "/?token=", f"/?token={TOKEN}x",
    f"/app.js?token={TOKEN}",
])  # fmt: skip
def test_without_the_token_there_is_nothing(stranger, path):
    answer = stranger.get(path)
    assert (answer.status_code, answer.json()) == (403, {"error": NOT_ALLOWED_MESSAGE})
    assert "set-cookie" not in answer.headers
    assert TOKEN not in answer.text


@pytest.mark.parametrize("headers", [
    {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"},
    {"Cookie": "regard-8000=wrong"}, {"Cookie": f"regard-8001={TOKEN}"}, {"Cookie": "regard-8000="},
    {"Authorization": "Bearer"}, {"Cookie": "regard-8000=\u00e9".encode("latin-1")},
])  # fmt: skip
def test_a_wrong_token_is_refused(stranger, headers):
    answer = stranger.post("/api/read", json={"sentence": "I am good"}, headers=headers)
    assert (answer.status_code, answer.json()) == (403, {"error": NOT_ALLOWED_MESSAGE})


def test_the_token_of_the_address_becomes_a_cookie(stranger):
    answer = stranger.get(f"/?token={TOKEN}")
    assert answer.status_code == 200
    assert answer.headers["set-cookie"] == (
        f"regard-8000={TOKEN}; HttpOnly; SameSite=Strict; Path=/"
    )
    assert TOKEN not in answer.text
    assert stranger.get("/app.js").status_code == 200  # the client sends the cookie now
    assert "set-cookie" not in stranger.get("/").headers


def test_a_strangers_link_with_the_token_still_leads_to_the_page_alone(stranger):
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    answer = stranger.get(f"/?token={TOKEN}", headers=headers)
    assert (answer.status_code, answer.json()) == (403, {"error": OTHERS})


def test_every_server_has_a_token_of_its_own():
    contexts = [Context(), Context()]
    assert contexts[0].token != contexts[1].token
    assert len(contexts[0].token) == 32
    assert contexts[0].token not in repr(contexts[0])


@pytest.mark.parametrize("sentence", ["\ud800 dog", "dog \udfff", "a \udc80"])
def test_half_a_character_is_a_sentence(client, sentence):
    body = json.dumps({"sentence": sentence}).encode()
    answer = client.post("/api/read", content=body)
    message = "a request must not contain a lone surrogate, half of a character: remove it."
    assert (answer.status_code, answer.json()) == (400, {"error": message})


def test_a_pair_of_surrogates_is_one_character(client):
    answer = client.post("/api/read", content=rb'{"sentence": "a \ud83d\ude00 dog"}')
    assert answer.json()["sentence"] == "a \U0001f600 dog"
