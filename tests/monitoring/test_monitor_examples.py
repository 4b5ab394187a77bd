"""The examples of monitoring: QK-clip, the collapse, and attention while a model writes."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.small_training import Model, batch, louder, reference, stored_scores

import regard

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT = 10.0


def example(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


class Clippable(Model):
    """A model with the names that the example expects."""

    def __init__(self, key_heads):
        from tests.helpers.small_training import Attention

        super().__init__(lambda width: Attention(width, heads=4, key_heads=key_heads))
        for layer in self.layers:
            layer.q_proj, layer.k_proj, layer.head_dim = layer.query, layer.key, layer.size


@torch.no_grad()
def largest(model):
    """Largest score of every head from scores stored in float64."""
    query, found = [], []
    for layer in model.layers:
        layer.register_forward_hook(lambda m, x, y, layer=layer: query.append((layer, x[0])))
    model(batch())
    for layer, x in query:
        layer._forward_hooks.popitem()
        q = layer.split(layer.query(x), layer.heads).double()
        k = layer.split(layer.key(x), layer.key_heads).double()
        k = k.repeat_interleave(layer.heads // layer.key_heads, dim=1)
        scores = q @ k.transpose(-1, -2) * layer.size**-0.5
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        found.append(scores.masked_fill(hidden, -torch.inf).amax((0, 2, 3)))
    return torch.stack(found)


@pytest.mark.parametrize("key_heads", [4, 2, 1])
def test_qk_clip_brings_the_stored_maxima_to_the_limit_and_leaves_other_heads(key_heads):
    model = louder(Clippable(key_heads), 0, 80)
    before = largest(model)
    clip = example("qk_clip")["qk_clip"]
    weights = [layer.query.weight.detach().clone() for layer in model.layers]
    with regard.monitor(model, exact_scores=True, on_alert="log", on_error="raise") as monitor:
        model(batch())
        clip(monitor, model, LIMIT)
    after = largest(model)
    loud = before > LIMIT
    assert loud[0].any()
    # The first layer's input is the same as before; clipping is by what was exact then.
    np.testing.assert_allclose(after[0][loud[0]], LIMIT, rtol=1e-4)
    np.testing.assert_allclose(after[0][~loud[0]], before[0][~loud[0]], rtol=1e-4)
    if not loud[1].any():
        assert torch.equal(model.layers[1].query.weight, weights[1])


def test_the_task_of_the_collapse_is_trained_and_monitored(tmp_path):
    found = example("collapse")
    monitor = found["train"](0.01, 6, tmp_path / "run")
    history = monitor.history()
    assert history.steps.tolist() == [0, 5]
    assert history.all_steps.tolist() == list(range(6))
    assert np.isfinite(history.losses).all()
    assert found["loss_shows"](history.__class__(**{**vars(history), "losses": np.array(
        [3.0] * 12 + [4.0] * 12), "all_steps": np.arange(24)})) == 17  # fmt: skip


def weights(model, ids_bt):
    return np.stack([x[0].softmax(-1).numpy() for x in stored_scores(model, ids_bt)])


@pytest.mark.parametrize("tokens", [7, 12])
def test_measures_while_a_model_writes(tokens):
    found, model, ids_bt = example("while_it_writes"), Model(), batch(tokens=tokens)
    expected, ratios = weights(model, ids_bt), []
    h2o, prompts = found["H2O"](), []
    for take in (
        found["lookback_ratios"](4, ratios),
        h2o,
        lambda facts: prompts.append(found["snapkv"](facts, window=3)),
    ):
        with regard.watch(model, on_step=take):
            model(ids_bt)
    last = expected[..., -1, :]
    context, written = last[..., :4].mean(-1), last[..., 4:].mean(-1)
    np.testing.assert_allclose(ratios[0], context / (context + written), atol=1e-5)
    np.testing.assert_allclose(h2o.received, expected.sum(-2), atol=1e-4)
    snap = expected[..., -3:, : tokens - 3].sum(-2)
    np.testing.assert_allclose(prompts[0], snap, atol=1e-5)


def test_stop_when_the_answer_leaves_the_document():
    found, model = example("while_it_writes"), Model()
    share = weights(model, batch())[..., -1, :2].sum(-1).mean()
    with regard.watch(model, on_step=found["stop_outside"]((0, 2), limit=share - 0.01)):
        model(batch())
    stop = found["stop_outside"]((0, 2), limit=share + 0.01)
    with pytest.raises(Exception, match=f"token 7: {share:.1%}"), regard.watch(model, on_step=stop):
        model(batch())
    assert reference(model, batch())  # the model is as it was


def test_the_example_of_a_writing_model_runs(capsys):
    pytest.importorskip("transformers", reason="needs transformers")
    example("while_it_writes")["main"]()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0].split(",")[0] for line in lines] == [
        "Lookback ratio of the last token", "H2O keeps", "SnapKV keeps", "Stopped",
    ]  # fmt: skip
