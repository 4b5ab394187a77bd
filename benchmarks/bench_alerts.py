"""What the rules of regard.monitor find, how soon, and how often they cry for nothing.

    python benchmarks/bench_alerts.py [--healthy 6] [--seeds 1] [--steps 280] [--jobs I/N]

Small models learn four tasks (copy, induction, sorting, characters) on a CPU, healthy or with a
fault from a seeded step on; the monitor looks at them as at any training. "The loss shows it" is
the earlier of two rules: the mean of ten losses is half a nat above its lowest; a loss is beyond
six deviations of the last 128 and 0.1 nat. Lead is how many steps before that the first event came.
Other limits of ``shift`` are tried on two tasks (copy, characters) and on the other two apart.
Results: benchmarks/results/alerts.json; docs/training.md shows them.
"""

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import RESULTS, describe
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

import regard
from regard.monitoring import rules as rule_numbers
from regard.monitoring.rules import Rules

WIDTH, HEADS, LAYERS, BATCH, LENGTH, WORDS = 32, 4, 2, 16, 24, 16
CHOSEN_ON = ("copy", "characters")
LEVELS = (2.0, 3.0, 4.0, 6.0, 9.0)  # of the median head
SINGLE = (5.0, 7.0, 9.0, 12.0)  # of one head
NEVER = 10**9


class Attention(nn.Module):
    """Causal attention with learnt positions before it; faults change its fields."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.causal, self.scale, self.broken, self.half = True, None, False, False

    def forward(self, x_bte: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            y(x_bte).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for y in (self.query, self.key, self.value)
        )
        if self.broken:
            key = key.index_fill(2, torch.tensor([3]), torch.nan)
        if self.half:
            query, key, value = (y.bfloat16() for y in (query, key, value))
        output = scaled_dot_product_attention(
            query, key, value, is_causal=self.causal, scale=self.scale
        )
        return self.out(output.to(x_bte).transpose(1, 2).flatten(2))


class Model(nn.Module):
    """Tokens and positions, blocks of attention and a hidden layer, and the next token."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.attentions = nn.ModuleList([Attention() for _ in range(LAYERS)])
        self.hidden = nn.ModuleList([
            nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))
            for _ in range(LAYERS)
        ])  # fmt: skip
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH) for _ in range(2 * LAYERS)])
        self.next = nn.Linear(WIDTH, words)

    def forward(self, ids_bt: torch.Tensor) -> torch.Tensor:
        x_bte = self.words(ids_bt) + self.places(torch.arange(ids_bt.shape[1]))
        for at in range(LAYERS):
            x_bte = x_bte + self.attentions[at](self.norms[2 * at](x_bte))
            x_bte = x_bte + self.hidden[at](self.norms[2 * at + 1](x_bte))
        return self.next(x_bte)


Batch = tuple[torch.Tensor, torch.Tensor]  # tokens (b, t), and what follows, -100 where not asked


def copied(random: torch.Generator) -> Batch:
    """Half of the sequence, then the same again."""
    half = torch.randint(0, WORDS, (BATCH, LENGTH // 2), generator=random)
    ids = torch.cat([half, half], dim=1)
    return ids, ids.roll(-1, 1).index_fill(1, torch.arange(LENGTH // 2 - 1), -100)


def induced(random: torch.Generator) -> Batch:
    """Pairs of a name and its value, in an order of their own each time; values are asked for."""
    values = torch.randint(WORDS // 2, WORDS, (BATCH, WORDS // 2), generator=random)
    names = torch.randint(0, WORDS // 2, (BATCH, LENGTH // 2), generator=random)
    ids = torch.stack([names, values.gather(1, names)], dim=2).flatten(1)
    asked = torch.arange(LENGTH) % 2 == 0
    return ids, ids.roll(-1, 1).masked_fill(~asked, -100)


def sorted_(random: torch.Generator) -> Batch:
    """Numbers, then the same in their order."""
    numbers = torch.randint(0, WORDS, (BATCH, LENGTH // 2), generator=random)
    ids = torch.cat([numbers, numbers.sort(dim=1).values], dim=1)
    return ids, ids.roll(-1, 1).index_fill(1, torch.arange(LENGTH // 2 - 1), -100)


def characters() -> Callable[[torch.Generator], Batch]:
    """Pieces of this repository's guide to reading."""
    text = (Path(__file__).parents[1] / "docs" / "mathematics.md").read_bytes()
    ids = torch.tensor(list(text)).clamp(max=127)

    def drawn(random: torch.Generator) -> Batch:
        at = torch.randint(0, len(ids) - LENGTH - 1, (BATCH, 1), generator=random)
        pieces = ids[at + torch.arange(LENGTH + 1)]
        return pieces[:, :-1], pieces[:, 1:]

    return drawn


TASKS: dict[str, tuple[int, Callable[[torch.Generator], Batch]]] = {
    "copy": (WORDS, copied), "induction": (WORDS, induced), "sorting": (WORDS, sorted_),
    "characters": (128, characters()),
}  # fmt: skip
FAULTS = (
    "mask dropped", "scale lost", "another dtype", "all padding", "Wq of a head x 30",
    "Wq of a head x 1.03 a step", "values of a head 0", "nan in a key", "rate x 10",
    "rate rises to x 31", "rate x 50 for 5 steps", "optimizer's state lost",
    "gradients not unscaled", "labels shuffled", "rate x 30 from the start",
)  # fmt: skip


class Run:
    """One training, with the numbers that the monitor's rules were given."""

    def __init__(self, task: str, fault: str, seed: int, steps: int) -> None:
        self.task, self.fault, self.seed, self.steps = task, fault, seed, steps
        picked = np.random.default_rng([seed, *task.encode()])
        self.from_step = int(picked.integers(130, 160))
        if fault == "rate x 30 from the start":
            self.from_step = 0
        if fault == "none":
            self.from_step = NEVER
        self.layer, self.head = int(picked.integers(LAYERS)), int(picked.integers(HEADS))
        self.losses: list[float] = []
        self.given: list[tuple[Any, dict[str, np.ndarray] | None]] = []
        self.layers: tuple[Any, ...] = ()
        told = self.train()
        self.events = [(x.rule, x.first) for x in self.replayed()]
        if [(x.rule, x.first) for x in told] != self.events:
            raise RuntimeError(f"the monitor told {told}, its rules {self.events}")

    def train(self) -> list[Any]:
        """Train under a monitor; returns its events."""
        words, draw = TASKS[self.task]
        random = torch.Generator().manual_seed(1000 + self.seed)
        torch.manual_seed(self.seed)
        model = Model(words)
        rate = 0.003
        optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
        with regard.monitor(model, every=20, on_alert=lambda _: None) as monitor:
            for step in range(self.steps):
                since = step - self.from_step
                factor = min(1.0, (step + 1) / 30) * self.rate_factor(since)
                for group in optimizer.param_groups:
                    group["lr"] = rate * factor
                ids, follow = self.changed(draw(random), model.attentions[self.layer], since)
                for attention in model.attentions:
                    self.change(attention, since)
                loss = cross_entropy(model(ids).flatten(0, 1), follow.flatten())
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                if self.fault == "gradients not unscaled" and since == 0:
                    for numbers in model.parameters():
                        numbers.grad *= 1e4
                if self.fault == "optimizer's state lost" and since == 0:
                    optimizer.state.clear()
                monitor.log(loss=loss)
                self.losses.append(float(loss.detach()))
                if monitor._rules is not None:
                    self.listen(monitor._rules)
                optimizer.step()
        return monitor.alerts

    def listen(self, rules: Rules) -> None:
        """Keep what the rules are given, so that they can be replayed with other numbers."""
        if self.layers:
            return
        self.layers = rules.layers
        step, observed = rules.step, rules.observed

        def took(now: Any) -> None:
            self.given.append((now, None))
            step(now)

        def looked(at: int, measures: dict[str, np.ndarray]) -> None:
            self.given[-1] = (self.given[-1][0], measures)
            observed(at, measures)

        rules.step, rules.observed = took, looked  # type: ignore[method-assign]

    def rate_factor(self, since: int) -> float:
        if since < 0:
            return 1.0
        return {
            "rate x 10": 10.0, "rate rises to x 31": 1 + 30 * min(1.0, since / 100),
            "rate x 50 for 5 steps": 50.0 if since < 5 else 1.0, "rate x 30 from the start": 30.0,
        }.get(self.fault, 1.0)  # fmt: skip

    def change(self, attention: Attention, since: int) -> None:
        """Faults of every attention."""
        on = since >= 0
        attention.causal = not (self.fault == "mask dropped" and on)
        attention.scale = 1.0 if self.fault == "scale lost" and on else None
        attention.half = self.fault == "another dtype" and on

    @torch.no_grad()
    def changed(self, batch: Batch, attention: Attention, since: int) -> Batch:
        """Faults of one attention's parameters, and of a batch."""
        ids, follow = batch
        rows = slice(self.head * WIDTH // HEADS, (self.head + 1) * WIDTH // HEADS)
        attention.broken = self.fault == "nan in a key" and since == 0
        if self.fault == "Wq of a head x 30" and since == 0:
            attention.query.weight[rows] *= 30
        if self.fault == "Wq of a head x 1.03 a step" and since >= 0:
            attention.query.weight[rows] *= 1.03
        if self.fault == "values of a head 0" and since >= 0:
            attention.value.weight[rows] = 0
            attention.value.bias[rows] = 0
        if self.fault == "all padding" and since == 0:
            return torch.zeros_like(ids), follow.clamp(max=0)
        if self.fault == "labels shuffled" and since >= 0:
            return ids, follow[torch.randperm(len(follow))]
        return ids, follow

    def replayed(self, most: float | None = None, one: float | None = None) -> list[Any]:
        """Events by the rules, with other numbers for ``shift``."""
        before = rule_numbers.MOST_HEADS, rule_numbers.ONE_HEAD
        rule_numbers.MOST_HEADS, rule_numbers.ONE_HEAD = most or before[0], one or before[1]
        rules = Rules(self.layers, names=("shift",) if most else rule_numbers.RULES)
        for now, measures in self.given:
            rules.step(now)
            if measures is not None:
                rules.observed(now.step, measures)
        rule_numbers.MOST_HEADS, rule_numbers.ONE_HEAD = before
        return rules.events

    def loss_shows(self) -> int | None:
        """The first step at which the loss tells of the fault."""
        losses, lowest = np.array(self.losses), np.inf
        for step in range(len(losses)):
            if not np.isfinite(losses[step]):
                return step
            mean = losses[max(0, step - 9) : step + 1].mean()
            before = losses[max(0, step - 128) : step]
            sudden = step >= 100 and losses[step] > before.mean() + 6 * before.std() + 0.1
            if step >= 9 and (mean > lowest + 0.5 or sudden):
                return step
            lowest = min(lowest, mean) if step >= 9 else lowest
        return None

    def told(self) -> dict[str, Any]:
        """What is kept of a run."""
        shift = [x.first for x in self.replayed(rule_numbers.MOST_HEADS, rule_numbers.ONE_HEAD)]
        return {
            "task": self.task, "fault": self.fault, "seed": self.seed,
            "from": None if self.from_step == NEVER else self.from_step,
            "loss shows": self.loss_shows(), "events": self.events, "shift alone": shift,
            "last loss": round(float(np.mean(self.losses[-10:])), 3),
        }  # fmt: skip


def false_alarms(runs: list[Run], most: float, one: float) -> int:
    return sum(bool(x.replayed(most, one)) for x in runs if x.fault == "none")


SUDDEN = ("mask dropped", "scale lost", "all padding", "Wq of a head x 30")


def swept(runs: list[Run]) -> list[dict[str, Any]]:
    """False alarms and sudden faults found at once by shift, for numbers of its two limits."""
    table = []
    for most, one in product(LEVELS, SINGLE):
        row: dict[str, Any] = {"most heads": most, "one head": one}
        for half, own in halves(runs).items():
            faulty = [x for x in own if x.fault in SUDDEN]
            firsts = [[e.first for e in x.replayed(most, one)] for x in faulty]
            hit = sum(x.from_step in steps for x, steps in zip(faulty, firsts, strict=True))
            row[half] = {
                "false": false_alarms(own, most, one),
                "healthy": sum(x.fault == "none" for x in own),
                "found at once": hit, "faulty": len(faulty),
            }  # fmt: skip
        table.append(row)
    return table


def halves(runs: list[Run]) -> dict[str, list[Run]]:
    return {
        "chosen on": [x for x in runs if x.task in CHOSEN_ON],
        "other half": [x for x in runs if x.task not in CHOSEN_ON],
    }


def soonest(event: Any) -> tuple[int, int]:
    """The step of an event; of several in a step the rule that says most about attention."""
    return event[1], rule_numbers.RULES.index(event[0])


def table_of(told: list[dict[str, Any]]) -> dict[str, Any]:
    """Found, delay and lead by fault; false alarms by rule."""
    healthy = [x for x in told if x["fault"] == "none"]
    rows = {}
    for fault in dict.fromkeys(x["fault"] for x in told if x["fault"] != "none"):
        own = [x for x in told if x["fault"] == fault]
        after = [[e for e in x["events"] if e[1] >= x["from"]] for x in own]
        firsts = [(x, min(e, key=soonest)) for x, e in zip(own, after, strict=True) if e]
        leads = [x["loss shows"] - e[1] for x, e in firsts if x["loss shows"] is not None]
        rows[fault] = {
            "runs": len(own), "found": len(firsts),
            "delay": _median([e[1] - x["from"] for x, e in firsts]),
            "loss shows": sum((x["loss shows"] or -1) >= x["from"] for x in own),
            "lead": _median(leads), "by": dict(Counter(e[0] for _, e in firsts)),
            "lines": _median([len(events) for events in after]),
            "shift alone, at once": sum(x["from"] in x["shift alone"] for x in own),
        }  # fmt: skip
    rules = Counter(rule for x in healthy for rule in {rule for rule, _ in x["events"]})
    return {
        "healthy": len(healthy), "with an alarm": sum(bool(x["events"]) for x in healthy),
        "most lines": max((len(x["events"]) for x in healthy), default=0),
        "false alarms by rule": dict(rules), "faults": rows,
    }  # fmt: skip


def _median(numbers: list[int]) -> float | None:
    return statistics.median(numbers) if numbers else None


def main() -> None:
    """Train, tell what was found, and what other limits would find."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--healthy", type=int, default=6, help="healthy runs of each task")
    parser.add_argument("--seeds", type=int, default=1, help="runs of each task and fault")
    parser.add_argument("--steps", type=int, default=280)
    parser.add_argument("--out", type=Path, default=RESULTS / "alerts.json")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    wanted = [(task, "none", seed) for seed in range(chosen.healthy) for task in TASKS]
    wanted += [(t, f, seed) for seed in range(chosen.seeds) for f in FAULTS for t in TASKS]
    runs, began = [], time.process_time()
    for number, (task, fault, seed) in enumerate(wanted):
        runs.append(Run(task, fault, seed, chosen.steps))
        spent = time.process_time() - began
        print(f"[{spent:4.0f} s] {number + 1}/{len(wanted)} {runs[-1].told()}", flush=True)
        if (number + 1) % 20 == 0 or number + 1 == len(wanted):
            save(runs, chosen.out)


def save(runs: list[Run], out: Path) -> None:
    told = [x.told() for x in runs]
    other = [x for x in told if x["task"] not in CHOSEN_ON]
    results = {
        "machine": describe(), "chosen on": CHOSEN_ON, "other half": table_of(other),
        "all": table_of(told), "limits of shift": swept(runs), "runs": told,
    }  # fmt: skip
    lines = json.dumps(results, indent=None).replace('{"task"', '\n{"task"')
    out.write_text(lines.replace('{"most heads"', '\n{"most heads"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
