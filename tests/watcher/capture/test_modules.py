"""Walks over modules, running forwards of models, and the token ids they were given."""

import copy
import io
import pickle
import threading

import pytest
import torch
import transformers as hf
from tests.helpers.model_families import (
    FAMILIES,
    VOCABULARY,
    batch,
    eager,
    recompute_layers,
)
from tests.helpers.shared_modules import albert, check_every_layer, layer_numbers, runs, sharp
from torch import nn

import regard
from regard.watcher.capture.modules import all_modules, module_config, named_modules


class Shared(nn.Module):
    """One module under three names, none under a fourth, and a module that holds itself."""

    def __init__(self):
        super().__init__()
        self.deep = nn.ModuleDict({"inner": nn.Sequential(nn.Linear(2, 2), nn.ReLU())})
        self.first = self.deep["inner"][0]
        self.absent = None
        self.register_module("nothing", None)
        self.list = nn.ModuleList([self.first, nn.Linear(2, 2)])
        self.list.append(self.list)


def jitted():
    return torch.jit.trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.zeros(1, 2))


@pytest.mark.parametrize("make", [Shared, nn.ReLU, *(x.made for x in FAMILIES[:4])])
def test_modules_come_in_torchs_order(make):
    model = make()
    assert named_modules(model) == list(model.named_modules())
    assert all_modules(model) == list(model.modules())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_modules_of_a_scripted_model():
    model = jitted()
    assert [name for name, _ in named_modules(model)] == ["", "0", "1"]


def test_a_config_is_an_attribute_of_the_module_or_of_its_class():
    class Wrapper(nn.Module):
        config = "of the class"

    plain, wrapper = nn.Linear(2, 2), Wrapper()
    assert module_config(plain) is None
    assert module_config(wrapper) == "of the class"
    plain.config, wrapper.config = "of the module", "of the module"
    assert module_config(plain) == module_config(wrapper) == "of the module"


def test_every_forward_is_a_text():
    model = albert(num_hidden_groups=2)
    texts = [batch("not", 1, tokens)["input_ids"] for tokens in (11, 7, 11)]
    with torch.no_grad(), regard.watch(model, top=4) as seen:
        for ids in texts:
            model(ids)
    assert runs(seen) == 3
    for number, ids in enumerate(texts):
        expected = eager(model, lambda ids=ids: model(ids, output_attentions=True)).attentions
        check_every_layer(seen.run(number), expected)


def hooks(model):
    return [(len(x._forward_pre_hooks), len(x._forward_hooks)) for x in model.modules()]


class Holder(torch.nn.Module):
    """A module that holds a model, and calls its forward without its hooks."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model.forward(ids)


@pytest.mark.parametrize("watched", ["head", "base", "holder"])
def test_a_model_inside_another(watched):
    model, ids = albert(hf.AlbertForMaskedLM), batch("not", 1)["input_ids"]
    expected = eager(model, lambda: model(ids, output_attentions=True)).attentions
    inner = model.albert if watched == "base" else model
    run = Holder(model.albert) if watched == "holder" else model
    before = hooks(run)
    with torch.no_grad(), regard.watch(run if watched == "holder" else inner, top=4) as seen:
        run(ids)
        run(ids)
    assert runs(seen) == 2
    check_every_layer(seen.run(0), expected)
    check_every_layer(seen, expected)
    assert hooks(run) == before


class Stopped(Exception):  # noqa: N818
    """What a test stops a forward with."""


@pytest.mark.parametrize("error", [Stopped, KeyboardInterrupt])
@pytest.mark.parametrize("after", [1, 3])
def test_a_forward_that_breaks_off(after, error):
    """The calls of a forward that an error ended do not count for the next."""
    model, ids, count = albert(), batch("not", 1)["input_ids"], []

    def stop(*_):
        count.append(1)
        if len(count) == after:
            raise error

    expected = eager(model, lambda: model(ids, output_attentions=True)).attentions
    with torch.no_grad(), regard.watch(model, top=4) as seen:
        model(ids)
        hook = model.encoder.albert_layer_groups[0].register_forward_hook(stop)
        with pytest.raises(error):
            model(ids)
        hook.remove()
        model(ids)
    assert runs(seen) == 3
    check_every_layer(seen.run(0), expected)
    assert layer_numbers(seen.run(1)) == list(range(after))
    check_every_layer(seen, expected)


def test_the_first_forward_breaks_off():
    model, ids = albert(num_hidden_groups=2), batch("not", 1)["input_ids"]

    def stop(*_):
        raise Stopped

    expected = eager(model, lambda: model(ids, output_attentions=True)).attentions
    with torch.no_grad(), regard.watch(model, top=4) as seen:
        hook = model.encoder.albert_layer_groups[1].register_forward_hook(stop)
        with pytest.raises(Stopped):
            model(ids)
        hook.remove()
        model(ids)
    assert layer_numbers(seen.run(0)) == [0, 1, 2]
    check_every_layer(seen, expected)


def test_another_thread_in_the_middle_of_a_forward():
    """Its forward is no beginning of ours, and its tokens are not ours."""
    model, inputs, other = albert(), batch("not", 1), batch("not", 1, 7)
    expected = eager(model, lambda: model(**inputs, output_attentions=True)).attentions
    busy = []

    def elsewhere():
        with torch.no_grad():
            model(**other)

    def between(*_):
        if not busy:
            busy.append(threading.Thread(target=elsewhere))
            busy[0].start()
            busy[0].join()

    hook = model.encoder.albert_layer_groups[0].register_forward_hook(between)
    with torch.no_grad(), regard.watch(model, top=4) as seen:
        model(**inputs)
    hook.remove()
    assert runs(seen) == 1
    check_every_layer(seen, expected)
    tokens = seen._recorder.runs[0].tokens["encoder"][0]
    assert tokens.tolist() == inputs["input_ids"][0].tolist()


@pytest.mark.parametrize("reentrant", [False, True])
def test_layers_that_are_computed_again_for_gradients(reentrant):
    """Checkpointing runs a layer once more on the way back: no text, no layer."""
    config = hf.BertConfig(vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=3,
                           num_attention_heads=4, intermediate_size=24, hidden_dropout_prob=0.0,
                           attention_probs_dropout_prob=0.0)  # fmt: skip
    model, inputs = sharp(hf.BertModel(config)).train(), batch("right")
    word = model.embeddings.word_embeddings.weight

    def gradient():
        model.zero_grad()
        model(**inputs).last_hidden_state.square().sum().backward()
        return word.grad.clone()

    recompute_layers(model, use_reentrant=reentrant)
    model.embeddings.register_forward_hook(lambda _, __, output: output.requires_grad_())
    expected = gradient()
    with regard.watch(model) as seen:
        actual = gradient()
        gradient()
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    assert runs(seen) == 2
    assert layer_numbers(seen) == [0, 1, 2]


class Interrupted(nn.Module):
    """Three layers of attention; an exception comes before the last where one is set."""

    def __init__(self):
        super().__init__()
        self.a = nn.ModuleList(nn.MultiheadAttention(16, 2, batch_first=True) for _ in range(3))
        self.error = None

    def forward(self, x):
        for number, layer in enumerate(self.a):
            if number == 2 and self.error is not None:
                raise self.error
            x = x + layer(x, x, x, need_weights=False)[0]
        return x


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, RuntimeError])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_forward_after_one_that_was_interrupted_has_its_own_layers(error, wrapped):
    torch.manual_seed(0)
    inner = Interrupted().eval()
    net = nn.Sequential(inner) if wrapped else inner
    x = torch.randn(1, 5, 16)
    with torch.no_grad(), regard.watch(net) as expected:
        net(x)
    with torch.no_grad(), regard.watch(net) as seen:
        inner.error = error()
        with pytest.raises(error):
            net(x)
        inner.error = None
        net(x)
    assert seen.paths == expected.paths
    assert len(seen.names) == 3
    for layer in range(3):
        assert (seen[layer].map == expected[layer].map).all()


def test_attention_outside_of_modules_after_an_interrupt_belongs_to_none():
    net, q = Interrupted().eval(), torch.randn(1, 2, 4, 8)
    net.error = KeyboardInterrupt()
    with torch.no_grad(), regard.watch() as seen:
        with pytest.raises(KeyboardInterrupt):
            net(torch.randn(1, 5, 16))
        nn.functional.scaled_dot_product_attention(q, q, q)
    assert list(seen.paths) == ["a.0", "a.1", "program"]


HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_with_kwargs",
         "_forward_pre_hooks_with_kwargs", "_forward_hooks_always_called")  # fmt: skip


def hook_count(model):
    return sum(len(getattr(x, name)) for x in model.modules() for name in HOOKS)


def saved(model):
    file = io.BytesIO()
    torch.save(model, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),  # noqa: S301
    "save": saved,
}


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("name", ["llama", "plain", "changed"])
def test_a_copy_made_in_the_block_has_no_hooks(make, name):
    model = Interrupted().eval()
    if name != "plain":
        sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
        config = hf.LlamaConfig(vocab_size=40, num_hidden_layers=2, **sizes)
        model = hf.LlamaForCausalLM(config).eval()
    x = torch.randn(1, 5, 16) if name == "plain" else batch("not", 1, 7)["input_ids"]
    own = model.register_forward_hook(print_nothing)
    size, before = len(pickle.dumps(model)), hook_count(model)
    block = regard.watch(model)
    if name == "changed":
        block = block.ablate(0, 0)
    with torch.no_grad(), block as seen:
        model(x)
        made = make(model)
        assert hook_count(made) == before
        assert "__getstate__" not in vars(made)
        assert "generate" not in vars(made)
        assert abs(len(pickle.dumps(model)) - size) < 100
        model(x)
    assert len(seen.names) == (3 if name == "plain" else 2)
    assert hook_count(model) == before
    assert "__getstate__" not in vars(model)
    assert len(pickle.dumps(saved(made))) == pytest.approx(size, abs=100)
    own.remove()


def print_nothing(module, arguments, output):
    """A hook of the user's, which copies keep."""
