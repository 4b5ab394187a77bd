"""regard.monitor: the health of every head while a model trains."""

from __future__ import annotations

import functools
import logging
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from regard.arguments import named_arguments, suggest_keywords
from regard.errors import ArgumentError, count
from regard.monitoring.alerts import Alert, AlertError, AlertRules, Thresholds
from regard.monitoring.certificate import (
    AttentionHooks,
    bound,
    certificate_mode,
    join_exact,
    live_queries,
)
from regard.monitoring.folder import About, History, Layer
from regard.monitoring.health import MAXIMA, SUMS, HeadSums, head_sums, measures
from regard.monitoring.ranks import (
    RankParts,
    largest_on_all_ranks,
    rank_and_ranks,
    same_on_all_ranks,
)
from regard.monitoring.writers import Health, ToFolder, Writer, writer_to
from regard.typing import Array
from regard.watcher.capture.events import AttentionEvent
from regard.watcher.capture.modules import attach_hook, in_backward, uncompiled
from regard.watcher.capture.runs import LayerKey
from regard.watcher.on_step import LocatedAttention
from regard.watcher.options import Layers, Options
from regard.watcher.watch import need_extra

if TYPE_CHECKING:
    from types import TracebackType

    import torch

logger = logging.getLogger("regard.monitor")
ON_ALERT = ("print", "log", "raise")
WRAPPERS = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.", "module.")


@suggest_keywords
def monitor(
    model: Any,
    *,
    every: int = 50,
    to: Any = None,
    layers: Layers = "all",
    rows: int | None = None,
    seed: int = 0,
    probe: Any = None,
    threshold: float | None = 100.0,
    growth: float | None = 2.0,
    entropy: float | None = 0.05,
    silent: float | None = 1e-3,
    on_alert: str | Callable[[Alert], Any] = "print",
    on_error: str = "log",
    step: int | None = None,
) -> Monitor:
    """Watch the attention of a model while it trains, until ``close``.

    Parameters
    ----------
    model : a torch.nn.Module, wrapped (DDP, FSDP) or not.
    every : every how many steps all measures of all heads are taken; a step ends with
        ``optimizer.step()`` of an optimizer that has parameters of the model, or with ``end_step``.
    to : a folder; a SummaryWriter, a run of W&B, the module mlflow; a function of an observation;
        or several of them in a list.
    layers : 'all', or the numbers of the layers to watch, counted from 0.
    rows : how many queries of each sentence to measure, drawn anew at each step from ``seed``; all
        of them by default.
    probe : a batch (keywords, arguments or a tensor for the model) that is run without gradients
        every ``every`` steps, so that curves are comparable; the training is then not looked at.
    threshold, growth, entropy, silent : limits of alerts, see ``regard.monitoring.alerts``.
        Heads whose bound is above ``threshold`` get their exact maximum at every step.
    on_alert : 'print', 'log' or 'raise', or a function of an alert.
    on_error : 'log' an error inside the monitor, once, and stop monitoring; or 'raise' it.
    step : the number of the first step; by default the one after the folder's last, or 0.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    >>> optimizer, seen = torch.optim.SGD(model.parameters(), lr=0.1), []
    >>> with monitor(model, every=1, to=seen.append):
    ...     for _ in range(2):
    ...         loss = model(torch.ones(1, 4, 8)).square().mean()
    ...         loss.backward(); optimizer.step()
    >>> [(health.step, health["entropy_share"].round(3).tolist()) for health in seen]
    [(0, [1.0, 1.0]), (1, [1.0, 1.0])]
    """
    need_extra("monitoring a training", ("torch",))
    _check_numbers(every, rows, seed, step)
    _check_arguments(model, on_alert, on_error)
    writers = [writer_to(x) for x in _several(to)]
    rules = Thresholds(threshold, growth, entropy, silent)
    options = MonitorOptions(
        every, Options.from_arguments(layers=layers), rows, seed, probe, rules, on_alert, on_error
    )
    return Monitor(model, options, writers, step)


def _several(to: Any) -> list[Any]:
    if to is None:
        return []
    return list(to) if isinstance(to, list | tuple) else [to]


def _check_numbers(every: Any, rows: Any, seed: Any, step: Any) -> None:
    least = {"every": (every, 1), "rows": (rows, 1), "seed": (seed, 0), "step": (step, 0)}
    for name, (number, first) in least.items():
        whole = isinstance(number, int) and not isinstance(number, bool) and number >= first
        if not whole and (number is not None or name in ("every", "seed")):
            raise ArgumentError(f"{name} must be a whole number from {first} up, got {number!r}.")


def _check_arguments(model: Any, on_alert: Any, on_error: Any) -> None:
    import torch

    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"model must be a torch.nn.Module, got {type(model).__name__}.")
    if not callable(on_alert) and on_alert not in ON_ALERT:
        raise ArgumentError(
            f"on_alert must be 'print', 'log', 'raise' or a function, got {on_alert!r}."
        )
    if on_error not in ("log", "raise"):
        raise ArgumentError(f"on_error must be 'log' or 'raise', got {on_error!r}.")


@dataclass(frozen=True)
class MonitorOptions:
    """Arguments of ``regard.monitor``, checked."""

    every: int
    watched: Options
    rows: int | None
    seed: int
    probe: Any
    thresholds: Thresholds
    on_alert: str | Callable[[Alert], Any]
    on_error: str


Method = TypeVar("Method", bound=Callable[..., Any])


def _guarded(method: Method) -> Method:
    """Method of a Monitor whose errors stop the monitor instead of the training."""

    @functools.wraps(method)
    def call(self: Monitor, *arguments: Any) -> Any:
        import torch

        if torch.compiler.is_compiling():  # dynamo follows hooks into a compiled model
            return None
        try:
            return method(self, *arguments)
        except AlertError:
            raise
        except Exception:
            self._fail()
            if self.options.on_error == "raise":
                raise
            return None

    return cast("Method", call)


@named_arguments
class Monitor(AbstractContextManager["Monitor"]):
    """A training under observation; made by ``regard.monitor``, ended by ``close``.

    ``step`` is the current step, ``alerts`` what was found so far, ``last`` the last observation.
    """

    def __init__(
        self, model: Any, options: MonitorOptions, writers: list[Writer], step: int | None
    ) -> None:
        self.options, self.writers = options, writers
        self.alerts: list[Alert] = []
        self.last: Health | None = None
        self.notes: list[str] = []
        folders = [x.folder for x in writers if isinstance(x, ToFolder)]
        lasts = [x.last_step for x in folders]
        self.step = (
            step if step is not None else max((x + 1 for x in lasts if x is not None), default=0)
        )
        self.folder = str(folders[0].folder) if folders else None
        self.failed = self.closed = False
        self._model: weakref.ref[Any] = weakref.ref(_unwrapped(model))
        self._outer: weakref.ref[Any] = weakref.ref(model)
        self._source = LocatedAttention(_unwrapped(model), options.watched, self._measure)
        # The source must not keep the model alive: it is deleted as if it were not monitored.
        self._source.model = self._source.holder = None
        self._source.modules.root = None
        self._state = StepState()
        self._window: torch.Tensor | None = None  # the scores since the last max_scores
        self._known: Array | None = (
            None  # the largest bound of each layer, of the last step written
        )
        self._layers: dict[LayerKey, Layer] = {}
        self._calls: dict[tuple[int, int], LayerKey] = {}
        self._by_hand: set[LayerKey] = set()
        self._rules: AlertRules | None = None
        self._pending: list[PendingStep] = []
        self._since: list[torch.Tensor] = []  # steps since the last observed one, of several ranks
        self._unsent = 0  # their number, which a rank that failed knows too
        self._ranks_agreed = self._ranks_ended = False
        self._block: ExitStack | None = None
        self._hooks = AttentionHooks(self._certify)
        self._optimizers: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
        self._forwards = self._forwards_ended = 0  # seen, and of these in steps that have ended
        self._forwards_before: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._removers: list[Callable[[], None]] = []
        self._attach(_unwrapped(model))

    # The training's side: hooks.

    def _attach(self, model: Any) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        owner = weakref.ref(self)

        def ended(optimizer: Any, arguments: Any, keywords: Any) -> None:
            found = owner()
            if found is not None:
                found._optimizer_stepped(optimizer)

        handle = register_optimizer_step_post_hook(ended)
        self._removers.append(handle.remove)
        if self.options.probe is None:
            begin = functools.partial(_call, owner, "_begin")
            end = functools.partial(_call, owner, "_end")
            self._removers.append(attach_hook(model, "forward_pre", begin))
            self._removers.append(attach_hook(model, "forward", end, always_call=True))

    @_guarded
    def _begin(self, model: Any, arguments: Any) -> None:
        import torch

        self._leave_forward()
        if in_backward() or torch.jit.is_tracing():
            return
        if not (torch.is_grad_enabled() and model.training):
            return
        self._forwards += 1  # of a monitor that failed too: its steps are those of other ranks
        if self.failed:
            return
        if self.observing or not self._layers:
            self._enter_observed(model, sys._getframe(2))
        # Scores of attention written by hand are seen by the hooks alone.
        self._hooks.active = self._block is None or bool(self._by_hand)
        self._state.calls.clear()

    @property
    def observing(self) -> bool:
        """Whether the current step is one of which all measures are taken."""
        return self.step % self.options.every == 0 or self._state.observed

    def _enter_observed(self, model: Any, call: Any) -> None:
        self._state.observed = True
        modules = self._source.modules
        with ExitStack() as stack:
            modules.root = model
            stack.callback(setattr, modules, "root", None)
            stack.callback(modules._roots.clear)
            stack.enter_context(self._source.attached())
            if not self._layers:  # no module is known that could have a hook
                self._state.softmaxes = []
                stack.enter_context(certificate_mode()(self._take_softmax))
            modules.forwards += 1
            modules._running.append((model, [], call))
            self._block = stack.pop_all()

    @_guarded
    def _end(self, model: Any, arguments: Any, output: Any) -> None:
        if self._block is None and not self._hooks.active:
            return
        self._leave_forward()
        self._take_loss(output)

    def _leave_forward(self) -> None:
        """End the observation of a forward, one that was interrupted too."""
        self._hooks.active, self._state.mask = False, None
        self._hooks.drop_interrupted()
        if self._block is not None:
            block, self._block = self._block, None
            block.close()
            self._learn_layers()

    def _take_loss(self, output: Any) -> None:
        named = isinstance(output, Mapping)
        loss: Any = output.get("loss") if named else getattr(output, "loss", None)
        if getattr(loss, "ndim", None) == 0:
            self._state.losses.append(loss.detach())

    def _learn_layers(self) -> None:
        """After the first observed forward: the layers, and hooks on the modules that attend."""
        found = self._source.modules_of_layers
        new = [key for key in found if key in self._state.sums and key not in self._layers]
        if not self._state.sums and not self._layers:
            self._note(
                "no attention was seen in a forward of the model: no fused kernel of attention, "
                "and no softmax whose result is multiplied by values."
            )
        if not new:
            return
        if self._rules is not None:
            self._note(f"{len(new)} attentions appeared after the first step; they are left out.")
            return
        names = {layer: path for path, layer in self._source.paths.items()}
        softmaxes, by_hand = self._state.softmaxes, self._state.by_hand
        if len(softmaxes) == len(by_hand):
            for key, bound_h in zip(by_hand, softmaxes, strict=True):
                largest_h = _larger(self._state.bounds.get(key, (None, None))[0], bound_h)
                self._state.bounds[key] = largest_h, largest_h
        self._state.softmaxes = []
        for key in new:
            heads = self._state.sums[key].sums.shape[0]
            self._layers[key] = Layer(*key, heads, _plain_path(names[key]))
        modules = {id(found[key][0]): found[key][0] for key in new if found[key][0] is not None}
        self._calls = {(id(found[key][0]), found[key][1]): key for key in new}
        self._hooks.attach(list(modules.values()))
        layers = tuple(self._layers.values())
        self._rules = AlertRules(layers, self.options.thresholds)
        options = self.options
        self.about = About(
            layers, options.every, options.rows, options.seed, options.thresholds.score or 0.0,
            options.probe is not None,
        )  # fmt: skip
        if rank_and_ranks()[0] == 0:
            for writer in self.writers:
                writer.begin(self.about)

    # What an attention gives.

    @_guarded
    def _measure(self, layer_key: LayerKey, event: AttentionEvent) -> None:
        """Take all measures of an attention of an observed step."""
        event = _plain(event, self._source)
        if self._layers and layer_key not in self._layers:
            return
        tensor = event.query if event.weights is None else event.weights
        assert tensor is not None
        rows = self._rows(tensor.shape[-2], event)
        sums = head_sums(event, rows, cross=layer_key.part == "cross")
        self._state.sums[layer_key] = sums.merged(self._state.sums.get(layer_key))
        if event.weights is None:
            self._bound(layer_key, event, sums.maxima[:, 0] if rows is None else None)
        else:
            self._by_hand.add(layer_key)
            self._state.by_hand.append(layer_key)

    @_guarded
    def _take_softmax(self, event: AttentionEvent) -> None:
        """Take the scores of a softmax of the first forward, whichever layer it is of."""
        bound_h = None if event.weights is None else bound(event)
        if bound_h is not None:
            self._state.softmaxes.append(bound_h)

    @_guarded
    def _certify(self, module: Any, event: AttentionEvent) -> None:
        """Take the bound of an attention of any other step."""
        number = self._state.calls.get(id(module), 0)
        self._state.calls[id(module)] = number + 1
        layer_key = self._calls.get((id(module), number))
        wanted = self._block is None or layer_key in self._by_hand
        if layer_key is not None and wanted:
            self._bound(layer_key, event)

    def _bound(
        self, layer_key: LayerKey, event: AttentionEvent, highest_h: torch.Tensor | None = None
    ) -> None:
        """Join the bound of an attention, and exact scores: ``highest_h`` where they are known."""
        import torch

        bound_h = bound(event, self._live(event.mask))
        limit, state = self.options.thresholds.score, self._state
        if bound_h is None or (self._layers and len(bound_h) != self._layers[layer_key].heads):
            return
        before, exact = state.bounds.get(layer_key, (None, None))
        if highest_h is not None:
            exact = _larger(exact, highest_h.to(bound_h))
        elif limit is not None and self._may_exceed(layer_key, limit, bound_h.device):
            exact = torch.full_like(bound_h, -torch.inf) if exact is None else exact
            join_exact(event, bound_h, exact, limit)
        if before is not None:
            bound_h = torch.maximum(before, bound_h)
        state.bounds[layer_key] = bound_h, exact

    def _may_exceed(self, layer_key: LayerKey, limit: float, device: torch.device) -> bool:
        """Whether a head of a layer may have a score above the limit, by what the host knows.

        On a GPU these are the bounds of the step before last: where they are below half the limit
        no kernel is started. On a CPU ``join_exact`` looks at the bounds of this step.
        """
        if self._known is None or device.type == "cpu" or rank_and_ranks()[1] > 1:
            return True
        return not self._known[list(self._layers).index(layer_key)] <= limit / 2

    def _live(self, mask: torch.Tensor | None) -> torch.Tensor | None:
        """Queries that see a key; read once of a mask that the layers of a forward share."""
        if mask is None or mask.ndim != 4:
            return None
        if self._state.mask is None or self._state.mask[0] is not mask:
            self._state.mask = mask, live_queries(mask.detach())
        return self._state.mask[1]

    def _rows(self, queries: int, event: AttentionEvent) -> torch.Tensor | None:
        """The queries to measure, drawn once a step for each length; None for all of them."""
        import torch

        wanted = self.options.rows
        if wanted is None or wanted >= queries:
            return None
        if queries not in self._state.rows:
            chosen = np.random.default_rng([self.options.seed, self.step, queries])
            at = np.sort(chosen.choice(queries, wanted, replace=False)).astype(np.int32)
            tensor = event.query if event.query is not None else event.weights
            assert tensor is not None
            self._state.rows[queries] = torch.as_tensor(at).to(tensor.device, non_blocking=True)
        return self._state.rows[queries]

    # The end of a step.

    def _optimizer_stepped(self, optimizer: Any) -> None:
        if self.closed or not self._owns(optimizer):
            return
        before = self._forwards_before.get(optimizer, 0)
        self._forwards_before[optimizer] = self._forwards
        if self.options.probe is None and self._forwards == self._forwards_ended:
            if before < self._forwards:  # another optimizer of the same step
                return
            self._note_unseen()
            if rank_and_ranks()[1] == 1:
                return
        self.end_step()

    @_guarded
    def _note_unseen(self) -> None:
        self._note(
            "no forward of the model was seen in a step: it is compiled, or a copy of it is "
            "trained. Pass probe=batch, which is run as it is written."
        )

    def _owns(self, optimizer: Any) -> bool:
        if optimizer not in self._optimizers:
            model = self._model()
            own = {id(x) for x in model.parameters()} if model is not None else set()
            groups = optimizer.param_groups
            self._optimizers[optimizer] = any(id(x) in own for g in groups for x in g["params"])
        return self._optimizers[optimizer]

    def end_step(self) -> None:
        """End a step: called after ``optimizer.step()``, or by hand where there is none."""
        if self.closed:
            return
        due = self.observing
        if self.options.probe is not None and due:
            self._run_probe()
        self._unsent += 1
        parts = self._parts(due)
        self._unsent *= not due
        found = self._finish_step(due, parts)
        self.step += 1
        self._state, self._forwards_ended = StepState(), self._forwards
        if found:
            self._tell(found)

    def _parts(self, due: bool) -> RankParts | None:
        """What this rank and all others know; a rank whose monitor failed takes part."""
        parts = self._own_parts(due)
        if rank_and_ranks()[1] == 1 or not due:
            return parts
        return self._parts_of_ranks(parts)

    @_guarded
    def _parts_of_ranks(self, parts: RankParts | None) -> RankParts | None:
        if self._ranks_ended or not self._ranks_agree():
            return None
        joined = (parts or self._failed_parts()).over_ranks()
        if joined.failed:
            self._end_on_all_ranks()
            return None
        return joined

    def _ranks_agree(self) -> bool:
        """Whether all ranks see the same layers: asked once, at the end of the first step."""
        if self._ranks_agreed:
            return True
        heads = 0 if self.failed else sum(layer.heads for layer in self._layers.values())
        if not same_on_all_ranks(heads, self._device) or not heads:
            self._end_on_all_ranks()
            return False
        self._ranks_agreed = True
        return True

    def _end_on_all_ranks(self) -> None:
        """Stop here as on all other ranks; no rank waits for another any more."""
        self._ranks_ended = True
        self._stop("the monitor of a rank failed, or sees other layers; those of all ranks stop.")
        self._detach()

    @_guarded
    def _own_parts(self, due: bool) -> RankParts | None:
        """The steps since the last observed one, and the sums of an observed one, on the device."""
        import torch

        if self.failed or not self._layers:
            return None
        scores = self._scores()
        self._window = _larger(self._window, scores)
        scores = _larger(self._state.earlier, scores)
        self._since.append(torch.cat([self._losses(), scores]))
        if rank_and_ranks()[1] > 1 and not due:
            return None
        rows, self._since = torch.stack(self._since), []
        losses, joined = rows[:, :2], rows[:, 2:]
        if not due:
            return RankParts(losses.reshape(-1), joined.reshape(-1))
        bounds = scores[: len(scores) // 2].split([x.heads for x in self._layers.values()])
        sums = [self._sums(key, own_h) for key, own_h in zip(self._layers, bounds, strict=True)]
        added = [losses.reshape(-1), *(x.sums.reshape(-1).to(losses.device) for x in sums)]
        largest = [joined.reshape(-1), *(x.maxima.reshape(-1).to(losses.device) for x in sums)]
        return RankParts(torch.cat(added), torch.cat(largest))

    def _failed_parts(self) -> RankParts:
        """Parts of the sizes that the other ranks have, for a rank whose monitor failed."""
        import torch

        heads = sum(layer.heads for layer in self._layers.values())
        steps, device = self._unsent, self._device
        added = torch.zeros(2 * steps + heads * len(SUMS), dtype=torch.float64, device=device)
        joined = torch.zeros(
            2 * heads * steps + heads * len(MAXIMA), dtype=torch.float64, device=device
        )
        return RankParts(added, joined, failed=True)

    @property
    def _device(self) -> Any:
        model = self._model()
        parameters = iter(()) if model is None else (x.device for x in model.parameters())
        return next((x[0].device for x in self._state.bounds.values()), next(parameters, "cpu"))

    def _sums(self, key: LayerKey, bound_h: torch.Tensor) -> HeadSums:
        import torch

        if key in self._state.sums:
            sums = self._state.sums[key]
            if key in self._by_hand:
                own = [MAXIMA.index("score"), MAXIMA.index("logsumexp")]
                sums.maxima[:, own] = bound_h.to(sums.maxima)[:, None]
            return sums
        heads = self._layers[key].heads
        return HeadSums(
            torch.zeros(heads, len(SUMS), dtype=torch.float64),
            torch.full((heads, len(MAXIMA)), -torch.inf, dtype=torch.float64),
        )

    def _losses(self) -> torch.Tensor:
        """The sum of the step's losses and their number."""
        import torch

        losses, device = [loss.double() for loss in self._state.losses], self._device
        if not losses:
            return torch.zeros(2, dtype=torch.float64, device=device)
        total = torch.stack([loss.to(device) for loss in losses]).sum()
        return torch.stack([total, torch.full_like(total, len(losses))])

    def _scores(self) -> torch.Tensor:
        """Bounds of all heads, then their exact scores, -inf where unknown: one row, float64."""
        import torch

        pairs = [self._state.bounds.get(key, (None, None)) for key in self._layers]
        heads, device = [layer.heads for layer in self._layers.values()], self._device
        unknown = torch.full((max(heads),), -torch.inf, device=device)
        columns = [
            unknown[:h] if found is None else found.to(device)
            for own in zip(*pairs, strict=True)
            for found, h in zip(own, heads, strict=True)
        ]
        return torch.cat(columns).double()

    @_guarded
    def _finish_step(self, due: bool, parts: RankParts | None) -> list[Alert] | None:
        """Start the copy of a step to the host, and write down those that have arrived."""
        if parts is not None:
            self._pending.append(PendingStep.start(self.step, due, parts))
        # On a GPU the step before has passed its forward by now: the host does not wait for long,
        # and not for this one.
        on_device = parts is not None and parts.added.device.type != "cpu"
        return self._drain(keep=1 if on_device else 0)

    def _drain(self, keep: int = 0) -> list[Alert]:
        found = []
        while len(self._pending) > keep:
            found += self._write(self._pending.pop(0))
        return found

    def _write(self, pending: PendingStep) -> list[Alert]:
        """Write a step down, and the steps before it that it brings; returns new alerts."""
        assert self._rules is not None
        added, joined = pending.on_host()
        heads, alerts = self.about.heads, []
        steps = (len(joined) - (heads * len(MAXIMA) if pending.observed else 0)) // (2 * heads)
        losses, sums = added[: 2 * steps].reshape(steps, 2), added[2 * steps :]
        split = 2 * heads * steps
        rows, maxima = joined[:split].reshape(steps, 2, heads), joined[split:]
        for at in range(steps):
            step = pending.step - steps + 1 + at
            loss = losses[at, 0] / losses[at, 1] if losses[at, 1] else None
            alerts += self._rules.bounded(step, rows[at, 0], rows[at, 1])
            self._write_step(step, loss, rows[at, 0])
        if pending.observed:
            found = measures(sums.reshape(heads, len(SUMS)), maxima.reshape(heads, len(MAXIMA)))
            alerts += self._rules.observed(pending.step, found)
            self.last = Health(pending.step, self.about, found, loss, tuple(alerts))
            for writer in self._here:
                writer.observed(self.last)
        for alert in alerts:
            for writer in self._here:
                writer.alert(alert)
        self.alerts += alerts
        return alerts

    def _write_step(self, step: int, loss: float | None, bound_h: Array) -> None:
        starts = self.about.starts
        self._known = np.array([bound_h[a:b].max() for a, b in pairwise(starts)])
        for writer in self._here:
            writer.step(step, loss, self._known)

    @property
    def _here(self) -> list[Writer]:
        """The writers, on the rank that writes."""
        return self.writers if rank_and_ranks()[0] == 0 else []

    def _tell(self, alerts: list[Alert]) -> None:
        """Print, log or raise alerts, or pass them on."""
        how = self.options.on_alert
        if how == "raise":
            raise AlertError(alerts)
        if rank_and_ranks()[0]:
            return
        for alert in alerts:
            if callable(how):
                self._pass_on(how, alert)
            elif how == "log":
                logger.warning("%s", alert)
            else:
                print(f"regard: {alert}", file=sys.stderr, flush=True)

    @_guarded
    def _pass_on(self, function: Callable[[Alert], Any], alert: Alert) -> None:
        """Call the user's function; it may raise an AlertError to end the training."""
        function(alert)

    # The probe.

    @_guarded
    def _run_probe(self) -> None:
        """Run the fixed batch as it is written, without gradients; the training is not touched."""
        import torch

        model = self._model()
        if model is None:
            return
        with _untouched(model), torch.no_grad(), uncompiled():
            self._enter_observed(model, sys._getframe())
            try:
                _call_with(model, self.options.probe)
            finally:
                self._leave_forward()

    # What a caller asks for.

    def max_scores(self, threshold: float | None = None) -> dict[str, torch.Tensor]:
        """The largest score of every head since the last call, by the path of its module, (h).

        Exact for heads above the threshold. The others have their bound, the largest log-sum-exp,
        which is not above it: nothing was computed for them. The tensors are on the model's device,
        and the host does not wait for it: on a GPU it knows the bounds of the step before last, and
        a head that leapt from below half the threshold since then has its bound for these steps.
        With several ranks all of them have to call.

        Parameters
        ----------
        threshold : at least the monitor's own, which is the default.
        """
        import torch

        limit = self.options.thresholds.score
        if limit is None:
            raise ArgumentError("max_scores needs regard.monitor(..., threshold=a number).")
        threshold = limit if threshold is None else threshold
        if threshold < limit:
            raise ArgumentError(
                f"threshold must be at least the monitor's, {limit:g}, got {threshold:g}: exact "
                f"maxima below it were not computed. Make it with threshold={threshold:g}."
            )
        window, self._window = self._window, None
        several = rank_and_ranks()[1] > 1
        if self._state.bounds or (several and self._layers):
            scores = self._scores()
            window = _larger(window, scores)
            self._state.earlier = _larger(self._state.earlier, scores)
            self._state.bounds = {}
        if window is None or (several and (self._ranks_ended or not self._ranks_agreed)):
            return {}
        if several:
            largest_on_all_ranks(window)
        bounds, exact = window.float().view(2, -1)
        known = (bounds > threshold) & (exact > -torch.inf)
        largest = torch.where(known, exact, bounds).split([x.heads for x in self._layers.values()])
        named = zip(self._layers.values(), largest, strict=True)
        return {layer.path: found_h for layer, found_h in named}

    def log(self, *, loss: Any) -> None:
        """Log the loss of the current step; that of a model which returns one is taken anyway."""
        import torch

        try:
            number = torch.as_tensor(loss).detach().double().mean()
        except (TypeError, ValueError, RuntimeError):
            raise ArgumentError(f"loss must be a number or a tensor, got {loss!r:.200}.") from None
        self._state.losses = [number]

    def history(self) -> History:
        """The training so far, from its folder."""
        if self.folder is None:
            raise ArgumentError("history needs a folder: regard.monitor(model, to='runs/first').")
        self._drain()
        return History.load(self.folder)

    def to_pandas(self) -> Any:
        """A row for each observed step and head of the folder, a column for each measure."""
        return self.history().to_pandas()

    def close(self) -> None:
        """End the observation; the model is then as it was."""
        if self.closed:
            return
        self.closed = True
        found = self._close()
        if found:
            self._tell(found)

    @_guarded
    def _close(self) -> list[Alert]:
        self._leave_forward()
        found = self._drain()
        self._detach()
        for writer in self._here:
            writer.close()
        return found

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # Errors.

    def _fail(self) -> None:
        """Log an error inside the monitor, once, with its traceback, and stop monitoring."""
        if not self.failed:
            logger.exception("regard.monitor failed and stops; the training goes on.")
        self._stop()

    def _stop(self, reason: str = "") -> None:
        if reason and not self.failed:
            self._note(reason)
        self.failed = True
        self._hooks.active = False
        if rank_and_ranks()[1] == 1:
            self._detach()

    def _detach(self) -> None:
        self._hooks.remove()
        while self._removers:
            self._removers.pop()()

    def _note(self, text: str) -> None:
        """Say once what cannot be seen."""
        if text not in self.notes:
            self.notes.append(text)
            logger.warning("regard.monitor: %s", text)

    def __repr__(self) -> str:
        state = "failed" if self.failed else "closed" if self.closed else "running"
        found = f"{count(len(self._layers), 'layer')}, {count(len(self.alerts), 'alert')}"
        return f"Monitor({state}, step {self.step}, {found})"


@dataclass
class StepState:
    """What was found in the forwards of the current step."""

    observed: bool = False
    sums: dict[LayerKey, HeadSums] = field(default_factory=dict)
    bounds: dict[LayerKey, tuple[torch.Tensor, torch.Tensor | None]] = field(default_factory=dict)
    earlier: torch.Tensor | None = None  # the step's scores that max_scores has taken
    losses: list[torch.Tensor] = field(default_factory=list)
    calls: dict[int, int] = field(default_factory=dict)
    by_hand: list[LayerKey] = field(default_factory=list)  # of the first forward, in their order
    softmaxes: list[torch.Tensor] = field(default_factory=list)  # their largest scores, (h)
    rows: dict[int, torch.Tensor] = field(default_factory=dict)
    mask: tuple[torch.Tensor, torch.Tensor] | None = None  # the last, and what sees a key by it


@dataclass(frozen=True)
class PendingStep:
    """A step on its way from the device to the host."""

    step: int
    observed: bool
    numbers: torch.Tensor
    added: int
    arrived: Any = None

    @classmethod
    def start(cls, step: int, observed: bool, parts: RankParts) -> PendingStep:
        """Start the copy; the host does not wait for it."""
        import torch

        numbers, arrived = torch.cat([parts.added, parts.joined]), None
        if numbers.device.type == "cuda":
            host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            host.copy_(numbers, non_blocking=True)
            arrived = torch.cuda.Event()
            arrived.record(torch.cuda.current_stream(numbers.device))
            numbers = host
        return cls(step, observed, numbers, len(parts.added), arrived)

    def on_host(self) -> tuple[Array, Array]:
        """Sums and maxima as arrays, once they have arrived."""
        if self.arrived is not None:
            self.arrived.synchronize()
        array = self.numbers.cpu().numpy()
        return array[: self.added], array[self.added :]


def _larger(one: torch.Tensor | None, other: torch.Tensor) -> torch.Tensor:
    """The larger numbers of two rows of scores, nan where there is one."""
    return other if one is None else one.to(other).maximum(other)


def _call(owner: weakref.ref[Monitor], name: str, *arguments: Any) -> None:
    """A hook that does not keep its monitor alive."""
    import torch

    if torch.compiler.is_compiling():
        return
    found = owner()
    if found is not None:
        getattr(found, name)(*arguments)


def _unwrapped(model: Any) -> Any:
    """The module inside torch.compile's wrapper and DistributedDataParallel's."""
    for name in ("_orig_mod", "module"):
        inner = model._modules.get(name)
        if inner is not None and len(model._modules) == 1:
            return _unwrapped(inner)
    return model


def _plain_path(path: str) -> str:
    """A module's path as the user wrote it, without the wrappers of FSDP and checkpointing.

    >>> _plain_path("layers.0._fsdp_wrapped_module._checkpoint_wrapped_module.attn")
    'layers.0.attn'
    """
    for wrapper in WRAPPERS[:-1]:
        path = path.replace(wrapper, "")
    return path


def _plain(event: AttentionEvent, source: LocatedAttention) -> AttentionEvent:
    """Weights as (b, h, q, k)."""
    if event.weights is None:
        return event
    from dataclasses import replace

    from regard.watcher.capture.operators import by_sentence

    modules = source.modules
    weights = by_sentence(event.weights, modules.module, modules.sentences(event.weights.shape[-2]))
    return replace(event, weights=weights)


def _call_with(model: Any, batch: Any) -> None:
    if isinstance(batch, Mapping):
        model(**batch)
    elif isinstance(batch, list | tuple):
        model(*batch)
    else:
        model(batch)


@contextmanager
def _untouched(model: Any) -> Iterator[None]:
    """Evaluation mode for the block; every module's mode and the random numbers come back."""
    import torch

    training = [module for module in model.modules() if module.training]
    devices = sorted({x.device.index or 0 for x in model.parameters() if x.is_cuda})
    with torch.random.fork_rng(devices=devices):
        model.eval()
        try:
            yield
        finally:
            for module in training:
                module.training = True
