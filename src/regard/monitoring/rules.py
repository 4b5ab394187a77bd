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

from regard.arguments import fits
from regard.monitoring.certificate import Spread
from regard.monitoring.events import RULES, Event, where
from regard.monitoring.folder import Layer
from regard.monitoring.running import RunningMedian
from regard.typing import Array

if TYPE_CHECKING:
    from regard.watcher.seam.call import AttentionCall

RECOVERED = 0.8  # share of the threshold below which a score counts as recovered
WINDOW = 21  # steps that a sudden change is compared with
FLOOR = np.array([[0.02], [0.05], [0.02]], np.float32)  # noise at least: no tiny change counts
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
        kinds = tuple[str, float | None, float | None, str, str | None]
        layers = {place: x for place, x in enumerate(listed) if isinstance(x, list)}
        found = {
            place: [Setting(*x) for x in own if fits(x, kinds)] for place, own in layers.items()
        }
        return {place: own for place, own in found.items() if own}


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
    bound_h: Array = field(default_factory=lambda: np.zeros(0))
    # The largest score of heads whose bound is above the threshold.
    exact_h: Array = field(default_factory=lambda: np.zeros(0))
    spread: Spread | None = None  # of the log-sum-exp, nan where it is not known
    loss: float | None = None
    update: float | None = None  # the norm of what the optimizer added to a sample of weights
    rates: tuple[float, ...] = ()  # learning rates of its groups
    optimizer_step: float | None = None  # as its state counts
    settings: Mapping[int, frozenset[Setting]] = field(default_factory=dict)  # by place of layer
    wrong: Mapping[int, list[tuple[int, str]]] = field(default_factory=dict)  # heads, and what


class Found(NamedTuple):
    """What a rule found: heads, by their places among those of all layers, and what to say."""

    heads: Sequence[int]
    line: str
    value: float = math.nan


UNKNOWN = Found((), "")  # neither that there is a fault nor that there is none


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
        self._healthy: dict[str, int] = {}
        self._steps = 0
        self._learning = not self.settings  # which scales there are
        self._begin_anew()
        self._losses, self._updates = RunningMedian(WINDOW), RunningMedian(UPDATE_WINDOW)
        self._bounds: deque[tuple[int, Array]] = deque(maxlen=WINDOW)
        self._rates: deque[tuple[float, ...]] = deque(maxlen=RATE_STEPS)
        self._top_rates: tuple[float, ...] = ()
        self._warming = True
        self._optimizer_step: float | None = None
        self._observed: deque[tuple[int, Array, Array]] = deque()
        self._best_share, self._best_step = 0.0, 0

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
        self._say("not finite", now.step, self._not_finite(now))
        if now.wrong:
            self._say("wrong", now.step, self._wrong(now))
        if now.settings:
            self._say("settings", now.step, self._changed_settings(now))
        if "not finite" not in self._open:
            exact = now.exact_h > -np.inf
            at_most_h = np.where(exact, np.minimum(now.exact_h, now.bound_h), now.bound_h)
            self._say("threshold", now.step, self._above(now.exact_h, at_most_h))
            self._say("shift", now.step, self._shifted(now))
            self._bounds.append((now.step, now.bound_h))
            if now.loss is not None and math.isfinite(now.loss):
                self._losses.push(np.array([now.loss]))
        self._say("optimizer/rate", now.step, self._rate(now.rates))
        self._say("optimizer/state", now.step, self._count(now.optimizer_step))
        self._say("optimizer/update", now.step, self._update(now.update))
        self._steps += 1

    def observed(self, step: int, measures: dict[str, Array]) -> None:
        """Apply the rules of an observed step."""
        if "not finite" in self._open:
            return
        with np.errstate(all="ignore"):
            score_h, norm_h = measures["score"], measures["output_norm"]
            self._say("threshold", step, self._above(score_h, score_h))
            self._say("away", step, self._away(step, measures))
            self._say("collapse", step, self._collapsed(step, measures["entropy_share"]))
            for place, own in enumerate(self._of_layer):
                key = f"silent/{place}"
                self._say(key, step, self._silent(own, norm_h, self._healthy.get(key)))

    def _say(self, key: str, step: int, found: Found | None) -> None:
        """What a rule found: its event begins, has more heads, or, of nothing, is over."""
        rule, event = key.split("/")[0], self._open.get(key)
        if found is UNKNOWN or rule not in self.names:
            return
        if found is None:
            self._healthy[key] = step
            if event is not None:
                event.last = max(event.first, step - 1)
                self._changed[self._open.pop(key).number] = event
        elif event is None:
            heads, line, value = found
            event = Event(rule, step, f"step {step}{line}", sorted(heads), value)
            event.healthy, event.number = self._healthy.get(key), len(self.events)
            self.events.append(event)
            self._open[key] = self._changed[event.number] = event
        elif not set(found.heads) <= set(event.heads):
            event.heads = [*event.heads, *sorted({*found.heads} - {*event.heads})]
            self._changed[event.number] = event

    def _at(self, heads: Sequence[int]) -> str:
        return where(self.layers, heads)

    # Every step.

    def _not_finite(self, now: StepNumbers) -> Found | None:
        """nan or infinity in the log-sum-exp, or in the loss alone."""
        bad = np.flatnonzero(np.isnan(now.bound_h) | (now.bound_h == np.inf)).tolist()
        lost = now.loss is not None and not math.isfinite(now.loss)
        if bad:
            kind = "nan" if np.isnan(now.bound_h[bad[0]]) else "infinity"
            line = f": {kind} in {self._at(bad[:1])} first"
            line += f", and in {len(bad) - 1} more heads" if len(bad) > 1 else ""
            line += "; the loss follows" if lost else ""
            line += f". Look at the data of step {now.step} and at the update before it."
            return Found(bad, line, float(now.bound_h[bad[0]]))
        line = ": the loss is not finite; attention is. Look at the labels and at what follows it."
        return Found((), line, float(now.loss or 0)) if lost else None

    def _wrong(self, now: StepNumbers) -> Found:
        """Heads whose output the judge has redone and found wrong."""
        places = sorted(now.wrong)
        heads = sorted(self._of_layer[x].start + head for x in places for head, _ in now.wrong[x])
        what = now.wrong[places[0]][0][1]
        return Found(heads, (
            f", {self._at(heads)}: the kernel's output is wrong: {what}. Look at what it is given; "
            "regard.judge tells more of it."
        ))  # fmt: skip

    def _above(self, score_h: Array, at_most_h: Array) -> Found | None:
        """An exact score above the threshold; over when none can be above 0.8 of it."""
        limit = self.threshold
        high = [] if limit is None else np.flatnonzero(score_h > limit).tolist()
        if limit is None or not high:
            return UNKNOWN if limit and (at_most_h >= RECOVERED * limit).any() else None
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
        return Found(high, line, float(score_h[top]))

    def _shifted(self, now: StepNumbers) -> Found | None:
        """The spread or the mean of the scores changed at once: of most heads, or of one."""
        if now.spread is None:
            return UNKNOWN
        mean_h, std_h, within_h = now.spread
        numbers = np.stack([np.log(std_h + 1e-3), mean_h, np.log(within_h + 1e-3)])
        numbers, before = numbers.astype(np.float32), self._before
        if before is not None:  # heads that were not called keep what they had
            numbers = np.where(np.isfinite(numbers), numbers, before)
        if not np.isfinite(numbers[:2]).all():
            return UNKNOWN
        numbers[2] = np.nan_to_num(numbers[2])  # of one sentence nothing is known
        found = None
        if self._jump.full and before is not None:
            found = self._sudden(now, numbers - self._level.median, numbers - before)
        if found is not None:
            self._begin_anew()
        elif before is not None:
            self._jump.push(numbers - before)
            self._level.push(numbers)
        else:
            self._level.push(numbers)
        self._before = numbers
        return found

    def _sudden(self, now: StepNumbers, off: Array, jump: Array) -> Found | None:
        """What is far from the level of the last steps, and from their changes."""
        from_level = np.abs(off) / (self._level.noise + FLOOR)
        from_jump = np.abs(jump - self._jump.median) / (self._jump.noise + FLOOR)
        sudden = np.minimum(from_level, from_jump)
        times, which = np.median(sudden, axis=1), int(np.median(sudden, axis=1).argmax())
        noise = f"times the noise of {WINDOW} steps"
        after = f"{self._loss_too(now.loss)} Compare {{}} with step {now.step - 1}."
        if times[which] > MOST_HEADS:
            heads = np.flatnonzero(sudden[which] > MOST_HEADS).tolist()
            change = float(np.median(off[which]))
            what = (
                f"spread {math.exp(change):.2f} x", f"mean {change:+.2g}",
                f"spread from sentence to sentence {math.exp(change):.2g} x",
            )[which]  # fmt: skip
            line = (
                f": the scores of most heads changed at once: {what}, {times[which]:.0f} {noise} "
                f"({self._at(heads)})."
                f"{after.format('mask, scale, positions and data')}"
            )
            return Found(heads, line, float(times[which]))
        alone = (from_level[0] > ONE_HEAD) & (np.abs(off[0]) > ONE_HEAD_LEVEL)
        alone &= (np.abs(jump[0]) > ONE_HEAD_JUMP) & (self._steps >= ONE_HEAD_FROM)
        if not alone.any():
            return None
        heads = np.flatnonzero(alone).tolist()
        top = max(heads, key=lambda head: float(from_level[0, head]))
        line = (
            f", {self._at(heads)}: the spread of its scores changed at once: "
            f"{math.exp(off[0, top]):.3g} x, {from_level[0, top]:.0f} {noise}."
            f"{after.format('its weights and inputs')}"
        )
        return Found(heads, line, float(from_level[0, top]))

    def _loss_too(self, loss: float | None) -> str:
        if loss is None or not self._losses.full:
            return ""
        usual, noise = float(self._losses.median[0]), float(self._losses.noise[0])
        if loss - usual > 4 * noise + 0.05:
            return f" The loss jumped too, from {usual:.3g} to {loss:.3g}."
        return " The loss does not show it."

    def _changed_settings(self, now: StepNumbers) -> Found | None:
        """How the kernels are called: causal, scale, softcap, dtype, kind of mask."""
        changes: dict[tuple[str, object, object], list[int]] = {}
        for place, found in now.settings.items():
            known = self.settings.setdefault(place, sorted(found, key=str))
            for setting in found - set(known):
                # While it is learnt, a scale may vary from batch to batch.
                varies = self._learning and setting.scale not in {x.scale for x in known}
                differences = {} if varies else setting.differs(known)
                for name, (before, after) in differences.items():
                    changes.setdefault((name, before, after), []).append(place)
                if not differences:
                    known.append(setting)
        self._learning = self._learning and self._steps < WINDOW
        if not changes:
            return None
        places = sorted({x for own in changes.values() for x in own})
        heads = [head for x in places for head in range(*self._of_layer[x].indices(10**9))]
        listed = "; ".join(
            f"{name} was {before} in {len(own)} of {len(self.layers)} layers, is {after}"
            for (name, before, after), own in changes.items()
        )
        return Found(heads, f": the settings of attention changed: {listed} ({self._at(heads)}).")

    def _rate(self, rates: tuple[float, ...]) -> Found | None:
        """A learning rate far above all before; one that has only grown so far is warmed up."""
        past = self._rates
        if not rates:
            return UNKNOWN
        if past:
            grown = _largest_ratio(rates, past[-1])
            still = self._warming and (grown > 1 or max(past[-1]) == 0)
            if self._warming or len(past) == RATE_STEPS:  # all before; or those 20 steps ago
                old = past[-1] if self._warming else past[0]
                top = self._top_rates or old
                self._top_rates = tuple(map(max, zip(old, top, strict=False)))
            self._warming = still
        times = _largest_ratio(rates, past[-1] if self._warming and past else self._top_rates)
        past.append(rates)
        before = (
            "that of the step before" if self._warming
            else f"the largest until {RATE_STEPS} steps ago"
        )  # fmt: skip
        return None if times <= RATE else Found((), (
            f": the learning rate is {max(rates):.3g}, {times:.1f} x {before}. If the schedule "
            "does not say so, look at it."
        ), times)  # fmt: skip

    def _count(self, steps: float | None) -> Found | None:
        """The optimizer's own count of steps goes back."""
        if steps is None:
            return UNKNOWN
        before, self._optimizer_step = self._optimizer_step, steps
        return None if before is None or steps >= before else Found((), (
            f": the optimizer's count of steps went back from {before:g} to {steps:g}: it has lost "
            "its averages. Was its state loaded?"
        ), steps)  # fmt: skip

    def _update(self, update: float | None) -> Found | None:
        """The size of the optimizer's update, beside that of the last steps."""
        if update is None or not 0 < update < np.inf:
            return UNKNOWN
        usual, found = self._updates, None
        if usual.full and self._steps >= UPDATE_FROM:
            grown = math.log(update) - float(usual.median[0])
            if grown > max(UPDATE, UPDATE_NOISE * (float(usual.noise[0]) + UPDATE_FLOOR)):
                same = len(set([*self._rates][-2:])) == 1
                found = Found((), (
                    f": the optimizer's update is {math.exp(grown):.1f} x that of the "
                    f"{UPDATE_WINDOW} steps before{'; learning rate unchanged' if same else ''}. "
                    "Look at the data and the gradients of this step, and whether the optimizer's "
                    "state was loaded."
                ), math.exp(grown))  # fmt: skip
        usual.push(np.array([math.log(update)]))
        return found

    # Observed steps.

    def _away(self, step: int, measures: dict[str, Array]) -> Found | None:
        """Queries or keys of a head grow away from the median head's."""
        norms, score_h = np.log([measures["query_norm"], measures["key_norm"]]), measures["score"]
        past = self._observed
        past.append((step, norms, score_h))
        while len(past) > 1 and step - past[1][0] >= AWAY_STEPS:
            past.popleft()
        then, norms_then, score_then_h = past[0]
        grown = norms - norms_then
        if not AWAY_STEPS <= step - then <= 2 * AWAY_STEPS or self._steps < ONE_HEAD_FROM:
            return UNKNOWN
        if not np.isfinite(grown).any(axis=1).all():
            return UNKNOWN  # attention by hand hides its queries and keys
        usual = np.nanmedian(grown, axis=1, keepdims=True)
        beyond = grown - usual
        heads = np.flatnonzero((beyond > AWAY).any(axis=0)).tolist()
        if not heads:
            return None
        which, top = np.unravel_index(int(np.nanargmax(beyond)), beyond.shape)
        line = (
            f", {self._at(heads)}: its {('queries', 'keys')[which]} grew "
            f"{math.exp(grown[which, top]):.2g} x since step {then}, the median head's "
            f"{math.exp(usual[which, 0]):.2g} x; largest score {score_h[top]:.3g}"
            f"{self._forecast(float(score_h[top]), float(score_then_h[top]), step - then)}. Look "
            f"at the weights of {('q_proj', 'k_proj')[which]}; QK-clip would hold it."
        )
        return Found(heads, line, math.exp(float(beyond[which, top])))

    def _forecast(self, score: float, before: float, steps: int) -> str:
        """When the threshold is reached if the log of the score goes on growing as it did."""
        limit = self.threshold
        if limit is None or not 0 < before < score < limit:
            return ""
        left = math.log(limit / score) / math.log(score / before) * steps
        return f", at this rate {limit:g} in about {left:.0f} steps" if left < 5 * steps else ""

    def _collapsed(self, step: int, share_h: Array) -> Found | None:
        """The median head looks at one key."""
        if np.isnan(share_h).all():
            return UNKNOWN
        median, best, at = float(np.nanmedian(share_h)), self._best_share, self._best_step
        if median > best:
            self._best_share, self._best_step = median, step
        if median >= COLLAPSED:
            return None
        heads = np.flatnonzero(share_h < COLLAPSED).tolist()
        return UNKNOWN if best <= COLLAPSED_FROM else Found(heads, (
            f": attention has collapsed: the median head's entropy is {median:.1%} of its maximum, "
            f"was {best:.0%} at step {at} ({len(heads)} of {len(share_h)} heads below "
            f"{COLLAPSED:.0%}). The learning rate is too high or its warm-up too short; go back "
            f"before step {self._healthy.get('collapse', 0)}."
        ), median)  # fmt: skip

    def _silent(self, own: slice, norm_h: Array, since: int | None) -> Found | None:
        """Heads of a layer that write nothing beside the others of it."""
        norms = norm_h[own]
        usual = np.nanmedian(norms) if np.isfinite(norms).any() else np.nan
        heads = (own.start + np.flatnonzero(norms <= SILENT * usual)).tolist()
        when = "" if since is None else f" since step {since}"
        they = "they write" if len(heads) > 1 else "it writes"
        line = f", {self._at(heads)}: {they} nothing{when}. Were weights loaded whole?"
        return Found(heads, line, float(norm_h[heads[0]])) if heads else None


def _largest_ratio(numbers: Sequence[float], others: Sequence[float]) -> float:
    """The largest of each number divided by the other; 0 without any."""
    return max((x / y for x, y in zip(numbers, others, strict=False) if y > 0), default=0.0)
