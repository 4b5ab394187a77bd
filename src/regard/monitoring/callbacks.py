"""Callbacks for the Trainer of transformers and for Lightning: a monitor while a training runs."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any

from regard.errors import BackendError
from regard.monitoring.monitor import Monitor, monitor
from regard.monitoring.output import logger
from regard.watcher.capture.modules import attach_hook


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


def lightning_callback(of: str | None = None, **options: Any) -> Any:
    """A callback for Lightning, which monitors the module that is trained; options of ``monitor``.

    ``Trainer(callbacks=[lightning_callback(of="net", to="runs/first")])``. ``of`` is the path of
    the model inside the LightningModule that its ``training_step`` calls: "net" for
    ``self.net(...)``, "" for ``self(...)``. Without it the first batch finds the module, and
    monitoring begins behind that batch.
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
            if getattr(args, "average_tokens_across_devices", False):
                self.monitor.shares_of_step = 1 / args.world_size

        def on_train_end(self, args: Any, state: Any, control: Any, **other: Any) -> None:
            if self.monitor is not None:
                self.monitor.close()

    return MonitorCallback


@cache
def _lightning_class() -> Any:
    for name in ("lightning.pytorch", "pytorch_lightning"):
        with suppress(ImportError):
            base: Any = import_module(name).Callback
            break
    else:
        raise BackendError(
            "a callback for Lightning needs it, not installed here: pip install lightning."
        )

    class MonitorCallback(base):  # type: ignore[misc]
        """Monitors the module of a Lightning trainer from the beginning of its fit to the end."""

        def __init__(self, of: str | None, options: dict[str, Any]) -> None:
            super().__init__()
            self.of, self.options = of, options
            self.monitor: Monitor | None = None
            self._called: OutermostCalls | None = None

        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            if self.of is None:
                self._called = OutermostCalls(pl_module)
            else:
                self._begin(trainer, pl_module.get_submodule(self.of))

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *other: Any) -> None:
            if self._called is not None:
                called, self._called = self._called, None
                self._begin(trainer, called.largest())

        def _begin(self, trainer: Any, model: Any) -> None:
            self.monitor = monitor(model, **{"step": trainer.global_step} | self.options)

        def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
            if self.monitor is not None:  # Lightning has divided it by the number of micro-batches
                self.monitor.log(loss=loss.detach() * trainer.accumulate_grad_batches)

        def on_train_end(self, *given: Any) -> None:
            if self.monitor is not None:
                self.monitor.close()

        on_exception = on_train_end

    return MonitorCallback


class OutermostCalls:
    """The modules that a training step calls itself, not those that others call inside."""

    def __init__(self, root: Any) -> None:
        self.root, self.depth = root, 0
        self.found: list[Any] = []
        self._removers = []
        for module in root.modules():
            self._removers.append(attach_hook(module, "forward_pre", self._enter))
            self._removers.append(attach_hook(module, "forward", self._leave, always_call=True))

    def _enter(self, module: Any, arguments: Any) -> None:
        if not self.depth and module.training and module not in self.found:
            self.found.append(module)
        self.depth += 1

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        self.depth -= 1

    def largest(self) -> Any:
        """Remove the hooks; the called module of most parameters, the root where none was."""
        for remove in self._removers:
            remove()
        if not self.found:
            logger.warning("regard.monitor: the first batch called no module; pass of=its path.")
            return self.root
        names = {id(module): repr(name) for name, module in self.root.named_modules()}
        first, *others = sorted(self.found, key=_size, reverse=True)
        large = [x for x in others if 10 * _size(x) > _size(first)]
        if large:
            listed = ", ".join(names[id(x)] for x in (first, *large))
            logger.warning(
                "regard.monitor: the training step calls %s; the first is monitored. of= chooses.",
                listed,
            )
        return first


def _size(module: Any) -> int:
    return sum(x.numel() for x in module.parameters())
