"""Rules that find faults in a training, each with one event for a fault.

What a head looks at says little: a sharp head is a healthy one as often as not. What tells are the
size of its scores, sudden changes of them beside the noise of the last steps, and the optimizer.
benchmarks/bench_alerts.py measures what the numbers below find, and what others would.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regard.monitoring.events import RULES, Event, where
from regard.monitoring.folder import Layer
from regard.monitoring.running import RunningMedian
from regard.typing import Array

if TYPE_CHECKING:
    from regard.watcher.seam.call import AttentionCall

RECOVERED = 0.8  # share of the threshold below which a score counts as recovered
WINDOW = 21  # steps that a sudden change is compared with
SPREAD_FLOOR, MEAN_FLOOR = 0.02, 0.05  # noise at least, so that no tiny change counts
MOST_HEADS = 4.0  # times the noise, of the median head
ONE_HEAD, ONE_HEAD_LEVEL, ONE_HEAD_JUMP = 9.0, 0.5, 0.4  # times the noise; change of log spread
ONE_HEAD_FROM = 60  # steps after which one head counts alone
AWAY, AWAY_STEPS = math.log(4.0), 100  # growth beyond the median head's; in 100 to 200 steps
COLLAPSED, COLLAPSED_FROM = 0.05, 0.3  # the median head's entropy as a share of its maximum
SILENT = 1e-3  # the norm of a head's output as a share of its layer's median
RATE, RATE_STEPS = 2.0, 20  # times the largest rate until 20 steps ago
UPDATE, UPDATE_NOISE, UPDATE_WINDOW = math.log(2.0), 6.0, 51
UPDATE_FLOOR, UPDATE_FROM = 0.05, 60


class Setting(NamedTuple):
    """How an attention was called; what a correct training does not change by itself."""

    hides: str  # "causal", "mask" or "nothing"
    scale: float | None
    softcap: float | None
    dtype: str
    mask: str | None  # "bool", "added", None without one

    def differs(self, known: Sequence[Setting]) -> dict[str, tuple[object, object]]:
        """What no known setting has, as (before, now) by name.

        Programs leave a mask out where a batch has no padding, so that "mask" is beside either of
        the others; "causal" and "nothing" do not take turns.
        """
        found: dict[str, tuple[object, object]] = {}
        for name in ("scale", "softcap", "dtype"):
            before = {getattr(x, name) for x in known}
            if len(before) <= 2 and getattr(self, name) not in before:
                found[name] = getattr(known[0], name), getattr(self, name)
        kinds = {x.mask for x in known} - {None}
        if self.mask and kinds and self.mask not in kinds:
            found["kind of mask"] = min(kinds, key=str), self.mask
        hidden = {x.hides for x in known}
        if {"causal": "nothing", "nothing": "causal"}.get(self.hides) in hidden - {self.hides}:
            found["causal"] = "causal" in hidden, self.hides == "causal"
        return found

    @staticmethod
    def read(listed: list[object]) -> dict[int, list[Setting]]:
        """Settings by layer as a folder has them; those that are damaged are left out."""
        found: dict[int, list[Setting]] = {}
        for place, layer in enumerate(listed):
            own = [x for x in layer if isinstance(x, list)] if isinstance(layer, list) else []
            whole = [x for x in own if len(x) == len(Setting._fields)]
            plain = [x for x in whole if all(y is None or isinstance(y, str | float) for y in x)]
            known = [Setting(*x) for x in plain]
            if known:
                found[place] = known
        return found


def call_setting(call: AttentionCall) -> Setting:
    """The setting of one attention; its dtype alone where its query and key are not known."""
    tensor = call.weights if call.query is None else call.query
    dtype = str(call.dtype or getattr(tensor, "dtype", "")).removeprefix("torch.")
    if call.query is None:
        return Setting("unknown", None, None, dtype, None)
    scale = call.query.shape[-1] ** -0.5 if call.scale is None else call.scale
    kind = None
    if call.mask is not None:
        kind = "added" if call.mask.is_floating_point() else "bool"
    hides = "causal" if call.causal else "mask" if kind else "nothing"
    return Setting(hides, float(f"{scale:.6g}"), call.softcap, dtype, kind)


@dataclass(frozen=True)
class StepNumbers:
    """What is known of every step; numbers of heads (h) are those of all layers, in order."""

    step: int
    bound_h: Array
    exact_h: Array  # the largest score of heads whose bound is above the threshold
    mean_h: Array | None = None  # of the log-sum-exp over queries, nan where it is not known
    std_h: Array | None = None
    loss: float | None = None
    update: float | None = None  # the norm of what the optimizer added to a sample of weights
    rates: tuple[float, ...] = ()  # learning rates of its groups
    optimizer_step: float | None = None  # as its state counts
    settings: Mapping[int, frozenset[Setting]] = field(default_factory=dict)  # by place of layer
    wrong: Mapping[int, list[tuple[int, str]]] = field(default_factory=dict)  # heads, and what


@dataclass
class Rules:
    """Rules applied to one step after another; ``take_changed`` gives events that changed."""

    layers: tuple[Layer, ...]
    threshold: float | None = 100.0
    names: tuple[str, ...] = RULES
    settings: dict[int, list[Setting]] = field(default_factory=dict)  # known, by place of layer
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        starts = np.cumsum([0, *(layer.heads for layer in self.layers)])
        self._of_layer = [slice(a, b) for a, b in pairwise(starts.tolist())]
        self._open: dict[str, Event] = {}
        self._changed: dict[int, Event] = {}
        self._begin_anew()
        self._steps = 0
        self._losses, self._updates = RunningMedian(WINDOW), RunningMedian(UPDATE_WINDOW)
        self._bounds: deque[tuple[int, Array]] = deque(maxlen=WINDOW)
        self._rates: deque[tuple[float, ...]] = deque(maxlen=RATE_STEPS)
        self._top_rates: tuple[float, ...] = ()
        self._warming = True
        self._optimizer_step: float | None = None
        self._observed: deque[tuple[int, Array, Array]] = deque()
        self._best_share, self._best_step = 0.0, 0
        self._healthy: dict[str, int] = {}
        self._learning = True  # which scales there are
        if self.settings:
            self.know(self.settings)

    def know(self, settings: dict[int, list[Setting]]) -> None:
        """Take settings of a training that goes on; a step that differs is told from the first."""
        self.settings, self._learning = settings, False

    def _begin_anew(self) -> None:
        """Learn the noise of the spread and the mean of scores from here on."""
        self._level, self._jump = RunningMedian(WINDOW), RunningMedian(WINDOW)
        self._before: Array | None = None

    def take_changed(self) -> list[Event]:
        """Events that began, got more heads or ended since the last call."""
        changed, self._changed = list(self._changed.values()), {}
        return changed

    def step(self, now: StepNumbers) -> None:
        """Apply the rules of every step."""
        self._not_finite(now)
        self._wrong(now)
        self._settings(now)
        if "not finite" not in self._open:
            self._above(now.step, now.exact_h, np.where(
                now.exact_h > -np.inf, np.minimum(now.exact_h, now.bound_h), now.bound_h
            ))  # fmt: skip
            self._shifted(now)
            self._bounds.append((now.step, now.bound_h))
            if now.loss is not None and math.isfinite(now.loss):
                self._losses.push(np.array([now.loss]))
        self._optimizer(now)
        self._steps += 1

    def observed(self, step: int, measures: dict[str, Array]) -> None:
        """Apply the rules of an observed step."""
        if "not finite" in self._open:
            return
        with np.errstate(all="ignore"):
            self._above(step, measures["score"], measures["score"])
            self._away(step, measures)
            self._collapsed(step, measures["entropy_share"])
            self._silent(step, measures["output_norm"])

    # Events.

    def _found(
        self, key: str, step: int, heads: Sequence[int], line: str, value: float = math.nan
    ) -> None:
        """A fault of a rule: its event, or heads that join the one that is open."""
        rule, event = key.split("/")[0], self._open.get(key)
        if rule not in self.names:
            return
        if event is None:
            event = Event(rule, step, f"step {step}{line}", sorted(heads), value)
            event.healthy = self._healthy.get(key)
            event.number = len(self.events)
            self.events.append(event)
            self._open[key] = event
        elif set(heads) <= set(event.heads):
            return
        else:
            event.heads = [*event.heads, *sorted({*heads} - {*event.heads})]
        self._changed[event.number] = event

    def _over(self, key: str, step: int) -> None:
        """A rule finds nothing: its open event has ended, at the step before."""
        event = self._open.pop(key, None)
        self._healthy[key] = step
        if event is not None:
            event.last = max(event.first, step - 1)
            self._changed[event.number] = event

    def _at(self, heads: Sequence[int]) -> str:
        return where(self.layers, heads)

    # Every step.

    def _not_finite(self, now: StepNumbers) -> None:
        """nan or infinity in the log-sum-exp, or in the loss alone."""
        bad = np.flatnonzero(np.isnan(now.bound_h) | (now.bound_h == np.inf)).tolist()
        lost = now.loss is not None and not math.isfinite(now.loss)
        if bad:
            kind = "nan" if np.isnan(now.bound_h[bad[0]]) else "infinity"
            line = f": {kind} in {self._at(bad[:1])} first"
            line += f", and in {len(bad) - 1} more heads" if len(bad) > 1 else ""
            line += "; the loss follows" if lost else ""
            line += f". Look at the data of step {now.step} and at the update before it."
            self._found("not finite", now.step, bad, line, float(now.bound_h[bad[0]]))
        elif lost:
            line = (
                ": the loss is not finite; attention is. Look at the labels and at what follows "
                "attention."
            )
            self._found("not finite", now.step, (), line, float(now.loss or 0))
        else:
            self._over("not finite", now.step)

    def _wrong(self, now: StepNumbers) -> None:
        """Heads whose output the judge has redone and found wrong."""
        places = sorted(now.wrong)
        heads = [
            self._of_layer[place].start + head for place in places for head, _ in now.wrong[place]
        ]
        if heads:
            what = now.wrong[places[0]][0][1]
            line = (
                f", {self._at(sorted(heads))}: the kernel's output is wrong: {what}. Look at what "
                "it is given; regard.judge tells more of it."
            )
            self._found("wrong", now.step, heads, line)

    def _above(self, step: int, score_h: Array, at_most_h: Array) -> None:
        """An exact score above the threshold; over when none can be above 0.8 of it."""
        limit = self.threshold
        if limit is None:
            return
        high = np.flatnonzero(score_h > limit).tolist()
        if not high:
            if not (at_most_h >= RECOVERED * limit).any():
                self._over("threshold", step)
            return
        top = max(high, key=lambda head: float(score_h[head]))
        line = f", {self._at(high)}: largest score passed {limit:g} ({score_h[top]:.4g})"
        if self._bounds:
            then, before_h = self._bounds[0]
            line += f", was at most {before_h[top]:.3g} at step {then}"
        line += (
            f". {int((at_most_h > limit / 2).sum())} of {len(score_h)} heads may be above "
            f"{limit / 2:g}. If the loss is fine this is a limit, not an illness: "
            f"threshold={2 * limit:g}, or QK-clip."
        )
        self._found("threshold", step, high, line, float(score_h[top]))

    def _shifted(self, now: StepNumbers) -> None:
        """The spread or the mean of the scores changed at once: of most heads, or of one."""
        if now.mean_h is None or now.std_h is None:
            return
        both = np.stack([np.log(now.std_h + 1e-3), now.mean_h]).astype(np.float32)
        known = np.isfinite(both)
        if not known.any():
            return
        if self._before is not None:  # heads that were not called keep what they had
            both = np.where(known, both, self._before)
        elif not known.all():
            return
        floor = np.array([[SPREAD_FLOOR], [MEAN_FLOOR]], np.float32)
        if self._jump.full and self._before is not None:
            off, jump = both - self._level.median, both - self._before
            from_level = np.abs(off) / (self._level.noise + floor)
            from_jump = np.abs(jump - self._jump.median) / (self._jump.noise + floor)
            sudden = np.minimum(from_level, from_jump)
            alone = (from_level[0] > ONE_HEAD) & (np.abs(off[0]) > ONE_HEAD_LEVEL)
            alone &= (np.abs(jump[0]) > ONE_HEAD_JUMP) & (self._steps >= ONE_HEAD_FROM)
            most = np.median(sudden, axis=1)
            if most.max() > MOST_HEADS:
                self._most_shifted(now, off, sudden, int(most.argmax()))
            elif alone.any():
                self._one_shifted(now, alone, off[0], from_level[0])
            if most.max() > MOST_HEADS or alone.any():
                self._begin_anew()
                self._before = both
                return
            self._over("shift", now.step)
        if self._before is not None:
            self._jump.push(both - self._before)
        self._level.push(both)
        self._before = both

    def _most_shifted(self, now: StepNumbers, off: Array, sudden: Array, which: int) -> None:
        heads = np.flatnonzero(sudden[which] > MOST_HEADS).tolist()
        times = float(np.median(sudden[which]))
        change = float(np.median(off[which]))
        what = f"spread {math.exp(change):.2f} x" if which == 0 else f"mean {change:+.2g}"
        line = (
            f": the scores of most heads changed at once: {what}, {times:.0f} times the noise of "
            f"{WINDOW} steps ({self._at(heads)}).{self._loss_too(now.loss)} Compare mask, scale, "
            f"positions and data with step {now.step - 1}."
        )
        self._found("shift", now.step, heads, line, times)

    def _one_shifted(self, now: StepNumbers, alone: Array, off_h: Array, z_h: Array) -> None:
        heads = np.flatnonzero(alone).tolist()
        top = max(heads, key=lambda head: float(z_h[head]))
        line = (
            f", {self._at(heads)}: the spread of its scores changed at once: "
            f"{math.exp(off_h[top]):.3g} x, {z_h[top]:.0f} times the noise of {WINDOW} steps."
            f"{self._loss_too(now.loss)} Compare its weights and inputs with step {now.step - 1}."
        )
        self._found("shift", now.step, heads, line, float(z_h[top]))

    def _loss_too(self, loss: float | None) -> str:
        if loss is None or not self._losses.full:
            return ""
        usual, noise = float(self._losses.median[0]), float(self._losses.noise[0])
        if loss - usual > 4 * noise + 0.05:
            return f" The loss jumped too, from {usual:.3g} to {loss:.3g}."
        return " The loss does not show it."

    def _settings(self, now: StepNumbers) -> None:
        """How the kernels are called: causal, scale, softcap, dtype, kind of mask."""
        changes: dict[tuple[str, object, object], list[int]] = {}
        for place, found in now.settings.items():
            known = self.settings.setdefault(place, sorted(found, key=str))
            for setting in found - set(known):
                if self._learning and setting.scale not in {x.scale for x in known}:
                    known.append(setting)  # a scale that varies from batch to batch
                    continue
                differences = setting.differs(known)
                for name, (before, after) in differences.items():
                    changes.setdefault((name, before, after), []).append(place)
                if not differences:
                    known.append(setting)
        self._learning = self._learning and self._steps < WINDOW
        if not changes:
            if now.settings:
                self._over("settings", now.step)
            return
        parts = [
            f"{name} was {before} in {len(places)} of {len(self.layers)} layers, is {after}"
            for (name, before, after), places in changes.items()
        ]
        heads = {
            head for places in changes.values() for place in places
            for head in range(self._of_layer[place].start, self._of_layer[place].stop)
        }  # fmt: skip
        line = (
            f": the settings of attention changed: {'; '.join(parts)} ({self._at(sorted(heads))})."
        )
        self._found("settings", now.step, sorted(heads), line)

    def _optimizer(self, now: StepNumbers) -> None:
        """The learning rate, the optimizer's own count of steps, the size of its update."""
        self._rate(now)
        count, before = now.optimizer_step, self._optimizer_step
        if count is not None:
            if before is not None and count < before:
                line = (
                    f": the optimizer's count of steps went back from {before:g} to {count:g}: "
                    "it has lost its averages. Was its state loaded?"
                )
                self._found("optimizer/state", now.step, (), line, count)
            else:
                self._over("optimizer/state", now.step)
            self._optimizer_step = count
        if now.update is not None and np.isfinite(now.update) and now.update > 0:
            self._update(now, math.log(now.update))

    def _rate(self, now: StepNumbers) -> None:
        """A learning rate far above all before; one that has only grown so far is warmed up."""
        rates, past = now.rates, self._rates
        if not rates:
            return
        if past:
            grown = _largest_ratio(rates, past[-1])
            still = self._warming and (grown > 1 or max(past[-1]) == 0)
            if self._warming or len(past) == RATE_STEPS:  # all before; or those 20 steps ago
                old = past[-1] if self._warming else past[0]
                top = self._top_rates or old
                self._top_rates = tuple(map(max, zip(old, top, strict=False)))
            self._warming = still
        times = _largest_ratio(rates, past[-1] if self._warming and past else self._top_rates)
        if times > RATE:
            line = (
                f": the learning rate is {max(rates):.3g}, {times:.1f} x "
                f"{'that of the' if self._warming else f'the largest until {RATE_STEPS}'} "
                f"{'step before' if self._warming else 'steps ago'}. If the schedule does not say "
                "so, look at it."
            )
            self._found("optimizer/rate", now.step, (), line, times)
        else:
            self._over("optimizer/rate", now.step)
        past.append(rates)

    def _update(self, now: StepNumbers, size: float) -> None:
        usual = self._updates
        if usual.full and self._steps >= UPDATE_FROM:
            grown, noise = size - float(usual.median[0]), float(usual.noise[0])
            if grown > UPDATE and grown > UPDATE_NOISE * (noise + UPDATE_FLOOR):
                rate = len(set([*self._rates][-2:])) == 1
                line = (
                    f": the optimizer's update is {math.exp(grown):.1f} x that of the "
                    f"{UPDATE_WINDOW} steps before"
                    f"{'; learning rate unchanged' if rate else ''}. Look at the data and the "
                    "gradients of this step, and whether the optimizer's state was loaded."
                )
                self._found("optimizer/update", now.step, (), line, math.exp(grown))
            else:
                self._over("optimizer/update", now.step)
        usual.push(np.array([size]))

    # Observed steps.

    def _away(self, step: int, measures: dict[str, Array]) -> None:
        """Queries or keys of a head grow away from the median head's."""
        norms, score_h = np.log([measures["query_norm"], measures["key_norm"]]), measures["score"]
        past = self._observed
        past.append((step, norms, score_h))
        while len(past) > 1 and step - past[1][0] >= AWAY_STEPS:
            past.popleft()
        then, norms_then, score_then_h = past[0]
        if not AWAY_STEPS <= step - then <= 2 * AWAY_STEPS or self._steps < ONE_HEAD_FROM:
            return
        grown = norms - norms_then
        if not np.isfinite(grown).any():
            return  # attention by hand hides its queries and keys
        usual = np.nanmedian(grown, axis=1, keepdims=True)
        beyond = grown - usual
        heads = np.flatnonzero((beyond > AWAY).any(axis=0)).tolist()
        if not heads:
            self._over("away", step)
            return
        which, top = np.unravel_index(int(np.nanargmax(beyond)), beyond.shape)
        line = (
            f", {self._at(heads)}: its {('queries', 'keys')[which]} grew "
            f"{math.exp(grown[which, top]):.2g} x since step {then}, the median head's "
            f"{math.exp(usual[which, 0]):.2g} x; largest score {score_h[top]:.3g}"
            f"{self._forecast(float(score_h[top]), float(score_then_h[top]), step - then)}. Look "
            f"at the weights of {('q_proj', 'k_proj')[which]}; QK-clip would hold it."
        )
        self._found("away", step, heads, line, math.exp(float(beyond[which, top])))

    def _forecast(self, score: float, before: float, steps: int) -> str:
        """When the threshold is reached if the log of the score goes on growing as it did."""
        limit = self.threshold
        if limit is None or not 0 < before < score < limit:
            return ""
        left = math.log(limit / score) / math.log(score / before) * steps
        return f", at this rate {limit:g} in about {left:.0f} steps" if left < 5 * steps else ""

    def _collapsed(self, step: int, share_h: Array) -> None:
        """The median head looks at one key."""
        if np.isnan(share_h).all():
            return
        median = float(np.nanmedian(share_h))
        if median < COLLAPSED and self._best_share > COLLAPSED_FROM:
            heads = np.flatnonzero(share_h < COLLAPSED).tolist()
            line = (
                f": attention has collapsed: the median head's entropy is {median:.1%} of its "
                f"maximum, was {self._best_share:.0%} at step {self._best_step} ({len(heads)} of "
                f"{len(share_h)} heads below {COLLAPSED:.0%}). The learning rate is too high or "
                f"its warm-up too short; go back before step {self._healthy.get('collapse', 0)}."
            )
            self._found("collapse", step, heads, line, median)
        elif median >= COLLAPSED:
            self._over("collapse", step)
        if median > self._best_share:
            self._best_share, self._best_step = median, step

    def _silent(self, step: int, norm_h: Array) -> None:
        """Heads that write nothing beside the others of their layer."""
        for place, own in enumerate(self._of_layer):
            norms, key = norm_h[own], f"silent/{place}"
            usual = np.nanmedian(norms) if np.isfinite(norms).any() else np.nan
            heads = (own.start + np.flatnonzero(norms <= SILENT * usual)).tolist()
            if not heads:
                self._over(key, step)
                continue
            since = self._healthy.get(key)
            when = "" if since is None else f" since step {since}"
            they = "they write" if len(heads) > 1 else "it writes"
            line = f", {self._at(heads)}: {they} nothing{when}. Were weights loaded whole?"
            self._found(key, step, heads, line, float(norm_h[heads[0]]))


def _largest_ratio(numbers: Sequence[float], others: Sequence[float]) -> float:
    """The largest of each number divided by the other; 0 without any."""
    return max((x / y for x, y in zip(numbers, others, strict=False) if y > 0), default=0.0)
