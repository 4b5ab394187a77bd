"""Models on a device go the same way, tensors all through; here the CPU plays the device."""

import sys

import numpy as np
import pytest
import torch
from model_families import FAMILIES, batch

import regard
from regard.models import bridge, stretches

FAMILY = {family.name: family for family in FAMILIES}


@pytest.fixture
def device(monkeypatch):
    """No tensor counts as lying on the host, and the engine takes them as a device's.

    Chunks in torch serve: the kernels have tests of their own, and their interpreter takes minutes.
    """
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(bridge, "on_host", lambda tensor: False)
    monkeypatch.setattr(stretches, "on_host", lambda tensor: False)
    for name in ("observe", "stream"):
        engine = sys.modules[f"regard.self_attention.{name}"]
        monkeypatch.setattr(engine, "on_device", lambda **tensors: True)


def watched(family, padded):
    model, inputs = family.made(), batch(padded)
    options = {"max_new_tokens": 3, "min_new_tokens": 3, "do_sample": False}
    with torch.no_grad(), regard.watch(model, top=4, keep=[1], map=32) as seen:
        if family.kind == "encoder":
            return seen, model(**inputs).last_hidden_state
        return seen, model.generate(**inputs, **options)


@pytest.mark.parametrize("name", ["bert", "llama", "gemma2", "t5"])
@pytest.mark.parametrize("padded", ["left", "not"])
def test_a_device_sees_the_same(name, padded, request):
    host, expected = watched(FAMILY[name], padded)
    request.getfixturevalue("device")
    seen, found = watched(FAMILY[name], padded)
    # The same sums in another order, in float32.
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4)
    for sentence in range(3):
        for place in host.names:
            one, two = host.sentence(sentence)[place], seen.sentence(sentence)[place]
            for fact in ("entropy", "received", "map", "top_weights"):
                np.testing.assert_allclose(two.facts[fact], one.facts[fact], rtol=0, atol=1e-4)
            for measure in ("first", "previous", "duplicate", "induction"):
                sums = (getattr(x.measures, measure).sum_h for x in (two, one))
                np.testing.assert_allclose(*sums, rtol=0, atol=1e-4)
        tiles = (x.sentence(sentence)[place].tile(0, slice(0, 3)) for x in (seen, host))
        np.testing.assert_allclose(*tiles, rtol=0, atol=1e-4)
