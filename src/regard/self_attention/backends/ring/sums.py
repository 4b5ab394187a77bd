"""Small sums over all ranks, added in the order of the ranks, so that every rank has the same."""

import numpy as np

from regard.self_attention.backends.ring.post import Post
from regard.self_attention.backends.ring.share import Share
from regard.self_attention.tiles.problem import Array


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
