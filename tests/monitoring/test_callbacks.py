"""A monitor in the Trainer of transformers and in Lightning, for real where they are installed."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from tests.helpers.small_training import Model, batch, loss_of

import regard
from regard.monitoring import callbacks
from regard.monitoring.callbacks import OutermostCalls, lightning_callback, trainer_callback


class WithLoss(Model):
    """The small model as the Trainer calls it."""

    def forward(self, input_ids, labels=None):
        logits = super().forward(input_ids)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"loss": loss, "logits": logits}


def test_the_trainer_of_transformers(tmp_path):
    pytest.importorskip("accelerate", reason="needs accelerate: pip install accelerate")
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        str(tmp_path / "out"), max_steps=5, per_device_train_batch_size=2, use_cpu=True,
        gradient_accumulation_steps=2, report_to=[], save_strategy="no", disable_tqdm=True,
    )  # fmt: skip
    data = [{"input_ids": row, "labels": row} for number in range(10) for row in batch(number)]
    callback = trainer_callback(every=2, to=tmp_path / "run", on_error="raise")
    Trainer(WithLoss(), arguments, train_dataset=data, callbacks=[callback]).train()
    from regard.monitoring.folder import History

    history = History.load(tmp_path / "run")
    assert callback.monitor.closed
    assert history.all_steps.tolist() == list(range(5))
    assert history.steps.tolist() == [0, 2, 4]
    assert np.isfinite(history.losses).all()


class WithShares(Model):
    """As models of transformers: a micro-batch returns its share of the step's loss."""

    def forward(self, input_ids, labels=None, num_items_in_batch=None, **other):
        logits = super().forward(input_ids)
        count = (labels != -100).sum() if num_items_in_batch is None else num_items_in_batch
        total = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), reduction="sum"
        )
        return {"loss": total / count, "logits": logits}


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_shares_of_a_loss_are_summed_up(parts):
    model, seen = WithShares(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    batches = [batch(number, sentences=2) for number in range(parts)]
    with regard.monitor(model, every=1, to=seen.append, on_error="raise"):
        for ids_bt in batches:
            model(ids_bt, ids_bt, num_items_in_batch=14 * parts)["loss"].backward()
        optimizer.step()
    whole = torch.cat(batches)
    assert seen[0].loss == pytest.approx(model(whole, whole)["loss"].item())


@pytest.mark.parametrize("kind", [WithLoss, WithShares])
def test_the_loss_under_accumulation_is_that_of_all_sentences_of_the_step(tmp_path, kind):
    """Also of a last step that has fewer micro-batches."""
    pytest.importorskip("accelerate", reason="needs accelerate: pip install accelerate")
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        str(tmp_path / "out"), num_train_epochs=1, per_device_train_batch_size=2, use_cpu=True,
        gradient_accumulation_steps=3, report_to=[], save_strategy="no", disable_tqdm=True,
        learning_rate=0.0, max_grad_norm=0.0,
    )  # fmt: skip
    rows = [row for number in range(4) for row in batch(number)]
    model, seen = kind(), []
    callback = trainer_callback(every=1, to=seen.append, on_error="raise")
    data = [{"input_ids": row, "labels": row} for row in rows]
    trainer = Trainer(model, arguments, train_dataset=data, callbacks=[callback])
    trainer._get_train_sampler = lambda *_: torch.utils.data.SequentialSampler(data)
    trainer.train()
    for health, own in zip(seen, (rows[:6], rows[6:]), strict=True):
        ids_bt = torch.stack(own)
        assert health.loss == pytest.approx(model(ids_bt, ids_bt)["loss"].item(), rel=1e-5)


def test_the_calls_of_the_trainer():
    from transformers import TrainerControl, TrainerState

    model, callback = WithLoss(), trainer_callback(every=1, on_error="raise")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    given = (None, TrainerState(global_step=7), TrainerControl())
    callback.on_train_begin(*given, model=model, optimizer=optimizer)
    model(batch(), batch())["loss"].backward()
    optimizer.step()
    callback.on_train_end(*given, model=model)
    assert callback.monitor.closed
    assert callback.monitor.last.step == 7


def test_the_module_that_a_training_step_calls():
    root = torch.nn.ModuleDict({"net": Model(), "measure": torch.nn.Linear(2, 2)}).train()
    called = OutermostCalls(root)
    loss_of(root["net"], batch())
    root["measure"](torch.ones(1, 2))
    assert called.largest() is root["net"]
    assert not any(x._forward_hooks or x._forward_pre_hooks for x in root.modules())


def test_two_large_modules_are_told_apart_by_their_path(caplog):
    root = torch.nn.ModuleDict({"one": Model(), "other": Model()}).train()
    called = OutermostCalls(root)
    for net in root.values():
        net(batch())
    assert called.largest() is root["one"]
    assert "calls 'one', 'other'; the first is monitored. of= chooses." in caplog.text
    assert OutermostCalls(root).largest() is root
    assert "called no module; pass of=" in caplog.text


@pytest.fixture
def stand_in(monkeypatch):
    """Lightning as far as a callback sees it: the class of callbacks."""
    lightning = ModuleType("lightning.pytorch")
    lightning.Callback = type("Callback", (), {})
    monkeypatch.setitem(sys.modules, "lightning", ModuleType("lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch", lightning)
    callbacks._lightning_class.cache_clear()
    yield
    callbacks._lightning_class.cache_clear()


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize("of", ["net", None])
def test_the_calls_of_lightning_under_accumulation(of):
    """In its order: an optimizer's step runs the last micro-batch; the last step has one alone."""
    root, seen = torch.nn.ModuleDict({"net": Model()}), []
    trainer = SimpleNamespace(global_step=0, accumulate_grad_batches=2)
    optimizer = torch.optim.SGD(root.parameters(), lr=0.0)
    callback = lightning_callback(of=of, every=1, to=seen.append, on_error="raise")
    callback.on_train_start(trainer, root)

    def micro_batch(index):
        loss = loss_of(root["net"], batch(index)) / trainer.accumulate_grad_batches
        callback.on_before_backward(trainer, root, loss)
        loss.backward()
        return loss

    for index in range(5):
        if index in (1, 3, 4):
            optimizer.step(lambda index=index: micro_batch(index))
            trainer.global_step += 1
        else:
            micro_batch(index)
        callback.on_train_batch_end(trainer, root, None, batch(index), index)
    callback.on_train_end(trainer, root)
    begun = 0 if of else 1  # the first batch finds the module
    losses = [loss_of(root["net"], batch(index)).item() for index in range(5)]
    expected = [np.mean(losses[begun:2]), np.mean(losses[2:4]), losses[4]]
    assert [health.step for health in seen] == [0, 1, 2]
    np.testing.assert_allclose([health.loss for health in seen], expected, rtol=1e-6)
    assert [x.path for x in callback.monitor.about.layers] == ["layers.0", "layers.1"]


@pytest.mark.filterwarnings("ignore")  # Lightning uses what torch has deprecated
@pytest.mark.parametrize("of", ["net", None])
def test_lightning(tmp_path, of):
    lightning = pytest.importorskip(
        "lightning.pytorch", reason="needs Lightning: pip install lightning"
    )

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Model()

        def training_step(self, ids_bt, index):
            return loss_of(self.net, ids_bt)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.05)

    callback = lightning_callback(of=of, every=2, to=tmp_path / "run", on_error="raise")
    trainer = lightning.Trainer(
        max_steps=5, accelerator="cpu", callbacks=[callback], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(Module(), torch.utils.data.DataLoader(batch(0, sentences=20), batch_size=2))
    from regard.monitoring.folder import History

    history = History.load(tmp_path / "run")
    begun = 0 if of else 1  # the first batch finds the module
    assert history.all_steps.tolist() == list(range(begun, 5))
    assert set(history.steps) == {begun, 2, 4}
    assert np.isfinite(history.losses).all()
