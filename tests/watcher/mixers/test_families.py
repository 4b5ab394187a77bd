"""Types of transformers that mix without a softmax, each against its own output."""

import mixer_families
import pytest

QUICK = {
    "qwen3_next": ("Qwen3NextGatedDeltaNet", "2 heads of 8", "tokens, through a convolution"),
    "mamba2": ("Mamba2Mixer", "4 heads of 16", "tokens, through a convolution"),
    "lfm2": ("Lfm2ShortConv", "32 channels", "tokens"),
    "recurrent_gemma": ("RecurrentGemmaRecurrentBlock", "32 channels", "positions of the value"),
}
REFUSED = {"zamba": "two values", "fnet": "no value in it", "rwkv": "no value in it"}


@pytest.mark.parametrize("name", QUICK)
def test_a_type_of_transformers(name):
    (verdict,) = mixer_families.verdicts_of(name)
    assert (verdict.kind, verdict.rows, verdict.columns) == QUICK[name]
    assert_exact(verdict)


def assert_exact(verdict):
    """Float32 keeps seven digits; bfloat16 three bits less than nine of the model's own output."""
    exact, cached, padded, narrow = verdict.errors
    assert float(exact) < 5e-6
    if verdict.model_type not in NO_CACHE:
        assert float(cached) < 1e-5
    if verdict.model_type not in READS_PADDING:
        assert float(padded) < 5e-6
    if "dtype" not in narrow:
        assert float(narrow) < 8 * 2**-7


READS_PADDING = ("recurrent_gemma", "xlstm", "rwkv", "inkling2")
NO_CACHE = ("recurrent_gemma", "inkling2")  # the model's own cache is not one that is passed on


@pytest.mark.nightly
@pytest.mark.parametrize("name", [x for x in mixer_families.TYPES if x not in QUICK])
def test_every_other_type(name):
    verdicts = mixer_families.verdicts_of(name)
    assert verdicts[0].errors
    proven = [x for x in verdicts if x.rows]
    for verdict in proven:
        assert_exact(verdict)
    refused = [x.errors[0] for x in verdicts if not x.rows]
    assert all(REFUSED[name] in x for x in refused)
    assert proven or name in ("zamba", "fnet")
