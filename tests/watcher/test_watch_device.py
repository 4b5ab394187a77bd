"""Models on a device go the same way, tensors all through; here the CPU plays the device."""

import gc
import importlib
import re
import weakref
from copy import deepcopy
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
import transformers as hf
from tests.helpers import quick_interpreter
from tests.helpers.model_families import FAMILIES, batch
from triton.runtime.interpreter import GridExecutor

import regard
from regard.engine import tensors
from regard.engine.gpu import triton_path
from regard.engine.gpu.dispatch import StartedObservation
from regard.errors import ArgumentError, BackendError
from regard.watcher.capture import deferred, model_call, observation, segments

quick_interpreter.install()
FAMILY = {family.name: family for family in FAMILIES}


@pytest.fixture
def kernels(monkeypatch):
    """No tensor counts as lying on the host, and the engine takes them as a device's.

    Triton's interpreter runs the kernels, so little is asked of them.
    """
    for module in (tensors, deferred, segments, model_call, observation):
        monkeypatch.setattr(module, "in_host_memory", lambda tensor: False)
    for name in ("observe", "attention"):
        engine = importlib.import_module(f"regard.engine.{name}")
        monkeypatch.setattr(engine, "on_device", lambda **tensors: True)


@pytest.fixture
def device(kernels, monkeypatch):
    """The same by chunks in torch, as on a device that has no kernels: facts are read at once.

    The kernels are imported first: a kernel that is made without the interpreter stays without it.
    """
    for name in ("best_keys", "sums", "tile"):
        importlib.import_module(f"regard.engine.gpu.kernels.{name}")
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)


def watched(family, padded):
    model, inputs = family.made(), batch(padded)
    options = {"max_new_tokens": 3, "min_new_tokens": 3, "do_sample": False}
    with torch.no_grad(), regard.watch(model, top=4, keep=[1], map=32) as seen:
        if family.kind == "encoder":
            return seen, model(**inputs).last_hidden_state
        return seen, model.generate(**inputs, **options)


@pytest.mark.parametrize("name", ["bert", "albert", "llama", "gemma2", "t5"])
@pytest.mark.parametrize("padded", ["left", "not"])
def test_a_device_sees_the_same(name, padded, request):
    host, expected = watched(FAMILY[name], padded)
    request.getfixturevalue("device")
    seen, actual = watched(FAMILY[name], padded)
    # The same sums in another order, in float32.
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)
    for sentence in range(3):
        for layer_key in host.names:
            one, two = host.sentence(sentence)[layer_key], seen.sentence(sentence)[layer_key]
            for fact in ("entropy", "received", "map", "top_weights"):
                np.testing.assert_allclose(two.facts[fact], one.facts[fact], rtol=0, atol=1e-4)
            for measure in ("first", "previous", "duplicate", "induction"):
                sums = (getattr(x.measures, measure).sum_h for x in (two, one))
                np.testing.assert_allclose(*sums, rtol=0, atol=1e-4)
        tiles = (x.sentence(sentence)[layer_key].tile(0, slice(0, 3)) for x in (seen, host))
        np.testing.assert_allclose(*tiles, rtol=0, atol=1e-4)


WAITS = ("cpu", "item", "tolist", "numpy", "__bool__", "__float__", "__int__", "__index__")


class Clock:
    """Counts what makes the host wait for a device, save where an interpreter plays one."""

    def __init__(self, monkeypatch):
        self.waits = []
        self.inside = False
        for name in WAITS:
            monkeypatch.setattr(torch.Tensor, name, self.counting(name))
        launch = GridExecutor.__call__

        def quietly(*arguments, **named):
            self.inside = True
            try:
                return launch(*arguments, **named)
            finally:
                self.inside = False

        monkeypatch.setattr(GridExecutor, "__call__", quietly)

    def counting(self, name):
        own = getattr(torch.Tensor, name)

        def counted(*arguments, **named):
            if not self.inside:
                self.waits.append(name)
            return own(*arguments, **named)

        return counted


IDS = torch.tensor([[5, 7, 9, 5, 7, 9, 8, 5, 6]])
FEW = {"top": 0, "map": 4}


def seen_by(model, ids=IDS, **options):
    with torch.no_grad(), regard.watch(model, **FEW | options) as seen:
        output = model(ids).logits
    return seen, output


def assert_same(seen, host, layers=(0, 1)):
    for layer in layers:
        one, two = host[layer], seen[layer]
        for fact in ("logsumexp", "entropy", "received", "map"):
            # The same sums in another order, in float32.
            np.testing.assert_allclose(two.facts[fact], one.facts[fact], rtol=0, atol=1e-5)
            assert two.facts[fact].dtype == one.facts[fact].dtype
        np.testing.assert_allclose(two.profile.weight, one.profile.weight, rtol=0, atol=1e-5)
        for part in fields(one.measures):
            sums = (getattr(x.measures, part.name) for x in (two, one))
            for a, b in zip(*(vars(x).values() for x in sums), strict=False):
                np.testing.assert_allclose(a, b, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["llama", "gemma2"])
def test_facts_that_wait_are_the_same(name, request):
    model = FAMILY[name].made()
    host, expected = seen_by(model)
    request.getfixturevalue("kernels")
    seen, actual = seen_by(model)
    records = seen._recorder.runs[0].records
    assert all(record.device_bytes for each in records.values() for record in each)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)
    assert_same(seen, host)
    assert not any(record.device_bytes for each in records.values() for record in each)


def test_a_layer_is_watched_without_waiting_for_the_device(kernels, monkeypatch):
    model = FAMILY["llama"].made()
    with torch.no_grad(), regard.watch(model, **FEW) as seen:
        clock = Clock(monkeypatch)
        model(IDS)
        assert clock.waits == ["cpu", "numpy"]  # the tokens, and no proof
        clock.waits.clear()
        model(IDS)
        assert clock.waits == ["cpu", "numpy"]  # the tokens, before the first layer
        clock.waits.clear()
    assert clock.waits == ["tolist"]  # whether all is fine, of all layers together
    seen.report()
    assert 5 < clock.waits.count("cpu") < 10  # of both layers together


def test_every_call_of_a_shared_module_waits_for_itself(request, monkeypatch):
    sizes = FAMILY["albert"].sizes | {"num_hidden_layers": 3}
    torch.manual_seed(2)
    model = hf.AlbertForMaskedLM(hf.AlbertConfig(**sizes, initializer_range=0.3)).eval()
    host, expected = seen_by(model)
    request.getfixturevalue("kernels")
    with torch.no_grad(), regard.watch(model, **FEW) as seen:
        clock = Clock(monkeypatch)
        actual = model(IDS).logits
        assert clock.waits == ["cpu", "numpy"]
        clock.waits.clear()
        model(IDS)
        assert clock.waits == ["cpu", "numpy"]
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-4)
    for run in (seen.run(0), seen):
        assert [layer_key.layer for layer_key in run.names] == [0, 1, 2]
        assert_same(run, host, layers=(0, 1, 2))


@pytest.mark.parametrize("broken", ["q_proj", "k_proj"])
def test_what_is_no_number_is_said_on_leaving_the_block(broken, kernels):
    """The last layer's query or key holds a nan: known to the device, said when the block ends."""
    model = deepcopy(FAMILY["llama"].made())
    getattr(model.model.layers[1].self_attn, broken).weight.data[3] = torch.nan
    name = "query" if broken == "q_proj" else "key"
    said = f"watch cannot show every layer: {name} must be finite numbers, got nan at [0, 0, 1]."
    with (
        pytest.warns(UserWarning, match=re.escape(said)),
        torch.no_grad(),
        regard.watch(model, **FEW) as seen,
    ):
        model(IDS)
    with pytest.raises(ArgumentError, match="got nan at"):
        seen[1].entropy.sum()


def test_the_layers_of_a_forward_are_launched_together(kernels, monkeypatch):
    """One second pass for all layers of the same shape, at the end of the forward."""
    model, queries = FAMILY["llama"].made(), []
    start = StartedObservation.start

    def counted(query, *arguments):
        queries.append(tuple(query.shape))
        return start(query, *arguments)

    monkeypatch.setattr(StartedObservation, "start", counted)
    with torch.no_grad(), regard.watch(model, **FEW) as seen:
        model(IDS)
        assert [shape[0] for shape in queries] == [2]
        records = seen._recorder.runs[0].records.values()
        assert all(record.pending[0].device_bytes for (record,) in records)
    queries.clear()
    monkeypatch.setattr(observation, "MAX_WAITING_BYTES", 0)
    with torch.no_grad(), regard.watch(model, **FEW):
        model(IDS)
    assert [shape[0] for shape in queries] == [1, 1]


def test_best_keys_and_distances_wait_until_a_fact_is_read(request, monkeypatch):
    """They come from copies: the model's cache may be overwritten meanwhile."""
    model, passes = FAMILY["llama"].made(), []
    with torch.no_grad(), regard.watch(model, top=2, map=4) as host:
        model(IDS)
    request.getfixturevalue("kernels")

    def counted(name, own):
        def run(*arguments, **named):
            passes.append(name)
            return own(*arguments, **named)

        return run

    for name in ("best_keys", "sum_distances"):
        monkeypatch.setattr(triton_path, name, counted(name, getattr(triton_path, name)))
    with torch.no_grad(), regard.watch(model, top=2, map=4) as seen:
        cache = model(IDS, use_cache=True).past_key_values
        for layer in cache.layers:
            layer.keys.zero_()
    assert passes == []
    assert_same(seen, host)
    np.testing.assert_allclose(seen[0].top().weights, host[0].top().weights, rtol=0, atol=1e-5)
    assert passes == ["best_keys", "sum_distances"]  # of both layers together


def test_facts_on_a_device_are_freed_with_what_was_seen(kernels):
    """Without the garbage collector, which comes when it likes."""
    model = FAMILY["llama"].made()
    gc.disable()
    try:
        seen, _ = seen_by(model)
        (record,) = seen._recorder.runs[0].records[seen.names[0]]
        stack = record.pending[0].make.func.__self__
        gone = [weakref.ref(x) for x in (record, stack, stack.started.call.query_hqd)]
        del seen, record, stack
        assert [reference() for reference in gone] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.parametrize("layer_bytes", [0, 2**26])
def test_weights_that_do_not_sum_to_one_are_refused(layer_bytes, kernels, monkeypatch):
    """A log-sum-exp of other scores: known to the device, told when the block ends."""
    model, own = FAMILY["llama"].made(), model_call.ModelCall.own_with_logsumexp

    def another(self):
        output, weights, call = own(self)
        return output, weights, replace(call, logsumexp=call.logsumexp + 0.05)

    monkeypatch.setattr(observation, "MAX_COPIED_BYTES", layer_bytes)
    monkeypatch.setattr(model_call.ModelCall, "own_with_logsumexp", another)
    with pytest.raises(BackendError) as error, torch.no_grad(), regard.watch(model, **FEW):
        model(IDS)
    assert str(error.value) == (
        "LlamaAttention: with the log-sum-exp of the model's own attention the weights regard "
        "would show sum to 0.951 a row, not to 1, so watch shows nothing. The model does something "
        "regard does not know: leave this layer out with layers=..."
    )


def test_what_cannot_be_proven_for_lack_of_numbers_says_so(kernels):
    model = deepcopy(FAMILY["llama"].made())
    model.model.embed_tokens.weight.data[9] = torch.nan  # the third token: query, key and value
    with pytest.warns(UserWarning, match=r"query .* got nan at \[0, 2, 0\]"), torch.no_grad():
        seen_by(model)


def test_the_device_queue_is_bounded(request, monkeypatch):
    model = FAMILY["llama"].made()
    host, _ = seen_by(model)
    request.getfixturevalue("kernels")
    once, _ = seen_by(model)
    size = once._recorder.device_queue.device_bytes // 2  # of a layer
    monkeypatch.setattr(deferred, "MAX_QUEUED_BYTES", 3 * size)
    with torch.no_grad(), regard.watch(model, **FEW) as seen:
        for _ in range(3):
            model(IDS)
        records = [
            run.records[layer_key][0] for run in seen._recorder.runs for layer_key in seen.names
        ]
        pending = [record.device_bytes > 0 for record in records]
    assert pending == [False] * 3 + [True] * 3  # the fourth had half the room made
    assert_same(seen.run(0), host)
    assert_same(seen.run(2), host)


def test_tokens_that_wait_on_a_device(kernels, request):
    """A prompt and tokens after it, of two sentences, one of them padded."""
    model, inputs = FAMILY["llama"].made(), batch("left", 2, 7)
    options = {"max_new_tokens": 4, "min_new_tokens": 4, "do_sample": False}

    def generated():
        with torch.no_grad(), regard.watch(model, **FEW) as seen:
            model.generate(**inputs, **options)
        return seen

    seen = generated()
    assert seen._recorder.runs[0].records[seen.names[1]][1].device_bytes
    request.getfixturevalue("monkeypatch").undo()
    host = generated()
    for sentence in range(2):
        assert_same(seen.sentence(sentence), host.sentence(sentence))


def test_beams_on_a_device(kernels, request):
    """Their facts are read at every token, since the records change places."""
    model = FAMILY["llama"].made()
    options = {"max_new_tokens": 3, "num_beams": 2, "num_return_sequences": 2, "do_sample": False}

    def generated():
        with torch.no_grad(), regard.watch(model, **FEW) as seen:
            model.generate(**batch("not", 1, 5), **options)
        return seen

    seen = generated()
    request.getfixturevalue("monkeypatch").undo()
    host = generated()
    for sentence in range(2):
        assert_same(seen.sentence(sentence), host.sentence(sentence))


def test_a_reordered_cache_is_refused_when_the_block_ends(kernels):
    model, inputs = FAMILY["llama"].made(), batch("not", 2, 5)
    refused = pytest.raises(BackendError, match="keys of the tokens before are not where they were")
    with torch.no_grad(), refused, regard.watch(model, top=0, map=0):
        cache = model(**inputs, use_cache=True).past_key_values
        for layer in cache.layers:
            layer.keys, layer.values = layer.keys.flip(0), layer.values.flip(0)
        model(inputs["input_ids"][:, :1], past_key_values=cache)
