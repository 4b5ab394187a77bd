"""Once around the ring: every rank's slice visits every other rank."""

from collections.abc import Callable
from typing import Any

import numpy as np

from regard.self_attention.backends.ring.layout import Layout
from regard.self_attention.backends.ring.post import Post
from regard.self_attention.backends.ring.share import Share
from regard.self_attention.backends.tensors import is_tensor

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
