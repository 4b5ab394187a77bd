"""Arrays in fewer bytes: every bit comes back."""

import numpy as np
import pytest

from regard.errors import FileError
from regard.text.words import TokenizedText
from regard.watcher.files.packed_arrays import packed, unpacked
from regard.watcher.files.watched_file import stored_text, text_arrays

RANDOM = np.random.default_rng(0)
WIDE = RANDOM.standard_normal((4, 50, 40)).astype(np.float32)
BFLOAT16 = (WIDE.view(np.uint32) & 0xFFFF0000).view(np.float32)
SPECIAL = np.resize(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e38], np.float32), (30, 20))
CAUSAL = np.where(np.tri(40, dtype=bool), WIDE[:, :40], np.float32(0))

CASES = {
    "float32": (WIDE, None, 4.0),
    "bfloat16": (BFLOAT16, "bfloat16", 2.0),
    "float16": (WIDE.astype(np.float16).astype(np.float32), "float16", 2.0),
    "special numbers": (SPECIAL, None, 4.0),
    "causal rows": (CAUSAL, "cut", 2.1),
    "a band of rows": (np.triu(CAUSAL, -9), "cut", 1.1),
    "keys": (RANDOM.integers(-1, 2000, (4, 50, 16)), "integers", 2.0),
    "few keys": (RANDOM.integers(0, 255, (400,)), "integers", 1.0),
    "large numbers": (RANDOM.integers(-(2**62), 2**62, (400,)), None, 8.0),
    "range": (np.arange(-300, 300), "range", 0.0),
    "small": (np.arange(3), None, 8.0),
}


@pytest.mark.parametrize("name", CASES)
def test_every_bit_comes_back(name):
    array, kind, bytes_each = CASES[name]
    stored, how = packed({"x": array})
    assert how.get("x", {}).get("kind") == kind
    size = stored["x"].nbytes if "x" in stored else 0
    assert size <= bytes_each * array.size
    if kind == "range":
        return
    back = unpacked(stored["x"], how["x"]) if kind else stored["x"]
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes() == array.tobytes()


def test_another_way_of_packing_is_refused():
    with pytest.raises(FileError) as error:
        unpacked(np.zeros(3, np.uint8), {"kind": "squeezed"})
    assert str(error.value) == "the file packs arrays as 'squeezed', which is not known."


def test_a_text_of_any_characters():
    tokens = ("the", "+re", "é", "", "the", "\ud800", "a\0b", "🙂")
    text = TokenizedText(
        tokens, tokens, ("there", "é", "the\ud800a\0b🙂"), (0, 0, 1, 1, 2, 2, 2, 2)
    )
    assert stored_text(text_arrays(text, "text.0."), "text.0.") == text
    with pytest.raises(FileError) as error:
        stored_text({}, "text.0.")
    assert str(error.value) == "the file promises the tokens 'text.0.', but does not hold them."
