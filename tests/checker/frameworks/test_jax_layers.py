"""JAX: functions, and layers of Flax and Equinox, get the verdict they deserve."""

import math

import pytest

from regard.checker.check import check

jax = pytest.importorskip("jax", reason="functions of JAX are checked")
jnp = jax.numpy
linen = pytest.importorskip("flax.linen", reason="layers of Flax are checked")
nnx = pytest.importorskip("flax.nnx", reason="layers of Flax are checked")
eqx = pytest.importorskip("equinox", reason="layers of Equinox are checked")


def plain(q, k, v, mask=None):
    s = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    if mask is not None:
        s = jnp.where(mask, s, -1e9)
    return jax.nn.softmax(s, axis=-1) @ v


@jax.jit
def jitted(q, k, v):
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])) @ v


def with_a_dict(params, x):
    q, k, v = x @ params["wq"], x @ params["wk"], x @ params["wv"]
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(k.shape[-1])) @ v


class Linen(linen.Module):
    num_heads: int
    dropout_rate: float = 0.1

    def scale(self, q, width):
        return 1 / jnp.sqrt(q.shape[-1])

    @linen.compact
    def __call__(self, x, deterministic: bool = True):
        b, t, e = x.shape
        q, k, v = (linen.Dense(e, name=n)(x).reshape(b, t, self.num_heads, -1) for n in "qkv")
        w = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) * self.scale(q, e))
        w = linen.Dropout(self.dropout_rate)(w, deterministic=deterministic)
        return linen.Dense(e)(jnp.einsum("bhqk,bkhd->bqhd", w, v).reshape(b, t, e))


class LinenByModelWidth(Linen):
    def scale(self, q, width):
        return 1 / jnp.sqrt(width)


class LinenWithSetup(linen.Module):
    features: int
    heads: int

    def setup(self):
        self.qkv = linen.Dense(3 * self.features, use_bias=False)
        self.out = linen.Dense(self.features)

    def __call__(self, inputs, mask=None):
        b, t, _ = inputs.shape
        q, k, v = jnp.split(self.qkv(inputs), 3, -1)
        q, k, v = (y.reshape(b, t, self.heads, -1).transpose(0, 2, 1, 3) for y in (q, k, v))
        s = q @ k.transpose(0, 1, 3, 2) / q.shape[-1] ** 0.5
        if mask is not None:
            s = jnp.where(mask, s, -1e30)
        return self.out((jax.nn.softmax(s) @ v).transpose(0, 2, 1, 3).reshape(b, t, -1))


class Nnx(nnx.Module):
    diagonal = 0

    def __init__(self, dim: int, num_heads: int, *, rngs: nnx.Rngs):
        self.h = num_heads
        self.q, self.k, self.v, self.o = (nnx.Linear(dim, dim, rngs=rngs) for _ in range(4))

    def __call__(self, x):
        b, t, e = x.shape
        q, k, v = (f(x).reshape(b, t, self.h, -1).swapaxes(1, 2) for f in (self.q, self.k, self.v))
        mask = jnp.tril(jnp.ones((t, t), bool), self.diagonal)
        s = jnp.where(mask, q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5, -jnp.inf)
        return self.o((jax.nn.softmax(s) @ v).swapaxes(1, 2).reshape(b, t, e))


class NnxAhead(Nnx):
    diagonal = 1


class Eqx(eqx.Module):
    layers: list
    heads: int = eqx.field(static=True)

    def __init__(self, dim, heads, *, key):
        keys = jax.random.split(key, 4)
        self.layers = [eqx.nn.Linear(dim, dim, use_bias=False, key=k) for k in keys]
        self.heads = heads

    def scores(self, q, k):
        return jnp.einsum("qhd,khd->hqk", q, k) / jnp.sqrt(q.shape[-1])

    def __call__(self, x):
        q, k, v = (jax.vmap(f)(x).reshape(len(x), self.heads, -1) for f in self.layers[:3])
        w = jax.nn.softmax(self.scores(q, k))
        return jax.vmap(self.layers[3])(jnp.einsum("hqk,khd->qhd", w, v).reshape(x.shape))


class EqxUnscaled(Eqx):
    def scores(self, q, k):
        return jnp.einsum("qhd,khd->hqk", q, k)


RIGHT = [plain, jitted, with_a_dict, Linen, LinenWithSetup, Nnx, Eqx,
         linen.MultiHeadDotProductAttention, linen.SelfAttention, nnx.MultiHeadAttention,
         eqx.nn.MultiheadAttention, jax.nn.dot_product_attention]  # fmt: skip
WRONG = {
    LinenByModelWidth: "scaling by the model width",
    NnxAhead: "causal mask off by one: sees the next word",
    EqxUnscaled: "no scaling",
}


@pytest.mark.parametrize("target", RIGHT, ids=lambda x: x.__name__)
def test_a_right_one_passes(target):
    report = check(target)
    assert report.right, str(report)


@pytest.mark.parametrize("target", WRONG, ids=lambda x: x.__name__)
def test_a_wrong_one_is_named(target):
    report = check(target)
    assert report.mistakes == (WRONG[target],), str(report)
    assert "np." not in report.hint(3).replace("jnp.", "")
