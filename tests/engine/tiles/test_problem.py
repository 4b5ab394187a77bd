"""The exponential of the tiles: whichever of exp and exp2 NumPy vectorises on this machine."""

import numpy as np
import pytest

from regard.engine.tiles import problem
from regard.engine.tiles.arguments import prepare

VECTORISED, PLAIN = {"ff": {"current": "X86_V3"}}, {"ff": {"current": "baseline(X86_V2)"}}


@pytest.fixture
def fresh():
    problem.exp2_is_faster.cache_clear()
    yield
    problem.exp2_is_faster.cache_clear()


@pytest.mark.parametrize(
    ("exp", "exp2", "faster"),
    [(VECTORISED, VECTORISED, True), (VECTORISED, PLAIN, False), (PLAIN, PLAIN, True)],
    ids=["AVX-512", "AVX2", "Arm"],
)
def test_exp2_is_used_where_it_is_vectorised_or_exp_is_not(fresh, monkeypatch, exp, exp2, faster):
    chosen = {"exp": exp, "exp2": exp2}
    monkeypatch.setattr(np.lib.introspect, "opt_func_info", lambda **query: chosen)
    assert problem.exp2_is_faster("f") is faster


def test_numpy_itself_answers_for_both_dtypes(fresh):
    assert {problem.exp2_is_faster(char) for char in "fd"} <= {True, False}


@pytest.mark.parametrize("faster", [True, False])
def test_both_exponentials_agree(monkeypatch, faster):
    monkeypatch.setattr(problem, "exp2_is_faster", lambda char: faster)
    x = np.ones((1, 2, 4), np.float32)
    t = np.linspace(-20, 20, 999, dtype=np.float32)
    out = np.empty_like(t)
    prepare(x, x, x).exponential(t, None, out)
    # The product with ln 2 is off by half a rounding of up to 14, its exponential by as much.
    np.testing.assert_allclose(out, np.exp2(t.astype(np.float64)), rtol=16 * 1.2e-7)
