"""Facts on the host through the interface that a device's facts have too."""

import numpy as np

import regard
from regard.engine.interfaces import ArrayFacts, FactsLike


def test_facts_of_the_host_are_arrays_with_shapes():
    facts = ArrayFacts(entropy=np.zeros((2, 3)), map=np.zeros((2, 4, 4)))
    assert isinstance(facts, FactsLike)
    assert facts.shape_of("map") == (2, 4, 4)
    assert (facts.on_device, facts.device_bytes) == (False, 0)
    assert list(facts.without("map")) == ["entropy"]
    assert list(facts) == ["entropy", "map"]


def test_an_observation_of_arrays_is_on_the_host():
    x = np.random.default_rng(0).standard_normal((2, 5, 4))
    seen = regard.observe(x, x, x)
    assert (seen.on_device, seen.device_bytes) == (False, 0)
    part = seen.parts[0]
    assert part.on_host() is part
    assert part.device_weights is part.device_repeats(np.arange(5)) is None
    assert (part.width, seen.profile.resolve()) == (4, seen.profile)
    assert seen.shape_of("map") == seen.map.shape
