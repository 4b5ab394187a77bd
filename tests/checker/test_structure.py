"""What inputs and parameters act on: each fault is found, and choices are differences."""

import numpy as np
import pytest
import torch
from torch import nn

import regard
from regard.checker.check import check
from regard.checker.structure import understand
from regard.errors import ArgumentError


class Attention(nn.Module):
    """Four heads; ``fault`` and ``choice`` name what is done otherwise."""

    def __init__(self, fault="", choice=""):
        super().__init__()
        self.fault, self.choice, self.h = fault, choice, 4
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(32, 32) for _ in range(4))
        if choice == "gate":
            self.gate = nn.Linear(32, 32)

    def heads(self, x, otherwise=False):
        if otherwise:
            return x.unflatten(-1, (-1, self.h)).permute(0, 3, 1, 2)
        return x.unflatten(-1, (self.h, -1)).transpose(1, 2)

    def forward(self, x):
        fault = self.fault
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if fault == "value as key":
            k = self.v_proj(x)
        if fault == "bias forgotten":
            v = x @ self.v_proj.weight.T
        if fault == "rolled":
            v = v.roll(1, 1)
        q, k, v = self.heads(q), self.heads(k, fault == "cut"), self.heads(v)
        if fault == "tiled":
            k, v = (a[:, :2].repeat(1, 2, 1, 1) for a in (k, v))
        scores = q @ k.transpose(-1, -2) / (1 if self.choice == "scale" else 8**0.5)
        if self.choice == "cap":
            scores = 30 * (scores / 30).tanh()
        t = scores.shape[-1]
        if fault == "ahead":
            scores = scores.masked_fill(torch.ones(t, t).triu(2).bool(), -torch.inf)
        weights = scores.softmax(-1)
        if fault == "late mask":
            weights = weights * torch.ones(t, t).tril()
        out = (weights @ v).transpose(1, 2).flatten(2)
        if self.choice == "gate":
            out = out * self.gate(x).sigmoid()
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
}
CHOICES = {
    "scale": "scores are not divided by √8",
    "cap": "scores are capped at 30 by tanh",
    "gate": "a gate on what the heads give",
}


AT_NIGHT = ("tiled", "rolled", "ahead", "no output layer")


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


def test_a_file_can_be_named(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def attention(q, k, v): return v\n")
    assert regard.check(f"{path}:attention").status == 1
    with pytest.raises(ArgumentError, match=r"^function must be a function, or a file and a "):
        regard.check("attention")
