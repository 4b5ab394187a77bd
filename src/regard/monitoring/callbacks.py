"""Callbacks for the Trainer of transformers and for Lightning: a monitor while a training runs."""

from __future__ import annotations

from functools import cache
from typing import Any

from regard.errors import BackendError
from regard.monitoring.monitor import Monitor, monitor


def trainer_callback(**options: Any) -> Any:
    """A callback for the Trainer of transformers, which monitors its model; options of ``monitor``.

    The loss of each step comes from the model's output. ``callback.monitor`` is the monitor.

    Examples
    --------
    >>> callback = trainer_callback(every=50)  # Trainer(..., callbacks=[callback])
    >>> callback.monitor is None  # until the training begins
    True
    """
    return _trainer_class()(options)


def lightning_callback(of: str = "", **options: Any) -> Any:
    """A callback for Lightning, which monitors the module that is trained; options of ``monitor``.

    ``Trainer(callbacks=[lightning_callback(of="net", to="runs/first")])``. ``of`` is the path of
    the model inside the LightningModule that its ``training_step`` calls; empty where it calls
    ``self(...)``.
    """
    return _lightning_class()(of, options)


@cache
def _trainer_class() -> Any:
    from transformers import TrainerCallback

    class MonitorCallback(TrainerCallback):  # type: ignore[misc]
        """Monitors the model of a Trainer from the beginning of its training to the end."""

        def __init__(self, options: dict[str, Any]) -> None:
            self.options = options
            self.monitor: Monitor | None = None

        def on_train_begin(
            self, args: Any, state: Any, control: Any, model: Any = None, **other: Any
        ) -> None:
            # A training that goes on from a checkpoint begins at its step.
            self.monitor = monitor(model, **{"step": state.global_step} | self.options)

        def on_train_end(self, args: Any, state: Any, control: Any, **other: Any) -> None:
            if self.monitor is not None:
                self.monitor.close()

    return MonitorCallback


@cache
def _lightning_class() -> Any:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        try:
            from pytorch_lightning import Callback
        except ImportError:
            raise BackendError(
                "a callback for Lightning needs it, not installed here: pip install lightning."
            ) from None

    class MonitorCallback(Callback):  # type: ignore[misc]
        """Monitors the module of a Lightning trainer from the beginning of its fit to the end."""

        def __init__(self, of: str, options: dict[str, Any]) -> None:
            super().__init__()
            self.of, self.options = of, options
            self.monitor: Monitor | None = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            model = pl_module.get_submodule(self.of)
            self.monitor = monitor(model, **{"step": trainer.global_step} | self.options)

        def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
            if self.monitor is not None:  # Lightning divides a loss by the number of micro-batches
                self.monitor.log(loss=loss.detach() * trainer.accumulate_grad_batches)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            if self.monitor is not None:
                self.monitor.close()

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            if self.monitor is not None:
                self.monitor.close()

    return MonitorCallback
