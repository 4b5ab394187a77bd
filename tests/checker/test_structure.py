"""What inputs and parameters act on: each fault is found, and choices are differences."""

import numpy as np
import pytest
import torch
from torch import nn

import regard
from regard.checker.check import check
from regard.checker.example import read_call
from regard.checker.structure import understand
from regard.errors import ArgumentError


class Attention(nn.Module):
    """Four heads; ``fault`` and ``choice`` name what is done otherwise."""

    def __init__(self, fault="", choice=""):
        super().__init__()
        self.fault, self.choice, self.parts = fault, choice, 4
        torch.manual_seed(0)  # the same parameters, whatever ran before
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(32, 32) for _ in range(4))
        if choice == "gate":
            self.gate = nn.Linear(32, 32)
        if choice == "distance" or fault == "length":
            self.table = nn.Parameter(torch.randn(64, 8))
        self.num_heads = 8 if fault == "number of heads" else 4

    def heads(self, x, otherwise=False):
        if otherwise:
            return x.unflatten(-1, (-1, self.parts)).permute(0, 3, 1, 2)
        return x.unflatten(-1, (self.parts, -1)).transpose(1, 2)

    def forward(self, x):  # noqa: PLR0912 (each branch is a fault)
        fault = self.fault
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if fault == "value as key":
            k = self.v_proj(x)
        if fault == "bias forgotten":
            v = x @ self.v_proj.weight.T
        if fault == "rolled":
            v = v.roll(1, 1)
        if fault == "angles":
            x = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * torch.ones(32, dtype=x.dtype)
            q, k = q + x.sin() + (2 * x).cos(), k + x.sin() + (2 * x).cos()
        q, k, v = self.heads(q), self.heads(k, fault == "cut"), self.heads(v)
        if fault == "across":
            q, k, v = (a.transpose(1, 2) for a in (q, k, v))
        if fault == "alike":
            q, k, v = (a[:, :1].expand_as(a) for a in (q, k, v))
        if fault == "half":
            q, k = q.half().to(q.dtype), k.half().to(k.dtype)
        if fault == "norm of heads":
            q, k = nn.functional.normalize(q), nn.functional.normalize(k)
        if fault == "tiled":
            k, v = (a[:, :2].repeat(1, 2, 1, 1) for a in (k, v))
        if self.choice == "places":
            q = q * torch.arange(1, q.shape[2] + 1, dtype=q.dtype).log()[:, None]
        scores = q @ k.transpose(-1, -2) / (1 if self.choice == "scale" else 8**0.5)
        if self.choice == "cap":
            scores = 30 * (scores / 30).tanh()
        t = scores.shape[-1]
        if self.choice == "distance" or fault == "length":
            gap = torch.arange(t)[:, None] - torch.arange(t) + (2 * t if fault else 30)
            scores = scores + torch.einsum("bhqd,qkd->bhqk", q, self.table[gap])
        if fault == "cap":
            hidden = scores.masked_fill(torch.ones(t, t).triu(1).bool(), -1e9)
            scores = 5 * (hidden / 5).tanh()
        if fault == "ahead":
            scores = scores.masked_fill(torch.ones(t, t).triu(2).bool(), -torch.inf)
        weights = scores.softmax(-1)
        if fault == "late mask":
            weights = weights * torch.ones(t, t).tril()
        out = weights @ v
        out = (out if fault == "across" else out.transpose(1, 2)).flatten(2)
        if self.choice == "gate":
            out = out * self.gate(x).sigmoid()
        if fault == "returned":
            return self.o_proj(out), weights.sum(1)
        return out if fault == "no output layer" else self.o_proj(out)


class Documented(Attention):
    """Scaled dot-product attention."""


FAULTS = {
    "value as key": "one layer for two roles",
    "bias forgotten": "a parameter is never used",
    "rolled": "keys and values of different words",
    "cut": "heads cut differently",
    "tiled": "a part of a parameter is never used",
    "ahead": "causal mask off by one: sees the next word",
    "late mask": "weights changed after the softmax",
    "no output layer": "a parameter is never used",
    "across": "attention across heads",
    "angles": "sine and cosine of different angles",
    "norm of heads": "normalised over the heads",
    "alike": "heads all alike",
    "half": "statistics in half precision",
    "number of heads": "another number of heads",
    "length": "relative positions that change with the length",
    "cap": "softcap after the mask",
    "returned": "returned weights are not the weights used",
}
CHOICES = {
    "scale": "scores are not divided by √8",
    "cap": "scores are capped at 30 by tanh",
    "gate": "a gate on what the heads give",
    "places": "queries are multiplied by a number of their place",
    "distance": "a learned term of the distance is added (table)",
}


AT_NIGHT = ("tiled", "rolled", "ahead", "no output layer", "number of heads", "cap")


@pytest.mark.parametrize(
    "fault",
    [pytest.param(x, marks=pytest.mark.nightly if x in AT_NIGHT else ()) for x in FAULTS],
)
def test_a_fault_of_structure_is_found(fault):
    found = understand(Attention(fault))
    assert FAULTS[fault] in [x.name for x in found.faults]


def test_a_right_module_is_understood_and_rebuilt():
    found = understand(Attention())
    assert found.sentence == (
        "4 heads of 8; queries, keys and values from `x`; every word sees every key; scale 1/√8"
    )
    assert (found.faults, found.differences, found.open, found.agrees) == ((), (), (), True)


@pytest.mark.parametrize("choice", CHOICES)
def test_a_choice_is_a_difference_and_no_fault(choice):
    report = check(Attention(choice=choice))
    assert (report.verdict, report.status, report.faults) == ("right, with differences", 0, ())
    assert CHOICES[choice] in report.differences
    assert "Understood: 4 heads of 8" in str(report)


def test_the_textbook_can_be_asked_for():
    report = check(Attention(choice="scale"), like="textbook")
    assert (report.status, report.mistakes) == (1, ("no scaling",))
    with pytest.raises(ArgumentError, match=r"^like must be one of auto, textbook, attention"):
        check(Attention(), like="paper")


def test_a_docstring_that_says_otherwise_makes_a_choice_a_fault():
    assert "a scale that contradicts its docstring" in check(Documented(choice="scale")).faults


class OnNumpy:
    """The same with NumPy: its value layer serves as the key."""

    def __init__(self, wrong=False):
        random = np.random.default_rng(0)
        self.w_q, self.w_k, self.w_v = (random.standard_normal((12, 12)) for _ in range(3))
        self.wrong = wrong

    def __call__(self, x):
        q, k, v = x @ self.w_q, x @ (self.w_v if self.wrong else self.w_k), x @ self.w_v
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(12)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v


def test_structure_needs_no_torch():
    assert understand(OnNumpy(), None, "numpy").agrees
    assert check(OnNumpy()).right
    assert "a parameter is never used" in check(OnNumpy(wrong=True)).faults


def test_a_plain_function_is_held_to_the_textbook_unless_it_names_its_choice():
    def attention(q, k, v):
        scores = q @ k.swapaxes(-1, -2)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ v

    assert check(attention).status == 1
    assert check(attention, like="attention").verdict == "right, with differences"
    attention.__doc__ = "Unscaled attention, as in T5."
    assert check(attention).verdict == "right, with differences"


class Cross(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.to_q, self.to_kv = nn.Linear(width, width), nn.Linear(width, 2 * width)

    def forward(self, x, context, scheme):
        if scheme != "exact":
            raise ValueError("there is no other scheme")
        q, (k, v) = self.to_q(x), self.to_kv(context).chunk(2, -1)
        q, k, v = (a.unflatten(-1, (self.heads, -1)).transpose(1, 2) for a in (q, k, v))
        weights = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return (weights @ v).transpose(1, 2).flatten(2)


def test_an_example_call_replaces_guesses():
    module = Cross(24, 3)
    assert check(module).status == 2
    report = regard.check(module, torch.randn(2, 6, 24), torch.randn(2, 9, 24), scheme="exact")
    assert report.status == 0, str(report)
    assert report.facts[0] == "3 heads of 8"
    with pytest.raises(TypeError, match="unexpected keyword 'schem'"):
        check(module, schem="exact")


class Pairs(Attention):
    """What a vector of each two words adds to their score."""

    def __init__(self, exchanged=False):
        super().__init__()
        self.exchanged, self.bias = exchanged, nn.Linear(12, 4, bias=False)

    def forward(self, x, z):
        q, k, v = (self.heads(f(x)) for f in (self.q_proj, self.k_proj, self.v_proj))
        bias = self.bias(z).permute(2, 0, 1)
        bias = bias.transpose(1, 2) if self.exchanged else bias
        weights = (q @ k.transpose(-1, -2) / 8**0.5 + bias).softmax(-1)
        return self.o_proj((weights @ v).transpose(1, 2).flatten(2))


def test_what_pairs_of_words_add_is_read_from_their_place():
    arrays = torch.randn(2, 6, 32), torch.randn(6, 6, 12)
    assert check(Pairs(), *arrays).status == 0
    assert "pairs of words exchanged" in check(Pairs(exchanged=True), *arrays).faults


class Images(nn.Module):
    """Two heads over the places of an image (batch, channel, height, width)."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Conv2d(12, 36, 1), nn.Conv2d(12, 12, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = (a.reshape(b, 2, 6, h * w) for a in self.qkv(x).chunk(3, 1))
        weights = (q.transpose(-1, -2) @ k / 6**0.5).softmax(-1)
        return self.out((v @ weights.transpose(-1, -2)).reshape(b, c, h, w))


def test_an_example_call_is_never_worse_than_none():
    assert check(Images()).status == 0
    assert check(Images(), torch.randn(2, 12, 3, 4)).status == 0


def masked(x, w_q, w_k, w_v, lengths):
    q, k, v = (np.einsum("bnd,dhk->bhnk", x, w) for w in (w_q, w_k, w_v))
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    hidden = np.arange(x.shape[1]) >= lengths[:, None]
    scores = np.where(hidden[:, None, None], -np.inf, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return (e / e.sum(-1, keepdims=True) @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1)


def test_what_the_mask_of_an_example_hides_is_compared_with_what_it_says():
    random = np.random.default_rng(0)
    matrices = [random.standard_normal((8, 2, 4)) for _ in range(3)]
    arrays = (random.standard_normal((2, 5, 8)), *matrices)
    report = check(masked, *arrays, np.array([3, 5]))
    assert report.status == 0, str(report)
    assert "`lengths`: so many keys" in report.facts

    def one_more(x, w_q, w_k, w_v, lengths):
        return masked(x, w_q, w_k, w_v, lengths + 1)

    assert check(one_more, *arrays, np.array([3, 4])).status == 2


def test_a_call_may_stand_in_a_lambda_and_a_part_of_its_result_be_taken():
    names = {"m": Attention(), "x": np.zeros((2, 5, 32)), "abs": abs}
    for text in ("m(x)", "m(x)[0]", "(lambda y: m(y))(x)", "(lambda a: a(x)[0])(m)"):
        target, example = read_call(text, dict(names))
        assert target is names["m"]
        assert example.arguments == (names["x"],)
    with pytest.raises(ArgumentError, match=r"^--call must be a call such as"):
        read_call("x", names)


def test_a_file_can_be_named(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def attention(q, k, v): return v\n")
    assert regard.check(f"{path}:attention").status == 1
    with pytest.raises(ArgumentError, match=r"^function must be a function, or a file and a "):
        regard.check("attention")
