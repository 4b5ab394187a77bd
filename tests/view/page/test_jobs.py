"""Jobs are bounded, and end when their client leaves."""

import asyncio
from threading import Event, active_count
from time import monotonic, sleep
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from regard.view.page.access import RefusedError
from regard.view.page.answers import ClientLeftError, Stop
from regard.view.page.jobs import WorkerPool


class Client:
    """Stands for a request: connected until it leaves."""

    def __init__(self) -> None:
        self.left = self.noticed = False

    async def is_disconnected(self) -> bool:
        self.noticed = self.left
        return self.left


def run(steps: Any) -> Any:
    return asyncio.run(steps)


def test_what_is_worked_out_comes_back():
    pool = WorkerPool()
    assert run(pool.run(Client(), lambda stop: 42)) == 42
    assert pool.running == 0


def test_work_ends_when_its_client_leaves():
    pool, client, begun, ended = WorkerPool(), Client(), Event(), Event()

    def endless(stop: Stop) -> None:
        begun.set()
        try:
            while True:
                stop.check()
                sleep(0.001)
        finally:
            ended.set()

    async def leaving() -> None:
        task = asyncio.ensure_future(pool.run(client, endless))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        client.left = True
        with pytest.raises(ClientDisconnect):
            await task

    run(leaving())
    assert ended.is_set()
    assert pool.running == 0


def test_work_that_has_not_begun_never_does():
    pool, gate, done = WorkerPool(workers=1), Event(), []

    async def both() -> None:
        first = asyncio.ensure_future(pool.run(Client(), lambda stop: gate.wait(300)))
        client = Client()
        second = asyncio.ensure_future(pool.run(client, lambda stop: done.append(1)))
        while pool.running < 2:
            await asyncio.sleep(0)
        client.left = True
        while not client.noticed:
            await asyncio.sleep(0.001)
        gate.set()
        await first
        with pytest.raises(ClientDisconnect):
            await second

    run(both())
    assert done == []


def test_the_number_of_workers_is_bounded():
    pool, most, now = WorkerPool(workers=2), [], []

    def busy(stop: Stop) -> None:
        now.append(1)
        most.append(len(now))
        sleep(0.005)
        now.pop()

    async def many() -> None:
        await asyncio.gather(*(pool.run(Client(), busy) for _ in range(30)))

    before = active_count()
    run(many())
    assert max(most) <= 2
    assert active_count() - before <= 2


def test_the_queue_is_bounded():
    pool, gate = WorkerPool(workers=1, most_queued=2), Event()

    async def crowd() -> None:
        waiting = [asyncio.ensure_future(pool.run(Client(), lambda stop: gate.wait(300)))
                   for _ in range(2)]  # fmt: skip
        await asyncio.sleep(0)
        with pytest.raises(RefusedError) as refused:
            await pool.run(Client(), lambda stop: None)
        gate.set()
        await asyncio.gather(*waiting)
        assert (refused.value.status, refused.value.sentence) == (
            503, "The page is busy with many requests: try again in a moment.",
        )  # fmt: skip

    run(crowd())


def test_ending_stops_what_is_running():
    pool, begun = WorkerPool(), Event()

    def endless(stop: Stop) -> None:
        begun.set()
        until = monotonic() + 300
        while monotonic() < until:
            stop.check()
            sleep(0.001)
        raise AssertionError("it was never stopped")

    async def ending() -> None:
        task = asyncio.ensure_future(pool.run(Client(), endless))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        waiting = [asyncio.ensure_future(pool.run(Client(), endless)) for _ in range(4)]
        await asyncio.sleep(0)
        pool.close()
        for each in (task, *waiting):
            with pytest.raises(ClientDisconnect):
                await each
        with pytest.raises(RefusedError, match="The explorer is being stopped"):
            await pool.run(Client(), lambda stop: None)

    run(ending())


def test_a_stop_says_so():
    stop = Stop()
    stop.check()
    stop.set()
    with pytest.raises(ClientLeftError):
        stop.check()
