"""Messages between ranks: asynchronous transfers, passes around the ring, and ordered sums."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from regard.engine.ring.failures import POLL_SECONDS, FailureMonitor
from regard.engine.ring.layout import Layout
from regard.engine.ring.rank_slice import RankSlice
from regard.engine.tensors import is_tensor
from regard.typing import Array

# A rank, and the array or torch tensor to send to it or to receive from it.
Message = tuple[int, Any]


@dataclass
class Transport:
    """Transfers of one rank: counts the bytes that it sends and times its waits."""

    group: Any
    monitor: FailureMonitor
    sent_bytes: int = 0
    waited_seconds: float = 0.0

    def exchange(self, send: list[Message], receive: list[Message]) -> Transfer:
        """Start sending and receiving; the arrays must not be touched before ``wait`` returns."""
        send = [(rank, contiguous(array)) for rank, array in send if array.nbytes]
        receive = [(rank, array) for rank, array in receive if array.nbytes]
        self.sent_bytes += sum(array.nbytes for _, array in send)
        operations = [self._operation(dist.isend, *message) for message in send]
        operations += [self._operation(dist.irecv, *message) for message in receive]
        peers = [rank for rank, _ in (*send, *receive)]
        try:
            works = dist.batch_isend_irecv(operations) if operations else []
        except RuntimeError:
            raise self.monitor.connection_lost(peers[-1]) from None
        return Transfer(list(zip(peers, works, strict=False)), [array for _, array in send])

    def wait(self, transfer: Transfer) -> None:
        """Wait until a transfer is complete, or raise the error that names the rank at fault."""
        begin, waits_for = time.monotonic(), None
        transfer.start(self.monitor.timeout)
        while not transfer.done.wait(POLL_SECONDS):
            if waits_for != (waits_for := transfer.peer):
                self.monitor.note_waiting(transfer.peer)
            self.monitor.raise_if_failed()
            if time.monotonic() - begin > self.monitor.timeout:
                raise self.monitor.timed_out(transfer.peer)
        if waits_for is not None:
            self.monitor.note_running()
        self.waited_seconds += time.monotonic() - begin
        if transfer.error is not None:
            late = time.monotonic() - begin >= self.monitor.timeout
            raise (self.monitor.timed_out if late else self.monitor.connection_lost)(transfer.peer)
        transfer.release()

    def to_sendable(self, array: Any) -> Any:
        """A GPU tensor copied to the CPU unless the group has NCCL; anything else unchanged."""
        by_nccl = "nccl" in str(dist.get_backend_config(self.group))
        return array if not is_tensor(array) or by_nccl else array.cpu()

    def _operation(self, action: Any, rank: int, array: Any) -> Any:
        peer = dist.get_global_rank(self.group, rank)
        tensor = array if is_tensor(array) else torch.from_numpy(array)
        return dist.P2POp(action, tensor, peer, self.group)


def contiguous(array: Any) -> Any:
    """The array, copied only if it is not contiguous."""
    return array.contiguous() if is_tensor(array) else np.ascontiguousarray(array)


@dataclass
class Transfer:
    """Messages under way; ``buffers`` keeps the arrays being sent from being freed."""

    works: list[tuple[int, Any]]
    buffers: list[Any]
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None
    peer: int = -1

    def start(self, timeout: float) -> None:
        """Wait on a thread of its own: gloo breaks every connection when one wait times out."""
        threading.Thread(target=self._wait, args=(timeout,), daemon=True).start()

    def release(self) -> None:
        self.works.clear()
        self.buffers.clear()

    def _wait(self, timeout: float) -> None:
        try:
            for peer, work in self.works:
                self.peer = peer
                # The monitor decides about the timeout; this one only ends the thread.
                work.wait(timedelta(seconds=2 * timeout))
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


Visit = Callable[[int, list[Any]], None]


def ring_pass(
    rank_slice: RankSlice, transport: Transport, first: list[Any], layout: Layout, visit: Visit
) -> None:
    """Send arrays once around the ring and call ``visit`` with every rank and its arrays.

    This rank's own arrays, ``first``, come first; the next ones travel while these are visited.
    Arrays have their tokens on axis 1.
    """
    arrays = [transport.to_sendable(array) for array in first]
    for step in range(rank_slice.ranks):
        transport.monitor.step += 1
        if step + 1 == rank_slice.ranks:
            visit(rank_slice.source_rank(step), arrays)
            return
        tokens = layout.token_count(rank_slice.source_rank(step + 1))
        incoming = [empty_tokens(array, tokens) for array in arrays]
        transfer = transport.exchange(
            [(rank_slice.next_rank, array) for array in arrays],
            [(rank_slice.previous_rank, array) for array in incoming],
        )
        visit(rank_slice.source_rank(step), arrays)
        transport.wait(transfer)
        arrays = incoming


def empty_tokens(like: Any, tokens: int) -> Any:
    """An uninitialised array with this number of tokens, otherwise like another."""
    shape = (like.shape[0], tokens, *like.shape[2:])
    return like.new_empty(shape) if is_tensor(like) else np.empty(shape, like.dtype)


def sum_over_ranks(
    rank_slice: RankSlice, transport: Transport, arrays: dict[str, Array]
) -> dict[str, Array]:
    """The sum of each array over the ranks, in the order of the ranks, so that two runs agree.

    The sum travels once up the ring to be made and once more to reach every rank. The arrays,
    float64, have the same shapes on every rank.
    """
    shapes = {name: array.shape for name, array in arrays.items()}
    total = np.concatenate([array.reshape(-1) for array in arrays.values()])
    last = rank_slice.ranks - 1
    before = np.empty_like(total)
    transport.monitor.step += 1
    if rank_slice.rank > 0:
        transport.wait(transport.exchange([], [(rank_slice.previous_rank, before)]))
        total = before + total
    if rank_slice.rank < last:
        transport.wait(transport.exchange([(rank_slice.next_rank, total)], []))
        total = np.empty_like(total)
        transport.wait(transport.exchange([], [(rank_slice.previous_rank, total)]))
    if rank_slice.ranks > 1 and rank_slice.rank != last - 1:
        transport.wait(transport.exchange([(rank_slice.next_rank, total)], []))
    edges = np.cumsum([np.prod(shape, dtype=int) for shape in shapes.values()])[:-1]
    pieces = np.split(total, edges)
    return {x: a.reshape(shapes[x]) for x, a in zip(shapes, pieces, strict=True)}
