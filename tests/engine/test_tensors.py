"""torch tensors go in where arrays do: the same numbers, and the output a tensor of their kind."""

from importlib.util import find_spec

import numpy as np
import pytest
from tests.helpers import quick_interpreter

import regard
from regard.engine.tensors import as_array, as_wide_array, dtype_name, engine_input, on_device
from regard.errors import ArgumentError, ShapeError

torch = pytest.importorskip("torch", reason="torch is not installed")

from regard.engine.call import Requested  # noqa: E402
from regard.engine.gpu import call as call_module  # noqa: E402
from regard.engine.gpu.dispatch import observe_on_device  # noqa: E402
from regard.textbook.options import DEFAULT_OPTIONS  # noqa: E402

if find_spec("triton") is not None:
    quick_interpreter.install()
EVERYTHING = Requested(True, True, 3, 4, True, True)


@pytest.fixture
def tensors():
    torch.manual_seed(0)
    return [torch.randn(2, 4, 9, 8), torch.randn(2, 2, 9, 8), torch.randn(2, 2, 9, 8)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_output_is_a_tensor_of_the_same_kind(tensors, dtype):
    tensors = [tensor.to(dtype) for tensor in tensors]
    output = regard.attention(*tensors, causal=True)
    seen = regard.observe(*tensors, causal=True)
    assert output.dtype == seen.output.dtype == dtype
    arrays = [as_array(tensor) for tensor in tensors]
    expected = regard.observe(*arrays, causal=True)
    np.testing.assert_array_equal(seen.received, expected.received)
    as_one = torch.from_numpy(np.asarray(expected.output)).to(dtype)
    assert torch.equal(seen.output, as_one)
    assert torch.equal(output, as_one)


def test_a_cpu_tensor_is_not_copied(tensors):
    array = as_array(tensors[0])
    array[0, 0, 0, 0] = 7
    assert tensors[0][0, 0, 0, 0] == 7


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(torch.float16, np.float32), (torch.bfloat16, np.float32), (torch.float32, np.float32),
     (torch.float64, np.float64), (torch.bool, np.bool_), (torch.int64, np.int64)],
)  # fmt: skip
def test_only_16_bit_floats_are_widened_for_the_engine(dtype, expected):
    """A bool mask stays bool: as numbers it would be added to the scores."""
    tensor = torch.ones(2, 3).to(dtype)
    assert as_wide_array(tensor).dtype == engine_input(tensor).dtype == expected
    assert dtype_name(tensor) == str(dtype).removeprefix("torch.")


def test_a_parameter_may_require_a_gradient(tensors):
    query = tensors[0].requires_grad_()
    assert not regard.attention(query, *tensors[1:]).requires_grad


def test_masks_lengths_and_logsumexp_may_be_tensors(tensors):
    mask, lengths = torch.rand(9, 9) < 0.7, torch.tensor([9, 4])
    seen = regard.observe(*tensors, mask=mask, lengths=lengths)
    plain = regard.observe(*map(as_array, tensors), mask=mask.numpy(), lengths=[9, 4])
    np.testing.assert_array_equal(seen.map, plain.map)
    again = regard.observe_from_logsumexp(
        *tensors[:2], torch.from_numpy(seen.logsumexp), mask=mask, lengths=lengths
    )
    np.testing.assert_allclose(again.received, seen.received, rtol=1e-5)


def test_tensors_of_two_devices_are_refused(tensors):
    elsewhere = tensors[1].to("meta")
    with pytest.raises(ArgumentError) as error:
        on_device(query=tensors[0], key=elsewhere, value=tensors[2])
    assert str(error.value) == (
        "query, key, value must be on one device, got query on cpu, key on meta, "
        "value on cpu: move them with .to(device)."
    )


def test_an_observation_from_a_device_is_like_any_other(tensors, tmp_path):
    seen = observe_on_device(*tensors, EVERYTHING, DEFAULT_OPTIONS | {"causal": True})
    expected = regard.observe(*tensors, causal=True, top=3, map=4)
    rough = {"rtol": 1e-5, "atol": 1e-6}
    rectangle = slice(2, 5), slice(1, 4)
    np.testing.assert_allclose(seen.tile(*rectangle), expected.tile(*rectangle), **rough)
    np.testing.assert_allclose(seen.row(8, head=(1, 3)), expected.row(8, head=(1, 3)), **rough)
    np.testing.assert_allclose(seen.received_mean, expected.received_mean, **rough)
    np.testing.assert_allclose(seen.profile.weight, expected.profile.weight, **rough)
    seen.save(tmp_path / "x.regard", query_and_key=True)
    back = regard.load(tmp_path / "x.regard")
    np.testing.assert_array_equal(back.map, seen.map)
    np.testing.assert_allclose(back.row(8, head=(1, 3)), expected.row(8, head=(1, 3)), **rough)
    both = regard.merge(seen, seen)
    np.testing.assert_allclose(both.entropy, expected.entropy + np.log(2), rtol=1e-4)
    assert "Observation of 8 heads" in str(seen)


def test_a_tile_takes_only_its_rectangle_from_the_device(tensors, monkeypatch):
    seen = observe_on_device(*tensors, EVERYTHING, DEFAULT_OPTIONS)
    moved = []
    original = as_array

    def watched(thing):
        moved.append(tuple(thing.shape))
        return original(thing)

    monkeypatch.setattr(call_module, "as_array", watched)
    seen.tile(slice(0, 2), slice(3, 6), head=(0, 1))
    assert moved == [(1, 2, 8), (1, 3, 8)]


def test_nan_is_told_when_a_fact_is_first_read(tensors):
    tensors[0][1, 2, 3, 4] = torch.nan
    seen = observe_on_device(*tensors, EVERYTHING, DEFAULT_OPTIONS)
    for _ in range(2):
        with pytest.raises(ArgumentError) as error:
            _ = seen.entropy
        assert str(error.value) == (
            "query must be finite numbers, got nan at [1, 2, 3, 4]. "
            "If it stands for padding, use lengths or mask instead."
        )


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"key": torch.float16}, ArgumentError,
         "key must have dtype float16, bfloat16, float32 or float64, the same for query, key and "
         "value, got torch.float16: write key.float()."),
        ({"mask": torch.ones(3, 5, dtype=torch.bool)}, ShapeError,
         "mask must have a shape that broadcasts to (2, 4, 9, 9), got (3, 5)."),
        ({"mask": torch.ones(9, 9, dtype=torch.int32)}, ArgumentError,
         "mask must be bool (True = may look) or float (added to the scores), "
         "got dtype torch.int32: write mask.bool()."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_as_on_the_cpu(tensors, change, kind, message):
    tensors[1] = tensors[1].to(change.get("key", torch.float32))
    options = DEFAULT_OPTIONS | {x: y for x, y in change.items() if x != "key"}
    with pytest.raises(kind) as error:
        observe_on_device(*tensors, EVERYTHING, options)
    assert str(error.value) == message
