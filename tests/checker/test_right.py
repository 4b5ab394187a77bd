"""Right code passes with nothing to say: a false alarm is the worst failure."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from regard.checker.check import check
from regard.engine.attention import attention
from regard.textbook.steps import attend


def load(name):
    spec = importlib.util.spec_from_file_location(
        name, Path(__file__).parents[1] / "helpers" / f"{name}.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


right = load("attention_right")
DTYPED = [
    (function, dtype)
    for function in (right.with_einsum, right.with_matmul, right.in_tiles, right.returning_both)
    for dtype in ("float32", "float16")
] + [(function, dtype) for function in right.TORCH[2:] for dtype in ("float16", "bfloat16")]


def assert_nothing_to_say(report):
    assert report.verdict == "right", str(report)
    assert report.mistakes == ()
    assert report.failed == ()
    assert report.raise_if_wrong() is report


@pytest.mark.parametrize("function", [*right.NUMPY, *right.TORCH], ids=lambda f: f.__name__)
def test_a_right_function_passes(function):
    assert_nothing_to_say(check(function))


@pytest.mark.parametrize(("function", "dtype"), DTYPED)
def test_a_right_function_passes_in_every_dtype(function, dtype):
    assert_nothing_to_say(check(function, dtype=dtype))


@pytest.mark.parametrize("name", right.MODULES)
def test_a_right_module_passes(name):
    assert_nothing_to_say(check(right.seeded(right.MODULES[name]).eval()))


def test_the_specification_and_the_engine_pass():
    def specification(query, key, value, *, mask=None, causal=False, offset=None, window=None,
                      softcap=None, scale=None, lengths=None):  # fmt: skip
        given = {"mask": mask, "causal": causal, "offset": offset, "window": window}
        return attend(query, key, value, **given, softcap=softcap, scale=scale,
                      lengths=_by_head(query, lengths)).output  # fmt: skip

    assert_nothing_to_say(check(specification))
    assert_nothing_to_say(check(attention, features=("no lengths", "no window")))


def _by_head(query, lengths):
    return None if lengths is None else np.asarray(lengths)


def test_how_it_was_called_is_said():
    report = check(right.tokens_first)
    assert report.called == (
        "tokens_first(q, k, v) with NumPy float64 arrays (batch, token, head, feature); "
        "it returned output (2, 5, 3, 6)"
    )
    assert "always hides later words" in check(right.always_causal).notes[0]
    assert "last words" in check(right.always_causal_with_a_cache).notes[1]
