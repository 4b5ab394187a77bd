"""Arguments of a call on a device: validated once for each kind of call."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from regard.engine.gpu.call import _validated_before, device_call  # noqa: E402
from regard.errors import ArgumentError, ShapeError  # noqa: E402
from regard.textbook.options import DEFAULT_OPTIONS  # noqa: E402

X = torch.zeros(2, 5, 16)


def called(*tensors, **options):
    return device_call(*(tensors or (X, X, X)), DEFAULT_OPTIONS | options)


def test_calls_of_one_kind_share_their_visibility():
    first, second = called(causal=True), called(X + 1, X, X, causal=True)
    assert first.visibility is second.visibility
    assert second.query_hqd[0, 0, 0] == 1
    assert called(causal=True, offset=1).visibility.offset == 1


@pytest.mark.parametrize(
    ("valid", "invalid", "message"),
    [
        ({"causal": True}, {"causal": 1}, "causal must be True or False, got 1."),
        ({"window": (3, 0)}, {"window": (3.0, 0)}, "window must be (left, right), each a whole"),
        ({"window": (3, 0)}, {"window": (3, 0, 0)}, "window must be (left, right), each a whole"),
        ({"offset": 1}, {"offset": 1.0}, "offset must be a whole number, got 1.0."),
        ({"scale": 1}, {"scale": -1}, "scale must be a"),
    ],
)
def test_what_equals_a_valid_argument_is_still_refused(valid, invalid, message):
    called(**valid)
    with pytest.raises(ArgumentError) as error:
        called(**invalid)
    assert str(error.value).startswith(message)


def test_shapes_and_dtypes_are_validated_each():
    called()
    with pytest.raises(ShapeError, match=r"key needs axes \(h_kv, k, d=16\)"):
        called(X, X[..., :8], X)
    with pytest.raises(ArgumentError, match="key needs float16, bfloat16, float32 or float64"):
        called(X, X.half(), X)


def test_masks_and_lengths_are_validated_each_time():
    before = _validated_before.cache_info()
    called(mask=np.ones((5, 5), bool))
    called(X[None], X[None], X[None], lengths=[3])
    assert _validated_before.cache_info() == before
