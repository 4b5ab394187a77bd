"""A training under observation: nothing of it changes, and nothing of the monitor can end it."""

import copy
import gc
import logging
import math
import weakref

import numpy as np
import pytest
import torch
from tests.helpers.small_training import (
    Attention,
    HandwrittenAttention,
    Model,
    Training,
    batch,
    loss_of,
    louder,
    reference,
)

import regard
from regard.errors import ArgumentError, FileError
from regard.monitoring.events import AlertError
from regard.watcher.seam.call import declare


def gradients(model):
    return [x.grad.clone() for x in model.parameters()]


def run(model, steps=3, **options):
    """Losses, gradients and weights of a training with a monitor, or without one."""
    training, losses = Training(model), []
    monitor = regard.monitor(model, on_error="raise", **options) if options else None
    for number in range(steps):
        losses.append(training.step(batch(number)))
    if monitor is not None:
        monitor.close()
    return [torch.stack(losses), *gradients(model), *(x.detach() for x in model.parameters())]


def test_only_every_so_many_steps_are_observed_and_every_step_is_bounded(tmp_path):
    training = Training(Model())
    with regard.monitor(training.model, every=3, to=tmp_path / "run", on_error="raise") as monitor:
        for number in range(7):
            expected = reference(training.model, batch(number))["bound"]
            training.step(batch(number))
        history = monitor.history()
    assert history.steps.tolist() == [0, 3, 6]
    assert history.all_steps.tolist() == list(range(7))
    by_layer = expected.reshape(2, 4).max(axis=1)
    np.testing.assert_allclose(history.bounds[-1], by_layer, rtol=64 * 2**-24)
    assert len(monitor.to_pandas()) == 3 * 8


def test_the_loss_is_taken_from_the_output_or_logged():
    class WithLoss(Model):
        def forward(self, ids_bt):
            return {"loss": super().forward(ids_bt).square().mean()}

    model, seen = WithLoss(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with regard.monitor(model, every=1, to=seen.append, on_error="raise") as monitor:
        loss = model(batch())["loss"]
        loss.backward()
        optimizer.step()
        model(batch())["loss"].backward()
        monitor.log(loss=2.5)
        optimizer.step()
        monitor.log(loss=3)
        with pytest.raises(ArgumentError, match="loss must be a number or a tensor, got 'x'"):
            monitor.log(loss="x")
    assert seen[0].loss == pytest.approx(loss.item())
    assert seen[1].loss == 2.5


def test_a_probe_sees_the_same_batch_every_time_and_leaves_modes_alone():
    seen, training = [], Training(Model(), rate=0.0)
    training.model.layers[1].eval()
    with regard.monitor(training.model, every=2, probe=batch(5), to=seen.append, on_error="raise"):
        for number in range(5):
            training.step(batch(number))
    assert [health.step for health in seen] == [0, 2, 4]
    assert all(np.array_equal(x["entropy"], seen[0]["entropy"]) for x in seen)
    expected = reference(training.model, batch(5))["entropy"]
    np.testing.assert_allclose(seen[0]["entropy"], expected, rtol=64 * 2**-24)
    assert training.model.training
    assert not training.model.layers[1].training


def test_evaluation_between_steps_is_not_part_of_them():
    training, seen = Training(Model(), rate=0.0), []
    expected = reference(training.model, batch(1))["entropy"]
    with regard.monitor(training.model, every=1, to=seen.append, on_error="raise"):
        training.model.eval()
        training.model(batch(7))
        training.model.train()
        with torch.no_grad():
            training.model(batch(8))
        training.step(batch(1))
    np.testing.assert_allclose(seen[0]["entropy"], expected, rtol=64 * 2**-24)


def test_activation_checkpointing_is_counted_once():
    seen, training = [], Training(Model(checkpointed=True))
    expected = reference(training.model, batch())
    with regard.monitor(training.model, every=1, to=seen.append, on_error="raise"):
        training.step()
    for name, numbers in expected.items():
        np.testing.assert_allclose(seen[0][name], numbers, rtol=1e-5, atol=1e-5, err_msg=name)


def test_autocast_is_measured_as_it_is_computed():
    seen, training = [], Training(Model())
    monitor = regard.monitor(training.model, every=1, to=seen.append, on_error="raise")
    with monitor, torch.autocast("cpu", torch.bfloat16):
        training.step()
    expected = reference(training.model, batch())["entropy"]
    np.testing.assert_allclose(seen[0]["entropy"], expected, rtol=2**-6)  # bf16 has 8 bits


@pytest.fixture
def broken(monkeypatch):
    """A monitor whose measures fail."""
    from regard.monitoring import monitor

    def fail(*arguments, **options):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(monitor, "head_sums", fail)


def test_an_error_inside_is_logged_once_and_the_training_goes_on(broken, caplog):
    made = Model()
    plain = run(copy.deepcopy(made))
    training = Training(made)
    with caplog.at_level(logging.ERROR), regard.monitor(made, every=1) as monitor:
        losses = torch.stack([training.step(batch(number)) for number in range(3)])
    assert torch.equal(losses, plain[0])
    assert [x.message for x in caplog.records] == [
        "regard.monitor failed and stops; the training goes on."
    ]
    assert "ZeroDivisionError: planted" in caplog.text
    assert monitor.failed
    assert not any(x._forward_hooks or x._forward_pre_hooks for x in made.modules())


def test_an_error_inside_is_raised_where_that_is_asked_for(broken):
    training = Training(Model())
    monitor = regard.monitor(training.model, on_error="raise")
    with pytest.raises(ZeroDivisionError, match="planted"), monitor:
        training.step()


def test_an_error_in_the_function_of_alerts_does_not_end_the_training(caplog):
    def fail(alert):
        raise ZeroDivisionError("planted")

    training = Training(louder(Model(), 1, 60))
    with regard.monitor(training.model, every=1, threshold=5.0, on_alert=fail) as monitor:
        training.step()
        training.step()
    assert "ZeroDivisionError: planted" in caplog.text
    assert monitor.failed


def test_a_full_disk_does_not_end_the_training(tmp_path, monkeypatch, caplog):
    import os

    training = Training(Model())
    monitor = regard.monitor(training.model, every=1, to=tmp_path / "run")
    training.step()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    training.step()
    training.step()
    monkeypatch.undo()
    monitor.close()
    assert monitor.failed
    assert "No space left on device" in caplog.text


def test_alerts_are_raised_where_that_is_asked_for():
    training = Training(louder(Model(), 1, 60))
    monitor = regard.monitor(training.model, every=1, threshold=5.0, on_alert="raise")
    sentence = "step 0, layer 1, all 4 heads: largest score passed 5"
    with pytest.raises(AlertError, match=sentence), monitor:
        training.step()
    training.step()  # the monitor has left


def test_alerts_are_printed_to_the_error_stream(capsys):
    training = Training(louder(Model(), 1, 60))
    with regard.monitor(training.model, every=1, threshold=5.0) as monitor:
        training.step()
        training.step()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [f"regard: {alert}" for alert in monitor.alerts]


def test_the_first_nan_is_named_with_the_last_healthy_step():
    training = Training(Model(layers=3), rate=0.0)
    with regard.monitor(training.model, every=2, on_alert="log", on_error="raise") as monitor:
        for number in range(6):
            if number == 4:
                with torch.no_grad():  # head 2 of the layer
                    training.model.layers[1].query.weight[8:12] = torch.nan
            training.step()
    alert = next(x for x in monitor.alerts if x.rule == "not finite")
    assert (alert.first, alert.heads[0], alert.healthy) == (4, 4 + 2, 3)
    assert alert.line.startswith("step 4: nan in layer 1, head 2 first")
    assert sum(x.rule == "not finite" for x in monitor.alerts) == 1


@pytest.mark.parametrize("every", [1, 5])
def test_a_nan_in_values_alone_is_named_where_it_is(every):
    training = Training(Model(layers=3), rate=0.0)
    with regard.monitor(training.model, every=every, on_alert="log", on_error="raise") as monitor:
        for number in range(3):
            if number == 2:
                with torch.no_grad():  # the values of heads 2 and 3, which share them
                    training.model.layers[1].value.weight[4:8] = torch.inf
            training.step()
    (alert,) = (x for x in monitor.alerts if x.rule == "not finite")
    assert (alert.first, alert.heads[0]) == (2, 4 + 2)


def test_attention_written_by_hand_has_scores_from_the_first_step():
    seen, training = [], Training(Model(HandwrittenAttention), rate=0.0)
    expected = reference(training.model, batch())["score"]
    with regard.monitor(training.model, every=1, to=seen.append, on_error="raise") as monitor:
        training.step()
        first = torch.cat(list(monitor.max_scores().values()))
        training.step()
    for found in (seen[0]["score"], seen[1]["score"], first):
        np.testing.assert_allclose(found, expected, rtol=64 * 2**-24)


@pytest.mark.parametrize("attention", [None, HandwrittenAttention], ids=["fused", "by hand"])
def test_scores_asked_for_within_a_step_are_in_its_record_too(tmp_path, attention):
    training = Training(Model() if attention is None else Model(attention), rate=0.0)
    options = {"on_alert": "log", "on_error": "raise"}
    with regard.monitor(training.model, every=1, to=tmp_path / "run", **options) as monitor:
        training.step()
        monitor.max_scores()
        loss_of(training.model, batch(1)).backward()
        within = monitor.max_scores()
        loss_of(training.model, batch(2)).backward()
        training.optimizer.step()
        after = monitor.max_scores()
        history = monitor.history()
    one, two = (reference(training.model, batch(number)) for number in (1, 2))
    for found, expected in ((within, one), (after, two)):
        np.testing.assert_allclose(torch.cat([*found.values()]), expected["score"], rtol=1e-5)
    both = (
        np.maximum(one["bound"], two["bound"])
        if attention is None
        else np.maximum(one["score"], two["score"])
    )
    np.testing.assert_allclose(history.bounds[-1], both.reshape(2, 4).max(axis=1), rtol=1e-5)


@pytest.mark.parametrize(
    "options", [{"every": 1}, {"every": 50, "exact_scores": True}], ids=["observed", "asked for"]
)
def test_largest_scores_are_exact_and_bounds_are_bounds(options):
    training = Training(Model())
    with regard.monitor(training.model, on_error="raise", **options) as monitor:
        for number in range(3):
            expected = reference(training.model, batch(number))
            training.step(batch(number))
            scores, bounds = (
                torch.cat([*x.values()]) for x in (monitor.max_scores(), monitor.score_bounds())
            )
            np.testing.assert_allclose(scores, expected["score"], rtol=64 * 2**-24)
            np.testing.assert_allclose(bounds, expected["bound"], rtol=64 * 2**-24)
            assert (bounds >= scores).all()
            assert (bounds <= scores + math.log(7) + 1e-6).all()


def test_a_score_that_was_not_computed_is_not_made_up():
    training = Training(louder(Model(), 1, 60), rate=0.0)
    expected = np.fmax(*(reference(training.model, batch(x))["score"] for x in (1, 2)))
    options = {"every": 50, "threshold": 12.0, "on_alert": "log", "on_error": "raise"}
    with regard.monitor(training.model, **options) as monitor:
        training.step()
        assert torch.cat([*monitor.max_scores().values()]).isfinite().all()  # it was observed
        monitor.score_bounds()
        training.step(batch(1))
        training.step(batch(2))
        found, bounds = (
            torch.cat([*x.values()]) for x in (monitor.max_scores(), monitor.score_bounds())
        )
    known = found.isfinite().numpy()
    assert known[4:].any()
    assert not known[:4].any()
    assert not known[bounds.numpy() < 12].any()
    np.testing.assert_allclose(found[known], expected[known], rtol=60 * 64 * 2**-24)
    assert (bounds.numpy() >= expected * (1 - 2**-16)).all()


def test_no_kernel_of_a_gpu_is_started_for_layers_far_below_the_limit():
    training, gpu = Training(louder(Model(), 1, 60)), torch.zeros(1, device="meta")
    with regard.monitor(training.model, every=5, on_alert="log", on_error="raise") as monitor:
        training.step()
        low, high = monitor._layers
        limit = float(monitor._output.known.max()) * 1.5
        assert not monitor._may_exceed(low, limit, gpu)
        assert monitor._may_exceed(high, limit, gpu)
        assert monitor._may_exceed(low, limit, torch.zeros(1))


def test_a_moved_model_goes_on():
    training, seen = Training(Model()), []
    with regard.monitor(training.model, every=1, to=seen.append, on_error="raise"):
        training.step()
        training.model.double()
        training.step()
        training.model.to("cpu", torch.bfloat16)
        training.step()
    assert len(seen) == 3
    assert all(np.isfinite(health["score"]).all() for health in seen)


def test_a_compiled_model_is_said_to_be_unseen_and_trains(caplog):
    model = Model()
    compiled = torch.compile(model, backend="eager")
    training = Training(model)
    training.model = compiled
    plain = run(copy.deepcopy(model), steps=2)
    with regard.monitor(compiled, every=1) as monitor:
        losses = torch.stack([training.step(batch(number)) for number in range(2)])
    assert torch.allclose(losses, plain[0], rtol=1e-5)
    assert not monitor.failed
    assert len(monitor.notes) <= 1


class WrongHead(Attention):
    """A kernel of its own, which doubles what head 2 writes from the second step on."""

    steps = 0

    def attend(self, query, key, value):
        output = super().attend(query, key, value)
        factor_h = torch.ones(4, 1, 1)
        factor_h[2] = 2 if self.steps else 1
        self.steps += 1
        return declare(query, key, value, causal=True, output=output * factor_h)


def test_a_kernel_that_computes_something_else_is_told_by_the_judge():
    training = Training(Model(WrongHead))
    options = {"every": 1, "judge": 4, "on_alert": "log", "on_error": "raise"}
    with regard.monitor(training.model, **options) as monitor:
        for _ in range(3):
            training.step()
    (event,) = (x for x in monitor.alerts if x.rule == "wrong")
    # Layers 0 and 2 are the kernel of torch inside, whose output is right.
    assert (event.severity, event.first, event.heads) == ("fault", 1, [6, 14])
    assert "the kernel's output is wrong: output times 2." in event.line
    right = Training(Model())
    with regard.monitor(right.model, **options) as monitor:
        right.step()
    assert monitor.alerts == []


def test_a_compiled_model_is_seen_by_a_probe():
    model, seen = Model(), []
    training = Training(model, rate=0.0)
    training.model = torch.compile(model, backend="eager")
    options = {"every": 1, "probe": batch(4), "to": seen.append, "on_error": "raise"}
    with regard.monitor(training.model, **options):
        training.step()
        training.step()
    expected = reference(model, batch(4))["entropy"]
    np.testing.assert_allclose(seen[1]["entropy"], expected, rtol=64 * 2**-24)


def test_two_optimizers_of_a_model_are_no_reason_for_a_note():
    model = Model()
    first, *others = model.parameters()
    optimizers = [torch.optim.SGD([first], lr=0.1), torch.optim.Adam(others)]
    with regard.monitor(model, every=1, on_error="raise") as monitor:
        for _ in range(3):
            loss_of(model, batch()).backward()
            for optimizer in optimizers:
                optimizer.step()
    assert monitor.step == 3
    assert monitor.notes == []


def test_a_model_without_attention_is_said_to_have_none():
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with regard.monitor(model, every=1, on_error="raise") as monitor:
        for _ in range(3):
            model(torch.ones(1, 4)).sum().backward()
            optimizer.step()
    assert monitor.notes == [
        "no attention was seen in a forward of the model: no fused kernel of attention, and no "
        "softmax whose result is multiplied by values."
    ]


def test_a_wrapped_model_is_seen_by_its_own_paths():
    class Wrapper(torch.nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, ids_bt):
            return self.module(ids_bt)

    training = Training(Wrapper(Model()))
    with regard.monitor(training.model, every=1, on_error="raise") as monitor:
        training.step()
    assert [layer.path for layer in monitor.about.layers] == ["layers.0", "layers.1"]


def _wrapped(training):
    training.model = torch.nn.Sequential(training.model)


def _compiled_in_place(training):
    training.model.compile(backend="eager")


def _without_a_layer(training):
    del training.model.layers[1]


def _with_another_layer(training):
    training.model.layers.append(Attention())


def _with_a_layer_replaced(training):
    training.model.layers[1] = Attention()


@pytest.mark.parametrize(
    "change",
    [_wrapped, _compiled_in_place, _without_a_layer, _with_another_layer, _with_a_layer_replaced],
)
def test_a_model_changed_while_monitored_trains_on(change):
    made, seen = Model(), []
    plain, training = Training(copy.deepcopy(made)), Training(made)
    with regard.monitor(training.model, every=1, to=seen.append, on_alert="log") as monitor:
        for one in (plain, training):
            torch.manual_seed(0)
            one.step()
            change(one)
        losses = [[one.step(), one.step()] for one in (plain, training)]
    assert torch.allclose(torch.stack(losses[0]), torch.stack(losses[1]), rtol=1e-5)
    assert not monitor.failed
    assert len(seen) == 3 or monitor.notes


def test_a_deleted_model_is_freed_and_the_monitor_closes():
    training = Training(Model())
    monitor = regard.monitor(training.model, every=1, on_error="raise")
    training.step()
    gone = weakref.ref(training.model)
    del training
    gc.collect()
    assert gone() is None
    monitor.end_step()
    monitor.close()


def test_another_optimizer_does_not_end_the_step():
    training, other, seen = Training(Model()), Training(Model()), []
    with regard.monitor(training.model, every=1, to=seen.append, on_error="raise") as monitor:
        loss_of(training.model, batch()).backward()
        other.step()
        assert monitor.step == 0
        training.optimizer.step()
        assert monitor.step == 1


def test_an_interrupted_forward_leaves_nothing_behind():
    training = Training(Model())
    stop = [False]

    def interrupt(module, arguments):
        if stop[0]:
            raise KeyboardInterrupt

    handle = training.model.layers[1].value.register_forward_pre_hook(interrupt)
    seen = []
    with regard.monitor(training.model, every=1, to=seen.append, on_error="raise"):
        training.step()
        stop[0] = True
        with pytest.raises(KeyboardInterrupt):
            training.step()
        stop[0] = False
        training.step()
    handle.remove()
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    assert _get_current_dispatch_mode() is None
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"every": 0}, "every must be a whole number from 1 up, got 0"),
        ({"rows": 1.5}, "rows must be a whole number from 1 up, got 1.5"),
        ({"judge": 0}, "judge must be a whole number from 1 up, got 0"),
        ({"seed": -1}, "seed must be a whole number from 0 up, got -1"),
        ({"step": "last"}, "step must be a whole number from 0 up, got 'last'"),
        ({"on_alert": "shout"}, "on_alert must be 'print', 'log', 'raise' or a function"),
        ({"on_error": "print"}, "on_error must be 'log' or 'raise'"),
        ({"to": 3}, "to must be a folder, a SummaryWriter"),
        ({"threshold": -1}, "threshold must be a number above 0, or None, got -1"),
        ({"alerts": ("joy",)}, "alerts must be some of not finite, wrong, .*, got 'joy'"),
        ({"alerts": "shift"}, "alerts must be some of not finite, wrong, .*, got 'shift'"),
    ],
)
def test_bad_arguments_are_named(options, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        regard.monitor(Model(), **options)


def test_a_folder_must_have_a_name_that_can_be():
    with pytest.raises(FileError, match="must be a folder to write to: embedded null"):
        regard.monitor(Model(), to="a\0b")


def test_a_model_must_be_a_module():
    with pytest.raises(ArgumentError, match=r"model must be a torch\.nn\.Module, got str"):
        regard.monitor("model")
