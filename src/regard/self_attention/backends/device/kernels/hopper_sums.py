"""Sums of a tile, by the layout of Hopper's accumulators: in a thread, then between threads.

Rows r and r + 8 of 16, and columns 8 j + 2 g + b for all j and b, lie in one thread g of four.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from regard.self_attention.backends.device.kernels.hopper import BK, BQ

PAIR = gl.constexpr(128)  # queries in a pair of tiles


@gluon.jit
def halves(p):
    """(64, 128) to (4 warps, 8, 128): rows r and r + 8 of each warp added."""
    return gl.sum(gl.reshape(p, [4, 2, 8, BK]), 1)


@gluon.jit
def in_cells(half, CELL: gl.constexpr):
    """(4, 8, 128) to (4, 8, cells, 4 threads): the columns of a cell in one thread added."""
    return gl.sum(gl.sum(gl.reshape(half, [4, 8, BK // CELL, CELL // 8, 4, 2]), 5), 3)


@gluon.jit
def in_thread(x):
    """(64, 128) to (64, 4 threads): each row's columns that one thread holds added."""
    apart = gl.permute(gl.reshape(x, [BQ, BK // 8, 4, 2]), [0, 2, 1, 3])
    return gl.sum(gl.reshape(apart, [BQ, 4, BK // 4]), 2)


# Sums between threads: first numbers change places, so that what is to be added lies in one thread
# and threads hold different sums. That takes one shuffle for each bit of a place, not for each sum.


@gluon.constexpr_function
def moments_apart():
    """A place for (64 rows, 4 threads, 2 tiles): threads hold rows and tiles."""
    return gl.DistributedLinearLayout(
        [[0, 1, 0], [0, 2, 0]], [[8, 0, 0], [0, 0, 1], [1, 0, 0], [2, 0, 0], [4, 0, 0]],
        [[16, 0, 0], [32, 0, 0]], [], [64, 4, 2],
    )  # fmt: skip


@gluon.jit
def of_rows(moments):
    """(64, 4 threads, 2 tiles) to (64, 2)."""
    return gl.sum(gl.convert_layout(moments, moments_apart()), 1)


@gluon.constexpr_function
def cells_apart(cells, tiles):
    """A place for (4 warps, 8, cells, 4 threads, tiles): threads hold cells and tiles."""
    wide = [[0, 0, 2**i, 0, 0] for i in range((cells - 1).bit_length())]
    wide += [[0, 0, 0, 0, 1]] if tiles == 2 else []
    added = [[0, 1, 0, 0, 0], [0, 2, 0, 0, 0], [0, 4, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 2, 0]]
    number = len(wide)
    return gl.DistributedLinearLayout(
        added[:number], wide + added[number:], [[1, 0, 0, 0, 0], [2, 0, 0, 0, 0]], [],
        [4, 8, cells, 4, tiles],
    )  # fmt: skip


@gluon.jit
def of_cells(cells, CELL: gl.constexpr, TILES: gl.constexpr):
    """(4 warps, 8, cells, 4 threads, tiles) to (4, cells, tiles)."""
    split = gl.reshape(cells, [4, 8, BK // CELL, 4, TILES])
    return gl.sum(gl.sum(gl.convert_layout(split, cells_apart(BK // CELL, TILES)), 3), 1)
