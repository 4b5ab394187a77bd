"""Keras: its layers, on a backend whose calls can be traced, get the verdict they deserve."""

import os

import pytest

from regard.checker.check import check

os.environ.setdefault("KERAS_BACKEND", "torch")
keras = pytest.importorskip("keras", reason="layers of Keras are checked")
ops, layers = keras.ops, keras.layers


class Heads(keras.Layer):
    def __init__(self, dim, heads, **options):
        super().__init__(**options)
        self.h = heads
        self.q, self.k, self.v, self.o = (layers.Dense(dim) for _ in range(4))

    def split(self, x):
        b, t, _ = x.shape
        return ops.transpose(ops.reshape(x, (b, t, self.h, -1)), (0, 2, 1, 3))

    def call(self, x, training=None):
        b, t, _ = x.shape
        q, k, v = (self.split(layer(x)) for layer in (self.q, self.k, self.v))
        s = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / ops.sqrt(float(q.shape[-1]))
        y = ops.matmul(ops.softmax(s, -1), v)
        return self.o(ops.reshape(ops.transpose(y, (0, 2, 1, 3)), (b, t, -1)))


class WithBuild(keras.Layer):
    power = 0.5

    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units

    def build(self, shape):
        self.w = [self.add_weight(shape=(shape[-1], self.units)) for _ in range(3)]

    def call(self, inputs, mask=None):
        q, k, v = (ops.matmul(inputs, w) for w in self.w)
        s = ops.matmul(q, ops.swapaxes(k, -1, -2)) / self.units**self.power
        if mask is not None:
            s = s + (1.0 - ops.cast(mask, "float32"))[:, None, :] * -1e9
        return ops.matmul(ops.softmax(s), v)


class ByWidth(WithBuild):
    power = 1


def function(q, k, v):
    scaled = ops.matmul(q, ops.swapaxes(k, -1, -2)) / ops.sqrt(float(q.shape[-1]))
    return ops.matmul(ops.softmax(scaled), v)


RIGHT = [layers.MultiHeadAttention, layers.GroupQueryAttention, Heads, WithBuild, function]


@pytest.mark.parametrize("target", RIGHT, ids=lambda x: x.__name__)
def test_a_right_one_passes(target):
    report = check(target)
    assert report.right, str(report)


def test_an_instance_is_checked_as_it_is():
    assert check(layers.MultiHeadAttention(num_heads=3, key_dim=4)).right


def test_a_wrong_one_is_named():
    assert check(ByWidth).mistakes == ("scaling by d",)


def test_another_backend_is_refused(monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "tensorflow")
    (why,) = check(layers.MultiHeadAttention).tried
    assert why == (
        "Keras runs on tensorflow here, whose calls cannot be traced: set KERAS_BACKEND=torch or "
        "KERAS_BACKEND=jax."
    )
