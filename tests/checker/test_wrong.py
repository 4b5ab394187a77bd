"""Wrong code as people write it is named; what has no name is still found wrong."""

import importlib.util
from pathlib import Path

import pytest
import torch

from regard.checker.check import check
from regard.errors import ArgumentError


def load(name):
    spec = importlib.util.spec_from_file_location(
        name, Path(__file__).parents[1] / "helpers" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


wrong = load("attention_wrong")
right = load("attention_right")


@pytest.mark.parametrize("function", list(wrong.WRONG), ids=lambda f: f.__name__)
def test_somebodys_mistake_is_named(function):
    report = check(function)
    assert set(report.mistakes) == set(wrong.WRONG[function]), str(report)
    assert report.verdict == "wrong"
    assert report.failed


def test_what_has_no_name_is_wrong_all_the_same():
    report = check(wrong.not_attention)
    assert report.verdict == "wrong"
    assert report.mistakes == ()
    assert report.failed[0].name == "values"
    assert "No mistake of the catalogue" in str(report)


def test_a_module_with_one_layer_for_all_three_is_read():
    torch.manual_seed(0)
    report = check(wrong.NoScale())
    assert report.mistakes == ("no scaling",)
    assert "always hides later words" in report.notes[0]
    assert check(wrong.NoScale(0.5)).right


def test_the_width_of_the_input_is_told_from_the_width_of_a_head():
    torch.manual_seed(0)
    assert check(wrong.OneHead()).mistakes == ("scaling by the model width",)


def test_a_module_whose_dropout_is_on_is_told():
    module = torch.nn.MultiheadAttention(12, 3, dropout=0.5)
    assert check(module.train()).mistakes == ("results that differ between two calls",)
    assert check(module.eval()).right


def test_a_claim_makes_a_missing_mask_a_mistake():
    report = check(right.with_matmul, features=("causal",))
    assert report.mistakes == ("causal mask ignored",)
    report = check(right.always_causal, features=("causal", "last queries"))
    assert report.mistakes == ("causal mask at the wrong corner",)
    assert check(wrong.mask_that_hides, features="mask hides").right
    assert check(wrong.nan_for_empty_rows, features=("no empty rows",)).right


def test_the_smallest_failing_input_shows_both_numbers():
    (values, *_) = check(wrong.brackets).failed
    assert values.name == "values"
    assert values.input.startswith("b=1 h=1 q=1 k=1 d=2") or "q=2 k=2 d=2" in values.input
    assert values.wrong != pytest.approx(values.right)
    assert values.element.startswith("output[")


def test_right_with_fewer_axes_is_noted():
    def for_matrices(q, k, v):
        scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
        return wrong.softmax(scores, axis=1) @ v

    report = check(for_matrices)
    assert report.right
    assert "softmax over heads" in report.notes[0]
    assert check(for_matrices, signature="q k v as bhtd").mistakes == ("softmax over heads",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"signature": "k v"}, "signature needs one of auto, q k v"),
        ({"signature": "q k v as thb"}, None),
        ({"dtype": "int8"}, "dtype needs one of float64, float32, float16, bfloat16, but it is"),
        ({"features": ("quick",)}, "features needs words of causal, last queries"),
    ],
)
def test_arguments_that_cannot_be_used_say_so(arguments, said):
    if said is None:
        report = check(right.with_matmul, **arguments)
        assert report.verdict == "could not check"
        assert report.tried[0].startswith("the axes after 'as' need to be of bhtd")
        return
    if "signature" in arguments:
        assert said in check(right.with_matmul, **arguments).tried[0]
        return
    with pytest.raises(ArgumentError, match=said):
        check(right.with_matmul, **arguments)
