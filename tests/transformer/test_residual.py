"""What is shown digit by digit is the same whatever BLAS NumPy has."""

import os
import subprocess
import sys

import numpy as np
import pytest

from regard.transformer import read

SENTENCE = "A dog ate the food because it was hungry"
LINES = f"""
import sys
from regard.transformer import read
reading = read({SENTENCE!r})
for part, layer, head in (("encoder", 3, 6), ("decoder", 5, 1)):
    steps = reading.steps(layer, head, part=part)
    for stage, array in steps.stages().items():
        for column in range(0, array.shape[1], 3):
            sys.stdout.write(f"{{steps.why(stage, -2, column, digits=6)}}\\n")
"""


def lines(**environment: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-c", LINES],
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return found.stdout.splitlines()


@pytest.fixture(scope="module")
def as_it_is() -> list[str]:
    return lines()


# Kernels for processors with and without fused multiply-add: their sums round in other places.
# OpenBLAS alone knows the variable; with another BLAS this compares two equal runs.
@pytest.mark.parametrize("kernel", ["Haswell", "Sandybridge", "Prescott"])
def test_every_kernel_shows_the_same_lines(as_it_is, kernel):
    assert len(as_it_is) > 500
    assert lines(OPENBLAS_CORETYPE=kernel) == as_it_is


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross"])
def test_the_vectors_are_those_of_the_run_to_its_precision(part):
    reading = read(SENTENCE)
    for layer in (0, 5):
        vectors, call = reading.vectors(part, layer), reading.attention_call(part, layer)
        assert vectors.x_qe.dtype == vectors.memory_ke.dtype == np.float64
        # A run in float32 errs by its unit roundoff times the root of the 512 terms of a sum,
        # and errors of six layers add up as roots do.
        allowed = 2.0**-24 * np.sqrt(6 * 512) * np.abs(vectors.x_qe).max()
        np.testing.assert_allclose(vectors.x_qe, call.x_bqe[0], rtol=0, atol=allowed)
        np.testing.assert_allclose(vectors.memory_ke, call.memory_bke[0], rtol=0, atol=allowed)
        assert 0 < vectors.error < 1e-12
