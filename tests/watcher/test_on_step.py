"""watch(model, on_step=f): facts of every forward, against the weights of eager attention."""

import numpy as np
import pytest
import torch
from tests.helpers.small_training import Model, batch, stored_scores

import regard
from regard.errors import ArgumentError


def weights(model, ids_bt):
    """Weights (layers, b, h, q, k) in float64."""
    return np.stack([x[0].softmax(-1).numpy() for x in stored_scores(model, ids_bt)])


@pytest.fixture(scope="module")
def llama():
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


TOLERANCE = 64 * 2**-24  # float32, as in tests/monitoring


def test_every_forward_is_a_step_with_its_facts():
    model, steps = Model(), []
    with regard.watch(model, on_step=steps.append, spans={"begin": (0, 3)}) as block:
        for number in range(2):
            model(batch(number))
    assert [step.number for step in steps] == [0, 1]
    assert block.number == 2
    for number, step in enumerate(steps):
        expected = weights(model, batch(number))
        np.testing.assert_allclose(step.weights(rows=7), expected, atol=TOLERANCE)
        share = expected[..., -1, :3].sum(-1)
        np.testing.assert_allclose(step.share("begin"), share, atol=TOLERANCE)
        np.testing.assert_allclose(step.share((0, 3)), share, atol=TOLERANCE)
        for layer in range(2):
            entropy = torch.special.entr(torch.tensor(expected[layer])).sum(-1)
            np.testing.assert_allclose(step[layer].entropy, entropy, atol=TOLERANCE)
            received = expected[layer].sum(axis=-2)
            np.testing.assert_allclose(step[layer].received, received, atol=7 * TOLERANCE)


def test_each_generated_token_is_a_step(llama):
    steps, ids = [], torch.arange(1, 9)[None]
    plain = llama.generate(ids, max_new_tokens=4, do_sample=False)
    with regard.watch(llama, on_step=steps.append):
        written = llama.generate(ids, max_new_tokens=4, do_sample=False)
    assert torch.equal(plain, written)
    assert [step.keys for step in steps] == [8, 9, 10, 11]
    llama.set_attn_implementation("eager")
    with torch.no_grad():
        dense = llama(written[:, :-1], output_attentions=True).attentions
    llama.set_attn_implementation("sdpa")
    for step in steps:
        expected = np.stack([x[:, :, step.keys - 1, : step.keys].numpy() for x in dense])
        np.testing.assert_allclose(step.weights()[..., 0, :], expected, atol=4 * TOLERANCE)


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_a_static_cache_has_a_query_of_every_head_and_no_empty_keys(llama, attention):
    """Models of transformers give heads that share a key to torch as queries of one."""
    ids, shown = torch.arange(1, 9)[None], []
    llama.set_attn_implementation(attention)
    for options in ({}, {"cache_implementation": "static"}):
        steps = []
        with regard.watch(llama, on_step=steps.append):
            llama.generate(ids, max_new_tokens=4, do_sample=False, **options)
        shown.append([step[1] for step in steps])
    llama.set_attn_implementation("sdpa")
    assert [seen.entropy.shape for seen in shown[1]] == [(1, 4, 8), *3 * [(1, 4, 1)]]
    for growing, static in zip(*shown, strict=True):
        for fact in ("entropy", "received", "logsumexp"):
            ours, expected = (getattr(x, fact) for x in (static, growing))
            np.testing.assert_allclose(ours, expected, atol=8 * TOLERANCE)


def test_nothing_is_kept_of_a_step():
    import gc
    import weakref

    model, kept = Model(), []
    with regard.watch(model, on_step=lambda step: kept.append(weakref.ref(step[0]))):
        model(batch())
        model(batch())
    gc.collect()
    assert [x() for x in kept] == [None, None]


def test_an_error_in_the_function_ends_the_program_and_leaves_no_hook():
    model = Model()

    def stop(step):
        raise StopIteration

    with pytest.raises(StopIteration), regard.watch(model, on_step=stop):
        model(batch())
    assert not any(x._forward_hooks or x._forward_pre_hooks for x in model.modules())


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="on_step must be a function of a step, got 3"):
        regard.watch(Model(), on_step=3)
    with pytest.raises(ArgumentError, match="on_step needs a model"):
        regard.watch(on_step=print)
    told = []

    def ask(step):
        for wanted in (lambda: step.share("end"), lambda: step[7]):
            with pytest.raises(ArgumentError) as error:
                wanted()
            told.append(str(error.value))

    model = Model()
    with regard.watch(model, on_step=ask, spans={"begin": (0, 3)}):
        model(batch())
    assert told[0] == "span must be one of the block's, 'begin', got 'end'."
    assert told[1] == "layer must be one of 'decoder', 0, 'decoder', 1, got 7."
