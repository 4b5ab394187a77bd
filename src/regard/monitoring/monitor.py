"""regard.monitor: the health of every head while a model trains."""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from regard.arguments import named_arguments, suggest_keywords
from regard.errors import ArgumentError, count
from regard.monitoring.certificate import bound, join_exact, live_queries
from regard.monitoring.events import RULES, AlertError, Event
from regard.monitoring.folder import About, History, Layer
from regard.monitoring.health import MAXIMA, SUMS, head_sums, logsumexp_sums
from regard.monitoring.optimizer import WeightSample, learning_rates, steps_taken
from regard.monitoring.options import MonitorOptions, check_alerts, check_arguments, check_numbers
from regard.monitoring.output import Output, logger
from regard.monitoring.probe import call_with, untouched
from regard.monitoring.ranks import (
    RankParts,
    largest_on_all_ranks,
    rank_and_ranks,
    same_on_all_ranks,
)
from regard.monitoring.rules import Rules, call_setting
from regard.monitoring.step import FACTS, HostFacts, PendingStep, StepState, larger
from regard.monitoring.writers import Health, ToFolder, Writer, writer_to
from regard.watcher.capture.modules import attach_hook, in_backward, uncompiled
from regard.watcher.capture.runs import LayerKey
from regard.watcher.options import Layers, Options
from regard.watcher.seam.call import AttentionCall
from regard.watcher.seam.source import AttentionSource
from regard.watcher.watch import need_extra

if TYPE_CHECKING:
    from types import TracebackType

    import torch

    from regard.judging.judge import Judge

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
    exact_scores: bool = False,
    judge: int | None = None,
    alerts: Sequence[str] = RULES,
    on_alert: str | Callable[[Event], Any] = "print",
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
    threshold : the largest score above which a head is in danger, 100 as in QK-clip. Heads whose
        bound is above it get their exact largest score at every step.
    exact_scores : whether every head gets it at every step, as QK-clip needs it.
    judge : how many rows of each head of an observed step are redone in float64 and compared with
        the kernel's output, as ``regard.judge`` does; none by default. A GPU is waited for.
    alerts : the rules that are applied: 'not finite', 'wrong', 'settings', 'shift', 'away',
        'threshold', 'collapse', 'silent', 'optimizer'.
    on_alert : 'print', 'log' or 'raise', or a function of an event.
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
    check_numbers(every, rows, seed, step, judge)
    check_arguments(model, on_alert, on_error)
    check_alerts(alerts, threshold)
    places = [] if to is None else to if isinstance(to, list | tuple) else [to]
    writers = [writer_to(x) for x in places]
    options = MonitorOptions(
        every, Options.from_arguments(layers=layers), rows, seed, probe, threshold, tuple(alerts),
        on_alert, on_error, exact_scores, judge,
    )  # fmt: skip
    return Monitor(model, options, writers, step)


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

    ``step`` is the current step.
    """

    def __init__(
        self, model: Any, options: MonitorOptions, writers: list[Writer], step: int | None
    ) -> None:
        self.options, self.notes = options, list[str]()
        self._output = Output(writers, options.on_alert)
        folders = [x.folder for x in writers if isinstance(x, ToFolder)]
        lasts = [x.last_step for x in folders]
        self.step = (
            step if step is not None else max((x + 1 for x in lasts if x is not None), default=0)
        )
        self.folder = str(folders[0].folder) if folders else None
        self.failed = self.closed = False
        self.shares_of_step = 1.0  # 1 / ranks where the losses of all ranks are shares of one
        self._model: weakref.ref[Any] = weakref.ref(_unwrapped(model))
        self._outer: weakref.ref[Any] = weakref.ref(model)
        # The source must not keep the model alive: it is deleted as if it were not monitored.
        self._source = AttentionSource(None, self._take)
        self._state = StepState()
        # Scores since the last max_scores, and since the last score_bounds.
        self._windows: dict[str, torch.Tensor | None] = {"exact": None, "bound": None}
        self._layers: dict[LayerKey, Layer] = {}
        self._by_hand: set[LayerKey] = set()
        self._rules: Rules | None = None
        self._weights: WeightSample | None = None
        self._judge: Judge | None = None
        self._facts: list[HostFacts] = []  # of the steps since the last observed one
        self._pending: list[PendingStep] = []
        self._since: list[torch.Tensor] = []  # steps since the last observed one, of several ranks
        self._unsent = 0  # their number, which a rank that failed knows too
        self._ranks_agreed = self._ranks_ended = False
        self._block: ExitStack | None = None
        self._remove_inside: Callable[[], None] = lambda: None
        self._optimizers: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
        self._forwards = self._forwards_ended = 0  # seen, and of these in steps that have ended
        self._forwards_before: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._removers: list[Callable[[], None]] = []
        self._attach(_unwrapped(model))

    @property
    def alerts(self) -> list[Event]:
        """The events so far; one whose ``last`` is None is open."""
        return self._output.alerts

    @property
    def last(self) -> Health | None:
        """The last observation."""
        return self._output.last

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
            self._removers.append(
                attach_hook(model, "forward", end, always_call=True, with_kwargs=True)
            )

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
        self._source.active = self._block is None

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
            modules.forwards += 1
            modules.enter(model, call)
            self._block = stack.pop_all()

    @_guarded
    def _end(self, model: Any, arguments: Any, keywords: Any, output: Any) -> None:
        if self._block is None and not self._source.active:
            return
        self._leave_forward()
        self._take_loss(output)
        # transformers' Trainer: the losses of micro-batches are shares of the step's.
        self._state.in_shares = keywords.get("num_items_in_batch") is not None

    def _leave_forward(self) -> None:
        """End the observation of a forward, one that was interrupted too."""
        self._source.active, self._state.mask = False, None
        self._source.begin_forward()
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
        # The modules are the model's, which is not kept alive.
        attending, self._source.attending = self._source.attending, {}
        found = {LayerKey(*layer): site for site, layer in self._source.layers.items()}
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
        for key in new:
            path, number = found[key]
            name = f"{path}#{number + 1}" if number else path
            heads = self._state.sums[key].sums.shape[0]
            self._layers[key] = Layer(*key, heads, _plain_path(name))
        modules = {id(x): x for x in attending.values() if x is not None}
        self._remove_inside = self._source.attach_inside(list(modules.values()))
        layers = tuple(self._layers.values())
        options = self.options
        self._rules = Rules(layers, options.threshold, options.alerts)
        self.about = About(
            layers, options.every, options.rows, options.seed, options.threshold or 0.0,
            options.probe is not None,
        )  # fmt: skip
        self._output.begin(self.about, self._rules)

    # What an attention gives.

    @_guarded
    def _take(self, call: AttentionCall) -> None:
        """Take all measures of an attention of an observed step, of any other its bound."""
        layer_key = LayerKey(call.place.part, call.place.layer)
        if not self.options.watched.watches(layer_key.layer):
            return
        if self._layers and layer_key not in self._layers:
            return
        call, sums, rows = call.detached, None, None
        if self._block is not None:
            rows = self._rows(call.shape[2], call)
            sums = head_sums(call, rows, cross=call.place.crossed)
            self._state.sums[layer_key] = sums.merged(self._state.sums.get(layer_key))
            self._judge_rows(layer_key, call)
        if call.weights is not None:
            self._by_hand.add(layer_key)
        whole = sums is not None and rows is None and call.weights is None
        self._bound(layer_key, call, sums.maxima[:, 0] if sums is not None and whole else None)

    def _judge_rows(self, layer_key: LayerKey, call: AttentionCall) -> None:
        """Redo rows of an attention, where that is asked for, and note heads that are wrong."""
        if self.options.judge is None:
            return
        if self._judge is None:
            from regard.judging.judge import Judge

            self._judge = Judge(self.options.judge, seed=self.options.seed)
        faults = self._judge.verdict.faults
        known = len(faults)
        self._judge.read(call)
        wrong = [(x.head, x.name or f"{x.z:.3g} units of rounding") for x in faults[known:]]
        if wrong:
            self._state.wrong.setdefault(layer_key, []).extend(wrong)

    def _bound(
        self, layer_key: LayerKey, call: AttentionCall, highest_h: torch.Tensor | None = None
    ) -> None:
        """Join the bound of an attention, and exact scores: ``highest_h`` where they are known."""
        import torch

        live = self._live(call.mask)
        bound_h, spread = bound(call, live), logsumexp_sums(call, live)
        limit = self.options.threshold
        if bound_h is None or (self._layers and len(bound_h) != self._layers[layer_key].heads):
            return
        exact_h = torch.full_like(bound_h, -torch.inf) if highest_h is None else highest_h
        exact_h = exact_h.to(bound_h)
        if call.scores is not None:
            exact_h = bound_h
        elif highest_h is None and self.options.exact_scores:
            join_exact(call, torch.full_like(bound_h, torch.inf), exact_h, 0.0)
        elif (
            highest_h is None and limit is not None and self._may_exceed(layer_key, limit, bound_h)
        ):
            join_exact(call, bound_h, exact_h, limit)
        self._state.join(layer_key, bound_h, exact_h)
        self._state.settings.setdefault(layer_key, set()).add(call_setting(call))
        if spread is not None:
            self._state.spreads.setdefault(layer_key, []).append(spread)

    def _may_exceed(self, layer_key: LayerKey, limit: float, bound_h: torch.Tensor) -> bool:
        """Whether a head of a layer may have a score above the limit, by what the host knows.

        On a GPU these are the bounds of the step before last: where they are below half the limit
        no kernel is started. On a CPU ``join_exact`` looks at the bounds of this step.
        """
        if self._output.known is None or bound_h.device.type == "cpu" or rank_and_ranks()[1] > 1:
            return True
        return not self._output.known[list(self._layers).index(layer_key)] <= limit / 2

    def _live(self, mask: torch.Tensor | None) -> torch.Tensor | None:
        """Queries that see a key; read once of a mask that the layers of a forward share."""
        if mask is None or mask.ndim != 4:
            return None
        if self._state.mask is None or self._state.mask[0] is not mask:
            self._state.mask = mask, live_queries(mask.detach())
        return self._state.mask[1]

    def _rows(self, queries: int, call: AttentionCall) -> torch.Tensor | None:
        """The queries to measure, drawn once a step for each length; None for all of them."""
        import torch

        wanted = self.options.rows
        if wanted is None or wanted >= queries:
            return None
        if queries not in self._state.rows:
            chosen = np.random.default_rng([self.options.seed, self.step, queries])
            at = np.sort(chosen.choice(queries, wanted, replace=False)).astype(np.int32)
            tensor = call.query if call.query is not None else call.weights
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
        self._ask(optimizer)
        self.end_step()

    @_guarded
    def _ask(self, optimizer: Any) -> None:
        """What the optimizer tells at the end of a step."""
        if self.failed or "optimizer" not in self.options.alerts:
            return
        state, model = self._state, self._model()
        state.rates, state.optimizer_step = learning_rates(optimizer), steps_taken(optimizer)
        if self._weights is None and model is not None:
            self._weights = WeightSample(model)
        if self._weights is not None:
            state.update = self._weights.change()

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
        scores = self._take_scores()
        scores = scores[: 2 * len(scores) // 3]  # bounds and exact ones
        state, device = self._state, self._device
        rows = state.facts_row(device, self.shares_of_step), state.spreads_row(self._layers, device)
        self._since.append(torch.cat([*rows, scores]))
        places = {key: place for place, key in enumerate(self._layers)}
        settings = {places[x]: frozenset(found) for x, found in state.settings.items()}
        wrong = {places[x]: found for x, found in state.wrong.items()}
        self._facts.append(HostFacts(self.step, state.rates, state.optimizer_step, settings, wrong))
        if rank_and_ranks()[1] > 1 and not due:
            return None
        table, self._since = torch.stack(self._since), []
        losses, joined = table.split([FACTS + 3 * self.about.heads, 2 * self.about.heads], dim=1)
        if not due:
            return RankParts(losses.reshape(-1), joined.reshape(-1))
        bounds = scores[: len(scores) // 2].split([x.heads for x in self._layers.values()])
        sums = [
            state.sums_of(key, layer, own_h, key in self._by_hand)
            for (key, layer), own_h in zip(self._layers.items(), bounds, strict=True)
        ]
        added = [losses.reshape(-1), *(x.sums.reshape(-1).to(losses.device) for x in sums)]
        largest = [joined.reshape(-1), *(x.maxima.reshape(-1).to(losses.device) for x in sums)]
        return RankParts(torch.cat(added), torch.cat(largest))

    def _failed_parts(self) -> RankParts:
        """Parts of the sizes that the other ranks have, for a rank whose monitor failed."""
        import torch

        heads = sum(layer.heads for layer in self._layers.values())
        steps, device = self._unsent, self._device
        rows = steps * (FACTS + 3 * heads)
        added = torch.zeros(rows + heads * len(SUMS), dtype=torch.float64, device=device)
        joined = torch.zeros(
            2 * heads * steps + heads * len(MAXIMA), dtype=torch.float64, device=device
        )
        return RankParts(added, joined, failed=True)

    @property
    def _device(self) -> Any:
        model = self._model()
        parameters = iter(()) if model is None else (x.device for x in model.parameters())
        return next((x[0].device for x in self._state.bounds.values()), next(parameters, "cpu"))

    def _take_scores(self) -> torch.Tensor:
        """Scores of the current step; what was found since the last time joins the windows."""
        scores, state = self._state.scores_row(self._layers, self._device), self._state
        self._windows = {name: larger(x, scores) for name, x in self._windows.items()}
        state.earlier, state.bounds = larger(state.earlier, scores), {}
        return state.earlier

    @_guarded
    def _finish_step(self, due: bool, parts: RankParts | None) -> list[Event] | None:
        """Start the copy of a step to the host, and write down those that have arrived."""
        if parts is not None:
            facts, self._facts = self._facts, []
            self._pending.append(PendingStep.start(facts, due, parts))
        # On a GPU the step before has passed its forward by now: the host does not wait for long,
        # and not for this one.
        on_device = parts is not None and parts.added.device.type != "cpu"
        return self._drain(keep=1 if on_device else 0)

    def _drain(self, keep: int = 0) -> list[Event]:
        found = []
        while len(self._pending) > keep:
            found += self._output.write(self._pending.pop(0))
        return found

    @_guarded
    def _tell(self, found: list[Event]) -> None:
        """Tell events; a user's function may raise an AlertError to end the training."""
        self._output.tell(found)

    # The probe.

    @_guarded
    def _run_probe(self) -> None:
        """Run the fixed batch as it is written, without gradients; the training is not touched."""
        import torch

        model = self._model()
        if model is None:
            return
        with untouched(model), torch.no_grad(), uncompiled():
            self._enter_observed(model, sys._getframe())
            try:
                call_with(model, self.options.probe)
            finally:
                self._leave_forward()

    # What a caller asks for.

    def max_scores(self) -> dict[str, torch.Tensor]:
        """The exact largest score of every head since the last call, by its module's path, (h).

        nan where it was not computed, or is nan. Computed are all heads with ``exact_scores=True``
        or ``every=1`` (without ``rows=``), else those whose bound was above the threshold, at every
        step, and all of them on observed steps. The tensors are on the model's device, and the host
        does not wait for it. On a GPU the host sees bounds two steps late: a head that leapt from
        below half the threshold is nan until then. With several ranks all of them have to call.
        """
        import torch

        window = self._window("exact")
        if window is None:
            return {}
        _, exact_h, loose_h = window
        # Every forward that could have a larger one was computed exactly.
        return self._by_path(torch.where(exact_h >= loose_h, exact_h, torch.nan))

    def score_bounds(self) -> dict[str, torch.Tensor]:
        """A bound of every head's largest score since the last call, by its module's path, (h).

        The largest log-sum-exp, which the kernel returns anyway: never below the largest score, and
        at most the log of the number of keys above it. With several ranks all of them have to call.
        """
        window = self._window("bound")
        return {} if window is None else self._by_path(window[0])

    def _window(self, name: str) -> torch.Tensor | None:
        """Bounds, exact and loose scores (3, h) of all ranks since the last call, which ends it."""
        several = rank_and_ranks()[1] > 1
        if self._state.bounds or (several and self._layers):
            self._take_scores()
        window, self._windows[name] = self._windows[name], None
        if window is None or (several and (self._ranks_ended or not self._ranks_agreed)):
            return None
        if several:
            largest_on_all_ranks(window)
        return window.float().view(3, -1)

    def _by_path(self, scores_h: torch.Tensor) -> dict[str, torch.Tensor]:
        layers = self._layers.values()
        return {
            x.path: own_h
            for x, own_h in zip(layers, scores_h.split([x.heads for x in layers]), strict=True)
        }

    def log(self, *, loss: Any) -> None:
        """Log the loss of the current step; of several, of its micro-batches, the mean counts.

        That of a model which returns one is taken anyway.
        """
        import torch

        try:
            number = torch.as_tensor(loss).detach().double().mean()
        except (TypeError, ValueError, RuntimeError):
            raise ArgumentError(f"loss must be a number or a tensor, got {loss!r:.200}.") from None
        if not self._state.logged:
            self._state.losses, self._state.logged = [], True
        self._state.losses.append(number)

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
    def _close(self) -> list[Event]:
        self._leave_forward()
        found = self._drain()
        self._detach()
        self._output.close(self.step - 1)
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
        self._source.active = False
        if rank_and_ranks()[1] == 1:
            self._detach()

    def _detach(self) -> None:
        self._remove_inside()
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
