"""A real server on a real port: many at once, clients that leave, Ctrl-C."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from threading import Thread
from time import monotonic, sleep

import httpx
import numpy as np
import pytest
from tests.helpers.command_line import command_here

import regard
from regard.errors import ArgumentError
from regard.transformer.model import Transformer
from regard.view.page.jobs import Context
from regard.view.page.readings import Readings
from regard.view.page.server import HOST, BoundedProtocol, address, bind, make_server

PATIENCE = 180  # seconds: a slow or busy machine is not a wrong server
LONG = " ".join(["The old man said that the dog saw the cat"] * 12)


class Impatient(BoundedProtocol):
    """The same limits, sooner."""

    request_seconds = 0.2
    most_incomplete = 1000


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Context]]:
    with serving(Context()) as found:
        yield found


@contextmanager
def serving(
    context: Context, protocol: type[BoundedProtocol] = BoundedProtocol
) -> Iterator[tuple[str, Context]]:
    with bind() as bound:
        port = bound.getsockname()[1]
        server = make_server(context, port, protocol)
        bound.listen(128)  # from here on a client waits until the server runs
        thread = Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        yield f"http://{HOST}:{port}", context
        server.should_exit = True
        thread.join(timeout=PATIENCE)


def bearer(context: Context) -> dict[str, str]:
    return {"Authorization": f"Bearer {context.token}"}


def connected(url: str, content: bytes) -> socket.socket:
    """A raw connection to which this was sent, and nothing more."""
    connection = socket.create_connection((HOST, int(url.rpartition(":")[2])), timeout=PATIENCE)
    connection.sendall(content)
    return connection


def test_only_this_machine_can_connect():
    with bind() as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_fifty_at_once(served):
    headers = bearer(served[1])
    client = httpx.Client(base_url=served[0], timeout=PATIENCE, headers=headers)
    with client, ThreadPoolExecutor(50) as pool:
        asked = [{"sentence": f"I am good at number {i % 5}.", "quick": i % 2 == 0}
                 for i in range(50)]  # fmt: skip
        answers = list(pool.map(lambda fields: client.post("/api/read", json=fields), asked))
    assert {answer.status_code for answer in answers} == {200}
    assert [answer.json()["sentence"] for answer in answers] == [x["sentence"] for x in asked]
    assert served[1].workers.running == 0


def test_a_client_that_leaves_does_not_leave_work_running(served):
    url, context = served
    soon = httpx.Timeout(PATIENCE, read=0.3)
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            f"{url}/api/read", json={"sentence": LONG}, timeout=soon, headers=bearer(context)
        )
    until = monotonic() + PATIENCE
    while context.workers.running and monotonic() < until:
        sleep(0.01)
    assert context.workers.running == 0
    # Nothing was stored, so it was ended and not finished.
    assert (LONG, False) not in context.readings._cache


def test_ten_megabytes_over_the_wire(served):
    url, context = served
    content = b"x" * 10_000_000
    answer = httpx.post(
        f"{url}/api/read", content=content, timeout=PATIENCE, headers=bearer(context)
    )
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("This is too long: ")


def test_a_refused_body_can_be_sent_to_its_end(served):
    """The answer comes first; a connection that is closed over unread bytes would be reset."""
    url, context = served
    head = (
        f"POST /api/read HTTP/1.1\r\nHost: {url.removeprefix('http://')}\r\n"
        f"Authorization: {bearer(context)['Authorization']}\r\nContent-Length: 4000000\r\n\r\n"
    )
    with connected(url, head.encode()) as connection:
        answer = connection.recv(2**16)
        for _ in range(4):
            connection.sendall(b"x" * 1_000_000)
        answer += b"".join(iter(lambda: connection.recv(2**16), b""))
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"This is too long: " in answer


def test_an_address_has_its_token_and_its_state_in_it():
    assert address(8000, "a-b") == "http://127.0.0.1:8000/?token=a-b"
    assert address(8000, "a-b", "read", sentence="I & you?") == (
        "http://127.0.0.1:8000/?token=a-b#read?sentence=I+%26+you%3F"
    )


@pytest.mark.parametrize("content", [
    b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 40\r\n\r\n{",
    b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n",
])  # fmt: skip
def test_a_request_that_never_ends_is_ended(content):
    context = Context(readings=Readings(Transformer.random(layers=1, heads=1, width=8)))
    with serving(context, Impatient) as (url, _), connected(url, content) as connection:
        try:
            rest = b"".join(iter(lambda: connection.recv(4096), b""))
        except ConnectionResetError:
            rest = b""
    assert rest == b"" or rest.startswith(b"HTTP/1.1 4")  # refused, or ended without a word


def test_a_slow_but_complete_request_is_served(served):
    url, context = served
    head = f"GET / HTTP/1.1\r\nHost: {url[7:]}\r\nAuthorization: Bearer {context.token}"
    with connected(url, head.encode()[:20]) as connection:
        for at in range(20, len(head), 30):
            connection.sendall(head.encode()[at : at + 30])
        connection.sendall(b"\r\nConnection: close\r\n\r\n")
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("content", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_half_sent_requests_do_not_shut_the_reader_out(served, content):
    url, context = served
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connected(url, content))
        answer = httpx.post(f"{url}/api/page", headers=bearer(context), timeout=PATIENCE)
        assert answer.status_code == 200


def test_two_hundred_readers_at_once_are_all_answered(served):
    """All of them connect before the first one sends: none is closed meanwhile."""
    url, context = served
    head = f"GET / HTTP/1.1\r\nHost: {url[7:]}\r\nAuthorization: Bearer {context.token}"
    with ExitStack() as stack:
        readers = [stack.enter_context(connected(url, b"")) for _ in range(200)]
        for reader in readers:
            reader.sendall(f"{head}\r\nConnection: close\r\n\r\n".encode())
        answers = [reader.recv(4096) for reader in readers]
    assert {answer[:15] for answer in answers} == {b"HTTP/1.1 200 OK"}


def test_open_refuses_a_damaged_file(tmp_path):
    x = np.random.default_rng(0).normal(size=(2, 40, 8)).astype(np.float32)
    path = tmp_path / "damaged.regard"
    regard.observe(x, x, x, map=8).save(path, query_and_key=True)
    content = bytearray(path.read_bytes())
    content[-5] ^= 16
    path.write_bytes(content)
    made = command_here("open", "--no-browser", str(path))
    assert (made.returncode, made.stdout) == (2, "")
    assert re.fullmatch(
        rf"error: {re.escape(str(path))} is damaged: the numbers of [\w.]+ are not those that were "
        r"saved\. Make the file again with seen\.save\(\.\.\.\)\.\n",
        made.stderr,
    )


def test_a_port_that_is_taken():
    with bind() as bound:
        bound.listen()
        port = bound.getsockname()[1]
        with pytest.raises(ArgumentError) as error:
            bind(port)
    assert str(error.value) == (
        f"port {port} cannot be used (Address already in use): leave out --port for a free one."
    )


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "regard", "open", "--no-browser", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip


def test_open_says_where_it_is_and_ctrl_c_stops_it():
    with start("A dog ate", "the food.") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(
            r"The explorer is at (http://127\.0\.0\.1:\d+)/\?token=([\w-]{32})"
            r"#read\?sentence=A\+dog\+ate\+the\+food\.\n",
            line,
        )
        assert found, line
        assert process.stdout.readline() == "Ctrl-C stops it.\n"
        url, headers = f"{found[1]}/api/page", {"Authorization": f"Bearer {found[2]}"}
        assert httpx.post(url, timeout=PATIENCE).status_code == 403
        assert httpx.post(url, timeout=PATIENCE, headers=headers).json()["files"] == []
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=PATIENCE)
    assert (process.returncode, rest, complaints) == (0, "", "Stopped.\n")


def test_ctrl_c_in_the_middle_of_a_translation():
    """Many long sentences wait; once one is answered the server is stopped."""
    with (
        start() as process,
        ThreadPoolExecutor(24) as pool,
        httpx.Client(timeout=PATIENCE) as client,
    ):
        assert process.stdout is not None
        url, token = re.findall(r"(http://[\d.:]+)/\?token=([\w-]+)", process.stdout.readline())[0]
        client.headers["Authorization"] = f"Bearer {token}"
        client.post(f"{url}/api/page")
        sentences = [f"{name} says: {LONG}" for name in "ABCDEFGHIJKLMNOPQRSTUVWX"]
        waiting = [
            pool.submit(client.post, f"{url}/api/read", json={"sentence": sentence})
            for sentence in sentences
        ]
        wait(waiting, timeout=PATIENCE, return_when=FIRST_COMPLETED)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=PATIENCE)
        assert any(x.exception(timeout=PATIENCE) or x.result().status_code != 200 for x in waiting)
    assert (process.returncode, complaints) == (0, "Stopped.\n")


def test_open_refuses_what_it_cannot_open(tmp_path):
    garbage = tmp_path / "garbage.regard"
    garbage.write_bytes(b"not a file of regard" * 10)
    for arguments, sentence in (
        (["none.regard"], "No such file: none.regard"),
        (
            ["none.regard", "A dog"],
            "open takes either a sentence or .regard files, not both.",
        ),
        (
            [str(garbage)],
            f"{garbage} is not a complete .regard file: Expecting value: line 1 column 1 (char 0). "
            "It may be cut short or of another kind; make it again with seen.save(...).",
        ),
    ):
        made = command_here("open", *arguments)
        assert (made.returncode, made.stdout, made.stderr) == (2, "", f"error: {sentence}\n")
