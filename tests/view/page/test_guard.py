"""Nobody but the page on this machine is served, and every refusal is a sentence."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from regard.transformer.model import Transformer
from regard.view.page.guard import BROKEN, HEADERS, LARGEST_BODY, Guard
from regard.view.page.jobs import Context
from regard.view.page.readings import Readings
from regard.view.page.server import app, static_files

HOME = "http://127.0.0.1:8000"
OTHERS = "Another site asked for this; the page answers only to itself."


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    model = Transformer.random(layers=1, heads=2, width=16)
    with TestClient(app(Context(readings=Readings(model)), 8000), base_url=HOME) as found:
        yield found


@pytest.mark.smoke
def test_the_page_is_served_with_every_header(client):
    answer = client.get("/")
    assert answer.status_code == 200
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
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
        "This is too much at once: the page takes up to 256 kB in one request, and 9,766 kB came. "
        "Give one sentence, or open a long text as a file: regard open FILE.regard."
    )


def test_a_body_that_does_not_say_its_length_is_counted(client):
    def pieces() -> Iterator[bytes]:
        for _ in range(LARGEST_BODY // 1024 + 2):
            yield b" " * 1024

    answer = client.post("/api/read", content=pieces())
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("This is too much at once")


@pytest.mark.parametrize("path", [
    "/../server.py", "/static/app.js", "/%2e%2e/server.py", "/..%2fserver.py",
    "/app.js/../server.py", "/etc/passwd", "//etc/passwd", "/app.js%00", "/index.html",
])  # fmt: skip
def test_no_path_reaches_the_file_system(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json() == {"error": "There is nothing here (Not Found)."}


def test_only_what_the_page_is_made_of_is_served(client):
    for name, (content, kind) in static_files().items():
        if name != "index.html":
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
    assert answer.json()["error"].endswith(("but it is none.", "send it as 'sentence'."))


def test_an_error_inside_is_a_sentence_and_tells_nothing(caplog):
    async def broken(scope: object, receive: object, send: object) -> None:
        raise ZeroDivisionError("a secret")

    answer = TestClient(Guard(broken, 8000), base_url=HOME).get("/")
    assert (answer.status_code, answer.json()) == (500, {"error": BROKEN})
    assert "a secret" in caplog.text
