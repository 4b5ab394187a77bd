"""A real server on a real port: many at once, clients that leave, Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from time import monotonic, sleep

import httpx
import pytest
import uvicorn

from regard.errors import ArgumentError
from regard.view.page.jobs import Context
from regard.view.page.server import address, app, bind

LONG = " ".join(["The old man said that the dog saw the cat"] * 12)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Context]]:
    context = Context()
    with bind() as bound:
        port = bound.getsockname()[1]
        config = uvicorn.Config(app(context, port), log_level="error", ws="none", lifespan="on")
        server = uvicorn.Server(config)
        thread = Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        yield address(port).rstrip("/"), context
        server.should_exit = True
        thread.join(timeout=10)


def test_only_this_machine_can_connect():
    with bind() as bound:
        assert bound.getsockname()[0] == "127.0.0.1"


def test_fifty_at_once(served):
    with httpx.Client(base_url=served[0], timeout=60) as client, ThreadPoolExecutor(50) as pool:
        asked = [{"sentence": f"I am good at number {i % 5}.", "quick": i % 2 == 0}
                 for i in range(50)]  # fmt: skip
        answers = list(pool.map(lambda fields: client.post("/api/read", json=fields), asked))
    assert {answer.status_code for answer in answers} == {200}
    assert [answer.json()["sentence"] for answer in answers] == [x["sentence"] for x in asked]
    assert served[1].work.under_way == 0


def test_a_client_that_leaves_does_not_leave_work_running(served):
    url, context = served
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{url}/api/read", json={"sentence": LONG}, timeout=0.3)
    until = monotonic() + 20
    while context.work.under_way and monotonic() < until:
        sleep(0.01)
    assert context.work.under_way == 0
    # Nothing was kept, so it was ended and not finished.
    assert (LONG, False) not in context.readings._kept


def test_ten_megabytes_over_the_wire(served):
    answer = httpx.post(f"{served[0]}/api/read", content=b"x" * 10_000_000, timeout=30)
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("This is too much at once")


def test_an_address_has_its_state_in_it():
    assert address(8000) == "http://127.0.0.1:8000/"
    assert address(8000, "read", sentence="I & you?") == (
        "http://127.0.0.1:8000/#read?sentence=I+%26+you%3F"
    )


def test_a_port_that_is_taken():
    with bind() as bound:
        bound.listen()
        port = bound.getsockname()[1]
        with pytest.raises(ArgumentError) as error:
            bind(port)
    assert str(error.value) == (
        f"port {port} cannot be used (Address already in use): leave --port out to take a free one."
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
            r"The explorer is at (http://127\.0\.0\.1:\d+)/#read\?sentence=A\+dog\+ate\+the\+food\."
            r"\n", line,
        )  # fmt: skip
        assert found, line
        assert process.stdout.readline() == "Ctrl-C stops it.\n"
        assert httpx.get(f"{found[1]}/api/page", timeout=20).json()["files"] == []
        process.send_signal(signal.SIGINT)
        rest, complaints = process.communicate(timeout=20)
    assert (process.returncode, rest, complaints) == (0, "", "Stopped.\n")


def test_ctrl_c_in_the_middle_of_a_translation():
    with start() as process, ThreadPoolExecutor(1) as pool:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1].partition("/#")[0]
        httpx.get(f"{url}/api/page", timeout=20)
        waiting = pool.submit(httpx.post, f"{url}/api/read", json={"sentence": LONG}, timeout=60)
        sleep(1)
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=20)
        assert waiting.exception(timeout=20) is not None or waiting.result().status_code != 200
    assert (process.returncode, complaints) == (0, "Stopped.\n")


def test_open_refuses_what_it_cannot_open():
    for arguments, said in (
        (["none.regard"], "none.regard needs to be a file that regard saved, but there is none."),
        (
            ["none.regard", "A dog"],
            "open needs one sentence or .regard files, but both came: give one or the other.",
        ),
    ):
        with start(*arguments) as process:
            _, complaints = process.communicate(timeout=20)
        assert (process.returncode, complaints) == (2, f"error: {said}\n")
