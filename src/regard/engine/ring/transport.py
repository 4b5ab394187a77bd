"""Messages between ranks.

Asynchronous send and receive, one turn of the ring, and ordered small sums.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from regard.engine.ring.failures import GLANCE, Watch
from regard.engine.ring.shares import Share
from regard.engine.ring.token_layout import Layout
from regard.engine.tensors import is_tensor
from regard.typing import Array

# A rank, and what goes to it or the room for what comes from it: an array or a torch tensor.
Letter = tuple[int, Any]


@dataclass
class Post:
    """The letters of one rank: every byte that leaves is counted, every wait is timed."""

    group: Any
    watch: Watch
    sent_bytes: int = 0
    waited_seconds: float = 0.0

    def exchange(self, send: list[Letter], receive: list[Letter]) -> "Delivery":
        """Start sending and receiving; arrays are to be left alone until ``arrived``."""
        send = [(rank, contiguous(array)) for rank, array in send if array.nbytes]
        receive = [(rank, array) for rank, array in receive if array.nbytes]
        self.sent_bytes += sum(array.nbytes for _, array in send)
        operations = [self._operation(dist.isend, *letter) for letter in send]
        operations += [self._operation(dist.irecv, *letter) for letter in receive]
        peers = [rank for rank, _ in (*send, *receive)]
        try:
            works = dist.batch_isend_irecv(operations) if operations else []
        except RuntimeError:
            raise self.watch.lost(peers[-1]) from None
        return Delivery(list(zip(peers, works, strict=False)), [array for _, array in send])

    def arrived(self, delivery: "Delivery") -> None:
        """Wait until everything has come and gone; raise the error that names who is missing."""
        begin, waits_for = time.monotonic(), None
        delivery.start(self.watch.timeout)
        while not delivery.done.wait(GLANCE):
            if waits_for != (waits_for := delivery.peer):
                self.watch.waiting(delivery.peer)
            self.watch.glance()
            if time.monotonic() - begin > self.watch.timeout:
                raise self.watch.late(delivery.peer)
        if waits_for is not None:
            self.watch.going_on()
        self.waited_seconds += time.monotonic() - begin
        if delivery.error is not None:
            late = time.monotonic() - begin >= self.watch.timeout
            raise (self.watch.late if late else self.watch.lost)(delivery.peer)
        delivery.let_go()

    def ready(self, array: Any) -> Any:
        """A tensor of a GPU moved to where the group can send it from; anything else as it is."""
        by_nccl = "nccl" in str(dist.get_backend_config(self.group))
        return array if not is_tensor(array) or by_nccl else array.cpu()

    def _operation(self, action: Any, rank: int, array: Any) -> Any:
        peer = dist.get_global_rank(self.group, rank)
        tensor = array if is_tensor(array) else torch.from_numpy(array)
        return dist.P2POp(action, tensor, peer, self.group)


def contiguous(array: Any) -> Any:
    """As it lies in memory, or a copy that lies so."""
    return array.contiguous() if is_tensor(array) else np.ascontiguousarray(array)


@dataclass
class Delivery:
    """Letters under way. ``kept`` holds what is being sent, so that nobody frees it."""

    works: list[tuple[int, Any]]
    kept: list[Any]
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None
    peer: int = -1

    def start(self, timeout: float) -> None:
        """Wait on a thread of its own: gloo breaks every connection when one wait runs out."""
        threading.Thread(target=self._wait, args=(timeout,), daemon=True).start()

    def let_go(self) -> None:
        """What was sent may be freed."""
        self.works.clear()
        self.kept.clear()

    def _wait(self, timeout: float) -> None:
        try:
            for peer, work in self.works:
                self.peer = peer
                # The watch decides when time is up; this is only so that the thread ends some day.
                work.wait(timedelta(seconds=2 * timeout))
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


Work = Callable[[int, list[Any]], None]


def around(share: Share, post: Post, own: list[Any], layout: Layout, work: Work) -> None:
    """Call ``work`` with every rank and its arrays, this rank's own first.

    The next arrays travel while work is done on these. Arrays have their tokens on axis 1.
    """
    here = [post.ready(array) for array in own]
    for step in range(share.ranks):
        post.watch.at += 1
        if step + 1 == share.ranks:
            work(share.visitor(step), here)
            return
        held = layout.held(share.visitor(step + 1))
        coming = [_room(array, held) for array in here]
        delivery = post.exchange(
            [(share.right, x) for x in here], [(share.left, x) for x in coming]
        )
        work(share.visitor(step), here)
        post.arrived(delivery)
        here = coming


def _room(like: Any, tokens: int) -> Any:
    """Room for as many tokens of the same kind."""
    shape = (like.shape[0], tokens, *like.shape[2:])
    return like.new_empty(shape) if is_tensor(like) else np.empty(shape, like.dtype)


def summed(share: Share, post: Post, arrays: dict[str, Array]) -> dict[str, Array]:
    """The sum of each array over the ranks: it runs once up the ring to be made, once to be told.

    The arrays, float64, have the same shapes on every rank.
    """
    shapes = {name: array.shape for name, array in arrays.items()}
    total = np.concatenate([array.reshape(-1) for array in arrays.values()])
    last = share.ranks - 1
    before = np.empty_like(total)
    post.watch.at += 1
    if share.rank > 0:
        post.arrived(post.exchange([], [(share.left, before)]))
        total = before + total
    if share.rank < last:
        post.arrived(post.exchange([(share.right, total)], []))
        total = np.empty_like(total)
        post.arrived(post.exchange([], [(share.left, total)]))
    if share.ranks > 1 and share.rank != last - 1:
        post.arrived(post.exchange([(share.right, total)], []))
    ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes.values()])[:-1]
    pieces = np.split(total, ends)
    return {x: a.reshape(shapes[x]) for x, a in zip(shapes, pieces, strict=True)}
