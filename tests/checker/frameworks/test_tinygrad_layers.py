"""tinygrad: functions of its tensors, and objects that hold some."""

import math
import shutil

import pytest

from regard.checker.check import check

tinygrad = pytest.importorskip("tinygrad", reason="functions of tinygrad are checked")
if shutil.which("clang") is None:
    pytest.skip("tinygrad needs clang to compute on a processor", allow_module_level=True)
Tensor, nn = tinygrad.Tensor, tinygrad.nn


def plain(q: Tensor, k: Tensor, v: Tensor):
    return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-1) @ v


def built_in(q, k, v, mask=None):
    return Tensor.scaled_dot_product_attention(q, k, v, mask)


def columns(q: Tensor, k: Tensor, v: Tensor):
    return (q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])).softmax(-2) @ v


class Heads:
    def __init__(self, dim, n_heads):
        self.h = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def attend(self, q, k, v):
        return q.scaled_dot_product_attention(k, v)

    def __call__(self, x):
        b, t, e = x.shape
        layers = (self.wq, self.wk, self.wv)
        q, k, v = (w(x).reshape(b, t, self.h, -1).transpose(1, 2) for w in layers)
        return self.wo(self.attend(q, k, v).transpose(1, 2).reshape(b, t, e))


class Unscaled(Heads):
    def attend(self, q, k, v):
        return (q @ k.transpose(-1, -2)).softmax(-1) @ v


class Packed:
    def __init__(self, dim, n_heads):
        self.h = n_heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def __call__(self, x, mask=None):
        b, t, e = x.shape
        q, k, v = (y.reshape(b, t, self.h, -1) for y in self.qkv(x).chunk(3, -1))
        s = Tensor.einsum("bqhd,bkhd->bhqk", q, k) * (e // self.h) ** -0.5
        if mask is not None:
            s = s + mask
        return self.out(Tensor.einsum("bhqk,bkhd->bqhd", s.softmax(-1), v).reshape(b, t, e))


@pytest.mark.parametrize("target", [plain, built_in, Heads, Packed], ids=lambda x: x.__name__)
def test_a_right_one_passes(target):
    report = check(target)
    assert report.right, str(report)


def test_a_wrong_one_is_named():
    assert check(Unscaled).mistakes == ("no scaling",)
    assert check(columns).mistakes == ("softmax over queries",)
