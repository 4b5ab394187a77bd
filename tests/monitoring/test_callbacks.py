"""A monitor in the Trainer of transformers and in Lightning, for real where they are installed."""

import numpy as np
import pytest
import torch
from tests.helpers.small_training import Model, batch, loss_of

from regard.monitoring.callbacks import lightning_callback, trainer_callback


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


@pytest.mark.filterwarnings("ignore")  # Lightning uses what torch has deprecated
def test_lightning(tmp_path):
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

    callback = lightning_callback(of="net", every=2, to=tmp_path / "run", on_error="raise")
    trainer = lightning.Trainer(
        max_steps=5, accelerator="cpu", callbacks=[callback], logger=False,
        enable_checkpointing=False, enable_progress_bar=False, default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(Module(), torch.utils.data.DataLoader(batch(0, sentences=20), batch_size=2))
    from regard.monitoring.folder import History

    history = History.load(tmp_path / "run")
    assert history.all_steps.tolist() == list(range(5))
    assert history.steps.tolist() == [0, 2, 4]
    assert np.isfinite(history.losses).all()
