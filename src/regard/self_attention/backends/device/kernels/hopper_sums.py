"""Sums of a tile that stay inside a thread, by the layout of Hopper's accumulators.

Rows r and r + 8 of 16, and columns 8 j + 2 g + b for all j and b, lie in one thread g of four.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

BQ = gl.constexpr(64)  # queries in a tile
BK = gl.constexpr(128)  # keys of one warpgroup


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


@gluon.jit
def totals(total_ptr, tile, mma: gl.constexpr):
    """The log-sum-exp of a tile's queries."""
    at_q = gl.maximum(tile, 0) * BQ + gl.arange(0, BQ, layout=gl.SliceLayout(1, mma))
    return gl.load(total_ptr + at_q)
