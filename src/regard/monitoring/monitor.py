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
from regard.monitoring.certificate import bound, shown_by, spread_sums
from regard.monitoring.events import RULES, AlertError, Event
from regard.monitoring.folder import About, History, Layer
from regard.monitoring.health import head_sums, join_exact
from regard.monitoring.optimizer import WeightSample, learning_rates, steps_taken
from regard.monitoring.options import MonitorOptions
from regard.monitoring.output import Output, logger
from regard.monitoring.probe import run_untouched
from regard.monitoring.ranks import (
    largest_on_all_ranks,
    over_ranks,
    rank_and_ranks,
    same_on_all_ranks,
)
from regard.monitoring.rules import Rules, StepNumbers, call_setting
from regard.monitoring.step import Parts, PendingStep, StepState, larger
from regard.monitoring.writers import Health, ToFolder, Writer, writer_to
from regard.watcher.capture.modules import attach_hook, in_backward, uncompiled
from regard.watcher.capture.runs import LayerKey
from regard.watcher.options import Layers, Options
from regard.watcher.other_layers import LayerLists
from regard.watcher.seam.call import AttentionCall
from regard.watcher.seam.source import AttentionSource
from regard.watcher.watch import need_extra

if TYPE_CHECKING:
    import torch

    from regard.judging.judge import Judge

# What FSDP and checkpointing put into a module's path.
WRAPPERS = ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


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
    import torch

    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(f"model must be a torch.nn.Module, got {type(model).__name__}.")
    options = MonitorOptions(
        every, Options.from_arguments(layers=layers), rows, seed, probe, threshold, exact_scores,
        judge, alerts, on_alert, on_error, step,
    )  # fmt: skip
    places = [] if to is None else to if isinstance(to, list | tuple) else [to]
    return Monitor(model, options, [writer_to(x) for x in places])


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
            if not self.failed:
                logger.exception("regard.monitor failed and stops; the training goes on.")
            self._stop()
            if self.options.on_error == "raise":
                raise
            return None

    return cast("Method", call)


@named_arguments
class Monitor(AbstractContextManager["Monitor"]):
    """A training under observation; made by ``regard.monitor``, ended by ``close``.

    ``step`` is the current step.
    """

    def __init__(self, model: Any, options: MonitorOptions, writers: list[Writer]) -> None:
        self.options, self.notes = options, list[str]()
        self._output = Output(writers, options.on_alert)
        folders = [x.folder for x in writers if isinstance(x, ToFolder)]
        lasts = [-1 if x.last_step is None else x.last_step for x in folders]
        self.step = max(lasts, default=-1) + 1 if options.step is None else options.step
        self.folder = str(folders[0].folder) if folders else None
        self.failed = self.closed = False
        self.shares_of_step = 1.0  # 1 / ranks where the losses of all ranks are shares of one
        self._model: weakref.ref[Any] = weakref.ref(_unwrapped(model))
        # The source must not keep the model alive: it is deleted as if it were not monitored.
        self._source = AttentionSource(None, self._take)
        self._state = StepState()
        # Scores since the last max_scores, and since the last score_bounds.
        self._windows: dict[str, torch.Tensor | None] = {"exact": None, "bound": None}
        self._layers: dict[LayerKey, Layer] = {}
        self._rules: Rules | None = None
        self._weights: WeightSample | None = None
        self._judge: Judge | None = None
        self._facts: list[StepNumbers] = []  # of the steps since the last observed one
        self._rows: list[Parts] = []
        self._pending: list[PendingStep] = []
        parameters = _unwrapped(model).parameters()
        self._device: Any = next((x.device for x in parameters), "cpu")  # of the last attention
        self._ranks: bool | None = None  # whether all see the same layers; None if not asked yet
        self._block: ExitStack | None = None
        self._lists: LayerLists | None = None  # until the layers are known
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

    @property
    def observing(self) -> bool:
        """Whether the current step is one of which all measures are taken."""
        return self.step % self.options.every == 0 or self._state.observed

    # The training's side: hooks.

    def _attach(self, model: Any) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        owner = weakref.ref(self)
        ended = functools.partial(_call, owner, "_optimizer_stepped")
        self._removers.append(register_optimizer_step_post_hook(ended).remove)
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

    def _enter_observed(self, model: Any, call: Any) -> None:
        self._state.observed = True
        modules = self._source.modules
        with ExitStack() as stack:
            modules.root = model
            stack.callback(setattr, modules, "root", None)
            stack.callback(modules._roots.clear)
            stack.enter_context(self._source.attached())
            if not self._layers:
                self._lists = LayerLists(model)
                stack.enter_context(self._lists.attached())
            modules.forwards += 1
            modules.enter(model, call)
            self._block = stack.pop_all()

    @_guarded
    def _end(self, model: Any, arguments: Any, keywords: Any, output: Any) -> None:
        if self._block is None and not self._source.active:
            return
        self._leave_forward()
        named = isinstance(output, Mapping)
        loss: Any = output.get("loss") if named else getattr(output, "loss", None)
        if getattr(loss, "ndim", None) == 0 and not self._state.logged:
            self._state.losses.append(loss.detach())
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

    def _learn_layers(self) -> None:
        """After the first observed forward: the layers, and hooks on the modules that attend."""
        # The modules are the model's, which is not kept alive.
        attending, self._source.attending = self._source.attending, {}
        found = {LayerKey(*layer): site for site, layer in self._source.layers.items()}
        lists, self._lists = self._lists, None
        for others in lists.others([path for path, _ in found.values()]) if lists else ():
            self._note(f"{others} They are not monitored.")
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
        layers, own = tuple(self._layers.values()), self.options
        self._rules = Rules(layers, own.threshold, tuple(own.alerts))
        probed = own.probe is not None
        self.about = About(layers, own.every, own.rows, own.seed, own.threshold or 0.0, probed)
        self._output.begin(self.about, self._rules)

    # What an attention gives.

    @_guarded
    def _take(self, call: AttentionCall) -> None:
        """Take all measures of an attention of an observed step, of any other its bound."""
        key, state = LayerKey(call.place.part, call.place.layer), self._state
        if not self.options.watched.watches(key.layer):
            return
        if self._layers and key not in self._layers:
            return
        tensor = call.weights if call.query is None else call.query
        self._device = self._device if tensor is None else tensor.device
        call, live = call.detached, self._live(call.mask)
        bound_h, exact_h = bound(call, live), None
        if self._block is not None:
            exact_h = self._measure(key, call, bound_h)
        if bound_h is None or (self._layers and len(bound_h) != self._layers[key].heads):
            return
        if call.scores is not None:
            exact_h = bound_h
        state.join(key, bound_h, self._exact(key, call, bound_h) if exact_h is None else exact_h)
        state.settings.setdefault(key, set()).add(call_setting(call))
        spread = spread_sums(call, live)
        if spread is not None:
            known = state.spreads.get(key)
            state.spreads[key] = spread if known is None else known + spread

    def _measure(
        self, key: LayerKey, call: AttentionCall, bound_h: torch.Tensor | None
    ) -> torch.Tensor | None:
        """Take all measures; returns the largest scores, None where they are not those of all."""
        rows = self._rows_of(call)
        sums = head_sums(call, rows, cross=call.place.crossed)
        if call.weights is not None and bound_h is not None:  # weights do not tell of scores
            sums.maxima[:, ::2] = bound_h.to(sums.maxima)[:, None]
        self._state.sums[key] = sums.merged(self._state.sums.get(key))
        if self.options.judge is not None:
            self._judge_rows(key, call, self.options.judge)
        whole = rows is None and call.weights is None
        return None if not whole or bound_h is None else sums.maxima[:, 0].to(bound_h)

    def _judge_rows(self, key: LayerKey, call: AttentionCall, rows: int) -> None:
        """Redo rows of an attention, and note heads that are wrong."""
        if self._judge is None:
            from regard.judging.judge import Judge

            self._judge = Judge(rows, seed=self.options.seed)
        faults = self._judge.verdict.faults
        known = len(faults)
        self._judge.read(call)
        wrong = [(x.head, x.name or f"{x.z:.3g} units of rounding") for x in faults[known:]]
        if wrong:
            self._state.wrong.setdefault(key, []).extend(wrong)

    def _exact(self, key: LayerKey, call: AttentionCall, bound_h: torch.Tensor) -> torch.Tensor:
        """The largest scores of heads that need them, -inf of the others."""
        exact_h, limit = bound_h.new_full(bound_h.shape, -np.inf), self.options.threshold
        if call.weights is not None:
            return exact_h
        if self.options.exact_scores:
            join_exact(call, bound_h.new_full(bound_h.shape, np.inf), exact_h, 0.0)
        elif limit is not None and self._may_exceed(key, limit, bound_h):
            join_exact(call, bound_h, exact_h, limit)
        return exact_h

    def _may_exceed(self, key: LayerKey, limit: float, bound_h: torch.Tensor) -> bool:
        """Whether a head of a layer may have a score above the limit, by what the host knows.

        On a GPU these are the bounds of the step before last: where they are below half the limit
        no kernel is started. On a CPU ``join_exact`` looks at the bounds of this step.
        """
        if self._output.known is None or bound_h.device.type == "cpu" or rank_and_ranks()[1] > 1:
            return True
        return not self._output.known[list(self._layers).index(key)] <= limit / 2

    def _live(self, mask: torch.Tensor | None) -> torch.Tensor | None:
        """Queries (b, h or 1, q) that see a key; read once of a mask that layers share."""
        if mask is None or mask.ndim != 4:
            return None
        if self._state.mask is None or self._state.mask[0] is not mask:
            self._state.mask = mask, shown_by(mask.detach()).any(dim=-1)
        return self._state.mask[1]

    def _rows_of(self, call: AttentionCall) -> torch.Tensor | None:
        """The queries to measure, drawn once a step for each length; None for all of them."""
        import torch

        wanted, queries = self.options.rows, call.shape[2]
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

    def _optimizer_stepped(self, optimizer: Any, arguments: Any, keywords: Any) -> None:
        if self.closed or not self._owns(optimizer):
            return
        before = self._forwards_before.get(optimizer, 0)
        self._forwards_before[optimizer] = self._forwards
        if self.options.probe is None and self._forwards == self._forwards_ended:
            if before < self._forwards:  # another optimizer of the same step
                return
            self._note(
                "no forward of the model was seen in a step: it is compiled, or a copy of it is "
                "trained. Pass probe=batch, which is run as it is written."
            )
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
        self._end_row()
        found = self._send(due)
        self.step += 1
        self._state, self._forwards_ended = StepState(), self._forwards
        if found:
            self._tell(found)

    @_guarded
    def _end_row(self) -> None:
        """What this rank knows of a step, as a row that waits for those of the steps after it."""
        if self.failed or not self._layers:
            return
        facts = self._state.facts_row(self._layers, self._device, self.shares_of_step)
        bound_and_exact = self._take_scores()[:2].reshape(-1)
        self._rows.append(Parts(facts, bound_and_exact))
        self._facts.append(self._state.host_numbers(self.step, self._layers))

    @_guarded
    def _send(self, due: bool) -> list[Event]:
        """Start the copy of a step to the host, and write down those that have arrived."""
        several = rank_and_ranks()[1] > 1
        if several and not (due and self._ranks_agree()):
            return []
        if self._rows:
            sums = self._state.sums_of(self._layers, self._device) if due else None
            parts = Parts.of(self._rows, sums)
            parts = over_ranks(parts) if several else parts
            self._pending.append(PendingStep.start(self._facts, due, parts))
            self._facts, self._rows = [], []
        # On a GPU the step before has passed its forward by now: the host does not wait for long,
        # and not for this one.
        return self._drain(keep=0 if str(self._device) == "cpu" else 1)

    def _ranks_agree(self) -> bool:
        """Whether the monitors of all ranks run and see the same layers; all stop where not."""
        if self._ranks is False:
            return False
        heads = 0 if self.failed else sum(layer.heads for layer in self._layers.values())
        self._ranks = same_on_all_ranks(heads, self._device) and heads > 0
        if not self._ranks:
            self._stop(
                "the monitor of a rank failed, or sees other layers; those of all ranks stop."
            )
            self._detach()
        return self._ranks

    def _take_scores(self) -> torch.Tensor:
        """Scores of the current step; what was found since the last time joins the windows."""
        state = self._state
        scores = state.scores_of(self._layers, self._device)
        self._windows = {name: larger(x, scores) for name, x in self._windows.items()}
        state.earlier, state.scores = larger(state.earlier, scores), {}
        return state.earlier

    def _drain(self, keep: int = 0) -> list[Event]:
        found = []
        while len(self._pending) > keep:
            found += self._output.write(self._pending.pop(0))
        return found

    @_guarded
    def _tell(self, found: list[Event]) -> None:
        """Tell events; a user's function may raise an AlertError to end the training."""
        self._output.tell(found)

    @_guarded
    def _run_probe(self) -> None:
        """Run the fixed batch as it is written, without gradients; the training is not touched."""
        model = self._model()
        if model is not None:
            with uncompiled():
                self._enter_observed(model, sys._getframe())
                try:
                    run_untouched(model, self.options.probe)
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
        if self._state.scores or (several and self._layers):
            self._take_scores()
        window, self._windows[name] = self._windows[name], None
        if window is None or (several and not self._ranks):
            return None
        if several:
            largest_on_all_ranks(window)
        return window.float()

    def _by_path(self, scores_h: torch.Tensor) -> dict[str, torch.Tensor]:
        layers = self._layers.values()
        own = scores_h.split([x.heads for x in layers])
        return {x.path: own_h for x, own_h in zip(layers, own, strict=True)}

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

    def __exit__(self, *error: object) -> None:
        self.close()

    def _stop(self, reason: str = "") -> None:
        """Stop monitoring; with several ranks steps go on being counted."""
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

    found = None if torch.compiler.is_compiling() else owner()
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
    """A module's path as the user wrote it.

    >>> _plain_path("layers.0._fsdp_wrapped_module._checkpoint_wrapped_module.attn")
    'layers.0.attn'
    """
    for wrapper in WRAPPERS:
        path = path.replace(wrapper, "")
    return path
