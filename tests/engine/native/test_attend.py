"""The native attention kernel: its arguments, what it serves, and its results at every level.

The table of cases runs through it in tests/engine/tiles/test_rows.py, and random calls in
tests/engine/test_observe.py, each with every level of this machine.
"""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from tests.helpers.attention_facts import specification

from regard.engine.attention import attention
from regard.engine.call import Requested, prepare
from regard.engine.native import attend
from regard.engine.native.compile import FOLDER
from regard.engine.native.library import levels, using_level
from regard.engine.observe import observe
from regard.engine.threads import using_threads

EPS = np.finfo(np.float32).eps
ALL = Requested(True, True, 4, 16, True, True)
needs_library = pytest.mark.skipif(not levels(), reason="no native library was built here")


@pytest.fixture(autouse=True)
def best_level():
    """The best level of this machine, whatever the environment says."""
    with using_level(levels()[0] if levels() else "off"):
        yield


def arrays(*shape, dtype=np.float32, seed=0):
    random = np.random.default_rng(seed)
    return tuple(random.standard_normal(shape).astype(dtype) for _ in range(3))


def test_the_arguments_have_the_order_of_the_header():
    text = (FOLDER / "attention.h").read_text(encoding="utf-8")
    body = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    body = body[body.index("typedef struct {") : body.index("} AttentionArguments")]
    kinds = {"float": "P", "uint8_t": "P", "int64_t": "q", "double": "d"}
    declared = []
    for line in re.findall(r"(?:const )?(float|uint8_t|int64_t|double) ([^;]+);", body):
        for name in line[1].split(","):
            pointer = "*" in name
            declared.append((name.strip(" *"), "P" if pointer else kinds[line[0]]))
    bound = [(name, kind._type_) for name, kind in attend.AttentionArguments._fields_]
    assert [(name, kind.replace("l", "q")) for name, kind in bound] == declared


@needs_library
def test_a_mask_function_is_left_to_numpy_and_the_cost_says_so():
    seen = observe(*arrays(2, 6, 4), mask=lambda at_q, at_k: at_q >= at_k)
    assert seen.cost.kernels == "NumPy: a mask function"
    assert str(seen.cost).endswith(", NumPy: a mask function")


@needs_library
@pytest.mark.parametrize("dtype", [bool, np.float16, np.float32, np.float64])
def test_a_mask_may_have_any_steps(dtype):
    x, random = arrays(2, 6, 4), np.random.default_rng(1)
    wide = random.random((1, 2, 12, 12)) < 0.7
    mask = wide[..., ::2, ::-2] if dtype is bool else np.where(wide, 0, -np.inf).astype(dtype)
    mask = mask if dtype is bool else mask[..., ::2, ::-2]
    x = tuple(array[None] for array in x)
    for level in levels():
        with using_level(level):
            output = attention(*x, mask=mask)
        np.testing.assert_allclose(output, specification(*x, mask=mask).output, atol=32 * EPS)


@needs_library
def test_what_it_does_not_serve_is_named(monkeypatch):
    x = arrays(2, 6, 4)
    assert attend.reason_against(prepare(*arrays(2, 6, 4, dtype=np.float64)), ALL) == (
        "float64 numbers"
    )
    assert attend.reason_against(prepare(*arrays(2, 0, 4)), ALL) == "an empty array"
    assert attend.reason_against(prepare(*x), Requested(top=65)) == "more than 64 best keys"
    part = Requested(map=2, edges=np.array([0, 2, 6]))
    assert attend.reason_against(prepare(*x), part) == "a part of a larger map"
    monkeypatch.setattr(attend, "PANEL_BYTES", 100)
    assert attend.reason_against(prepare(*x), ALL) == "rows that are too long to keep"
    assert attend.reason_against(prepare(*x), Requested()) is None
    with using_level("off"):
        assert attend.reason_against(prepare(*x), ALL) == "the native kernels are switched off"


@needs_library
def test_the_cost_names_the_level():
    for level in levels():
        with using_level(level):
            assert observe(*arrays(2, 6, 4)).cost.kernels == f"native {level}"


@needs_library
@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("tokens", [1, 3, 127, 128, 300, 700])
@pytest.mark.parametrize("causal", [False, True])
def test_blocks_as_shipped_equal_the_specification(level, tokens, causal):
    x = arrays(2, tokens, 40, seed=tokens)
    true = specification(*x, causal=causal)
    with using_level(level):
        seen = observe(*x, causal=causal, top=4, map=32)
    # A score of 40 terms is off by sqrt(40) / 2 roundings of at most 6, its exponential by as
    # much; a received sum adds up to 700 of them, each at most 1 in sum.
    allowed = 32 * EPS
    np.testing.assert_allclose(seen.output, true.output, atol=4 * allowed)
    np.testing.assert_allclose(seen.entropy, true.entropy(), atol=8 * allowed)
    np.testing.assert_allclose(seen.logsumexp, true.logsumexp(), atol=allowed)
    received = true.weights.sum(axis=-2)
    np.testing.assert_allclose(seen.received, received, atol=allowed * (1 + received.max()))
    largest = -np.sort(-true.weights, axis=-1)[..., :4]
    np.testing.assert_allclose(seen.top().weights[..., : min(4, tokens)], largest, atol=allowed)
    np.testing.assert_allclose(seen.map.sum(axis=-1), 1, atol=allowed)


@needs_library
@pytest.mark.parametrize("level", levels())
def test_a_late_maximum_scales_what_came_before(level):
    query, key, value = arrays(1, 40, 8)
    key[:, 30] *= 1000  # unbounded scores, and for half the queries the largest comes late
    true = specification(query, key, value)
    with using_level(level), pytest.MonkeyPatch.context() as patch:
        patch.setattr(attend, "BLOCK_KEYS", 8)
        seen = observe(query, key, value, top=4, map=4)
        output = attention(query, key, value)
    size = np.abs(true.scores).max()
    np.testing.assert_allclose(seen.tile(slice(None), slice(None)), true.weights, atol=size * EPS)
    for result in (output, seen.output):
        np.testing.assert_allclose(result, true.output, atol=4 * size * EPS)
    np.testing.assert_allclose(seen.received, true.weights.sum(axis=-2), atol=40 * size * EPS)


@needs_library
@pytest.mark.parametrize("level", levels())
@pytest.mark.parametrize("map_size", [1, 3, 16, 100, 700])
def test_any_number_of_threads_and_turns_gives_the_same_bits(level, map_size, monkeypatch):
    x = arrays(3, 700, 24)

    def bits():
        seen = observe(*x, causal=True, map=map_size)
        return [fact.tobytes() for fact in (*seen.facts.values(), seen.profile.weight)]

    with using_level(level):
        once = bits()
        with using_threads(1):
            assert bits() == once
        with using_threads(5):
            assert bits() == once
        monkeypatch.setattr(attend, "FLOPS_PER_CALL", 2**20)
        assert bits() == once


@needs_library
def test_equal_weights_give_the_first_keys():
    x = np.zeros((1, 300, 4), np.float32)
    for level in levels():
        with using_level(level):
            best = observe(x, x, x, top=64, map=0).top()
        assert (best.keys == np.arange(64)).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@needs_library
def test_a_forked_process_has_threads_of_its_own():
    code = """
import os, numpy as np, regard
x = np.random.default_rng(0).standard_normal((8, 400, 64)).astype(np.float32)
once = regard.attention(x, x, x).tobytes()
child = os.fork()
if not child:
    os._exit(regard.attention(x, x, x).tobytes() != once)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    settings = {"PYTHONPATH": os.pathsep.join(sys.path), "REGARD_NATIVE": levels()[0]}
    command = [sys.executable, "-W", "ignore", "-c", code]
    subprocess.run(command, check=True, env=os.environ | settings)
