"""The plan of the pass over columns: what its kernels are given, without a GPU to run them."""

import ctypes

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

from regard.engine.call import Requested  # noqa: E402
from regard.engine.gpu import hopper  # noqa: E402
from regard.engine.gpu.call import device_call  # noqa: E402
from regard.engine.gpu.cuda_driver import TensorMap  # noqa: E402
from regard.engine.gpu.hopper import (  # noqa: E402
    ColumnPlan,
    HopperCall,
    HopperSizes,
    MapLayout,
    column_plan,
    sum_columns_on_hopper,
)
from regard.engine.gpu.launch import CommonArguments, FactTensors  # noqa: E402
from regard.textbook.options import DEFAULT_OPTIONS  # noqa: E402

SIZES = HopperSizes(torch.bfloat16, 128, 300, 300, 2, 1, 0, 0.1, True, 0)


class Launch:
    """A launch that notes its arguments' numbers when it is called."""

    def __init__(self, name, arguments, launched):
        self.name, self.arguments, self.launched = name, arguments, launched

    def __call__(self, stream):
        numbers = {}
        for argument in self.arguments:
            for field in getattr(argument, "_fields_", []):
                value = getattr(argument, field[0])
                numbers[field[0]] = bytes(value) if field[0] in ("query", "key") else value
        plain = [x.value for x in self.arguments if not isinstance(x, ctypes.Structure)]
        self.launched.append((self.name, stream, numbers or plain))


@pytest.fixture
def launched(monkeypatch):
    """Launches of a stub of the driver: name, stream, numbers."""
    notes = []

    class Kernels:
        def __init__(self, *arguments):
            pass

        def prepare(self, name, grid, threads, *arguments, shared=0):
            return Launch(name, arguments, notes)

    def tensor_map(tensor, rows):
        encoded = TensorMap()
        encoded.opaque[0] = tensor.data_ptr()
        return encoded

    column_plan.cache_clear()
    monkeypatch.setattr(hopper, "module", Kernels)
    monkeypatch.setattr(hopper, "tensor_map", tensor_map)
    monkeypatch.setattr(hopper, "current_stream", lambda index: 7 + index)
    yield notes
    column_plan.cache_clear()


def summed(requested, n=300):
    tensors = [torch.zeros((2, n, 128), dtype=torch.bfloat16) for _ in range(2)]
    call = device_call(*tensors, tensors[1], DEFAULT_OPTIONS | {"causal": True})
    common, facts, total_hq = CommonArguments(call), FactTensors(), torch.zeros(2, n)
    hopper_call = HopperCall(common, live=True)
    threshold_hq = sum_columns_on_hopper(hopper_call, requested, facts, total_hq)
    return hopper_call, facts, total_hq, threshold_hq


def test_a_second_call_launches_the_same_plan_with_its_own_addresses(launched):
    requested = Requested(False, True, 8, 64, True, True)
    for _ in range(2):
        launched.clear()
        call, facts, total_hq, threshold_hq = summed(requested)
        assert [(name, stream) for name, stream, _ in launched] == [
            ("prepare", 7), ("columns", 7), ("reduce", 7),
        ]  # fmt: skip
        prepare, columns, reduce = (numbers for _, _, numbers in launched)
        assert prepare == [total_hq.data_ptr(), call.minus_hq.data_ptr(), 300]
        assert columns["minus"] == call.minus_hq.data_ptr()
        assert columns["received"] == facts.received_hk.data_ptr()
        assert columns["query"] == bytes(call.maps[0])
        assert columns["key"] == bytes(call.maps[1])
        assert columns["query"] != columns["key"]
        assert columns["map"] == facts.map_hrc.data_ptr()  # of blocks of 8: written at once
        assert reduce["entropy"] == facts.entropy_hq.data_ptr()
        assert reduce["threshold"] == threshold_hq.data_ptr()
        assert (reduce["moment"], reduce["highest"]) == (columns["moment"], columns["highest"])
        assert threshold_hq.shape == (2, 384)
    assert column_plan.cache_info().misses == 1


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("top", [0, 8])
@pytest.mark.parametrize("most", [0, 4, 64])
def test_partial_sums_do_not_overlap(entropy, top, most):
    plan = ColumnPlan(SIZES, entropy, top, most)
    groups = 2 * SIZES.programs * SIZES.heads * SIZES.padded
    parts = SIZES.heads * plan.map.parts
    assert parts <= plan.moment_at
    assert plan.moment_at + groups * entropy == plan.highest_at
    assert plan.highest_at + groups * (top > 0) == plan.scratch
    assert plan.moment_at % 4 == plan.highest_at % 4 == 0  # read four at a time


@pytest.mark.parametrize(
    ("queries", "most", "expected"),
    [
        (300, 0, MapLayout((0, 0), 64, 128, 0, False, 128, 0)),
        (300, 64, MapLayout((38, 38), 64, 128, 8, False, 128, 0)),
        (8192, 512, MapLayout((512, 512), 16, 16, 0, True, 16, 512 * 512)),
        (8192, 8, MapLayout((8, 8), 1024, 1024, 0, True, 128, 32 * 64)),
    ],
)
def test_the_layout_of_a_map(queries, most, expected):
    sizes = SIZES._replace(queries=queries, keys=queries)
    assert MapLayout.from_sizes(sizes, most) == expected


def test_without_facts_of_queries_nothing_is_reduced(launched):
    _, facts, _, threshold_hq = summed(Requested(False, False, 0, 0, True, False))
    assert [name for name, _, _ in launched] == ["prepare", "columns"]
    assert threshold_hq is None
    assert facts.entropy_hq is None
    assert facts.map_hrc is None


def test_rows_that_the_copy_engine_cannot_read_are_copied():
    tensor = torch.arange(2 * 8 * 65, dtype=torch.float32).bfloat16().reshape(2, 8, 65)[..., 1:]
    aligned = hopper._aligned(tensor)
    assert torch.equal(aligned, tensor)
    assert aligned.is_contiguous()
    inside = torch.zeros((8, 2, 64), dtype=torch.bfloat16).transpose(0, 1)  # heads inside tokens
    assert hopper._aligned(inside) is inside
