"""Best pairs of keys on Hopper: best and second of groups merged, and put into lists."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from regard.self_attention.backends.device.kernels.hopper import BQ


@gluon.jit
def halve(x, N: gl.constexpr):
    """(64, N, 4) as two of (64, N / 2, 4)."""
    return gl.split(gl.permute(gl.reshape(x, [BQ, N // 2, 2, 4]), [0, 1, 3, 2]))


@gluon.jit
def merge(high_a, low_a, high_b, low_b):
    """Best and second of two groups, each given by its best and second; and the next best."""
    least = gl.minimum(high_a, high_b)
    lows = gl.maximum(low_a, low_b)
    return gl.maximum(high_a, high_b), gl.maximum(least, lows), gl.minimum(least, lows)


@gluon.jit
def fold(high, low, N: gl.constexpr):
    """Pairs of groups merged."""
    high_a, high_b = halve(high, N)
    low_a, low_b = halve(low, N)
    return merge(high_a, low_a, high_b, low_b)


@gluon.jit
def of_both(one, two, lost):
    """The best two of a pair of tiles, the second marked as in best.mark."""
    high, low, left_out = merge(one[0], one[1], two[0], two[1])
    lost = gl.maximum(gl.maximum(lost, left_out), gl.maximum(one[2], two[2]))
    bits = low.to(gl.int32, bitcast=True)
    apart = (high.to(gl.int32, bitcast=True) ^ bits) & 48
    low = (bits | (apart == 0).to(gl.int32)).to(gl.float32, bitcast=True)
    return (high, low), lost


@gluon.jit
def step(v, i, held_v, held_i):
    """Keep the better of two, pass the other on."""
    better = v > held_v
    return (gl.maximum(v, held_v), gl.where(better, i, held_i),
            gl.minimum(v, held_v), gl.where(better, held_i, i))  # fmt: skip


@gluon.jit
def insert(v, i, list_v, list_i):
    """Put an entry into a list of eight, high to low; what falls out comes back."""
    v0, i0, v, i = step(v, i, list_v[0], list_i[0])
    v1, i1, v, i = step(v, i, list_v[1], list_i[1])
    v2, i2, v, i = step(v, i, list_v[2], list_i[2])
    v3, i3, v, i = step(v, i, list_v[3], list_i[3])
    v4, i4, v, i = step(v, i, list_v[4], list_i[4])
    v5, i5, v, i = step(v, i, list_v[5], list_i[5])
    v6, i6, v, i = step(v, i, list_v[6], list_i[6])
    v7, i7, v, i = step(v, i, list_v[7], list_i[7])
    return (v0, v1, v2, v3, v4, v5, v6, v7), (i0, i1, i2, i3, i4, i5, i6, i7), v, i


@gluon.jit
def insert_two(found, block, lists, DEEP: gl.constexpr):
    """Put the candidates of a pair of tiles into the lists."""
    list_v, list_i, more_v, more_i = lists
    here = gl.full([BQ, 4], 0, gl.int32, layout=found[0].type.layout) + block
    list_v, list_i, v, i = insert(found[0], here, list_v, list_i)
    if DEEP:
        more_v, more_i, v, i = insert(v, i, more_v, more_i)
    list_v, list_i, v, i = insert(found[1], here, list_v, list_i)
    if DEEP:
        more_v, more_i, v, i = insert(v, i, more_v, more_i)
    return list_v, list_i, more_v, more_i
