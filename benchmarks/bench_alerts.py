"""What the rules of regard.monitor find, how soon, and how often they cry for nothing.

    python benchmarks/bench_alerts.py [--seeds 3] [--healthy 8] [--records FOLDER] [--long 10000]

Small models learn four tasks (copy, induction, sorting, characters) on a CPU. A healthy training
goes on to its end; from a seeded step on it goes on again with each fault, from the same state. So
do healthy trainings with other schedules of the learning rate, and one long training on characters.
What the monitor gives to its rules is kept in a folder, so that rules with other limits can be
applied to the same trainings.

"The loss shows it" is the earlier of two rules: the mean of ten losses is half a nat above its
lowest; a loss is beyond six deviations of the last 128 and 0.1 nat. Lead is how many steps before
that the first event came. The limits of ``shift`` are looked at on two tasks (copy, characters) and
on the other two apart. Results: benchmarks/results/alerts.json; docs/training.md shows them.
"""

import argparse
import copy
import dataclasses
import json
import math
import pickle
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
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
from regard.monitoring.certificate import Spread
from regard.monitoring.folder import Layer
from regard.monitoring.optimizer import WeightSample
from regard.monitoring.rules import Rules, Setting, StepNumbers

BATCH, LENGTH, WORDS = 16, 24, 16
STEPS, AFTER, EVERY = 250, 100, 20  # of a training; behind a fault; between observations
CHOSEN_ON = ("copy", "characters")
# Limits of shift to look at: of the median head, and of one head.
LIMITS = (*((x, 9.0) for x in (2.0, 3.0, 4.0, 6.0, 9.0)), *((4.0, x) for x in (5.0, 7.0, 12.0)))
DOCS = Path(__file__).parents[1] / "docs"


class Attention(nn.Module):
    """Causal attention; faults change its fields."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.heads = heads
        self.causal, self.scale, self.broken, self.half = True, None, False, False

    def forward(self, x_bte: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            y(x_bte).unflatten(-1, (self.heads, -1)).transpose(1, 2)
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
    """Tokens and learnt positions, blocks of attention and a hidden layer, and the next token."""

    def __init__(self, words: int, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.attentions = nn.ModuleList([Attention(width, heads) for _ in range(layers)])
        self.hidden = nn.ModuleList([
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(layers)
        ])  # fmt: skip
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(2 * layers)])
        self.next = nn.Linear(width, words)

    def forward(self, ids_bt: torch.Tensor) -> torch.Tensor:
        x_bte = self.words(ids_bt) + self.places(torch.arange(ids_bt.shape[1]))
        for at, attention in enumerate(self.attentions):
            x_bte = x_bte + attention(self.norms[2 * at](x_bte))
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


def characters(length: int, *files: Path) -> Callable[[torch.Generator], Batch]:
    """Pieces of this repository's documentation."""
    text = b"".join(x.read_bytes() for x in files)
    ids = torch.tensor(list(text)).clamp(max=127)

    def drawn(random: torch.Generator) -> Batch:
        at = torch.randint(0, len(ids) - length - 1, (BATCH, 1), generator=random)
        pieces = ids[at + torch.arange(length + 1)]
        return pieces[:, :-1], pieces[:, 1:]

    return drawn


TASKS: dict[str, tuple[int, Callable[[torch.Generator], Batch]]] = {
    "copy": (WORDS, copied), "induction": (WORDS, induced), "sorting": (WORDS, sorted_),
    "characters": (128, characters(LENGTH, DOCS / "mathematics.md")),
}  # fmt: skip
FROM_THE_START = "rate x 30 from the start"
FAULTS = (
    "mask dropped", "scale lost", "another dtype", "all padding", "Wq of a head x 30",
    "Wq of a head x 1.03 a step", "values of a head 0", "nan in a key", "rate x 10",
    "rate rises to x 31", "rate x 50 for 5 steps", "optimizer's state lost",
    "gradients not unscaled", "labels shuffled", FROM_THE_START,
)  # fmt: skip


def wave(x: float) -> float:
    """From 1 to 0 along a cosine."""
    return (1 + math.cos(math.pi * min(1.0, x))) / 2


# The learning rate's factor at a step of a training of so many steps.
SCHEDULES: dict[str, Callable[[int, int], float]] = {
    "constant": lambda step, steps: min(1.0, (step + 1) / 30),
    "cosine": lambda step, steps: min(1.0, (step + 1) / 30) * wave(step / steps),
    "cosine with restarts": lambda step, steps: min(1.0, (step + 1) / 30) * wave(step % 80 / 80),
    "stable, then down": lambda step, steps: min(1.0, (step + 1) / 30, (steps - step) / 60),
}


@dataclasses.dataclass
class Record:
    """One training: its losses, and what the monitor gave to its rules at each step."""

    task: str
    fault: str  # "none" of a healthy one
    seed: int
    begun: int | None  # the first step of the fault
    layers: list[tuple[Any, ...]]
    schedule: str = "constant"
    losses: list[float] = dataclasses.field(default_factory=list)
    steps: list[tuple[dict[str, Any], dict[str, np.ndarray] | None]] = dataclasses.field(
        default_factory=list
    )

    def events(self, most: float | None = None, one: float | None = None) -> list[Any]:
        """Events by the rules; or those of ``shift`` alone, with its limits."""
        before = rule_numbers.MOST_HEADS, rule_numbers.ONE_HEAD
        rule_numbers.MOST_HEADS, rule_numbers.ONE_HEAD = most or before[0], one or before[1]
        names = rule_numbers.RULES if most is None else ("shift",)
        rules = Rules(tuple(Layer(*x) for x in self.layers), names=names)
        for given, measures in self.steps:
            rules.step(numbers_of(given))
            if measures is not None:
                rules.observed(given["step"], measures)
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
        """What is kept of a training."""
        found = {
            "task": self.task, "fault": self.fault, "seed": self.seed, "schedule": self.schedule,
            "from": self.begun, "steps": len(self.losses), "loss shows": self.loss_shows(),
            "events": [(x.rule, x.first) for x in self.events()],
            "shift alone": [x.first for x in self.events(rule_numbers.MOST_HEADS)],
            "last loss": round(float(np.mean(self.losses[-10:])), 3),
        }  # fmt: skip
        return {name: None if x != x else x for name, x in found.items()}  # nan


def plain_numbers(now: StepNumbers) -> dict[str, Any]:
    """Numbers of a step as they are kept: of no class of regard's."""
    found = {x.name: getattr(now, x.name) for x in dataclasses.fields(now)}
    settings = {place: [tuple(x) for x in own] for place, own in now.settings.items()}
    return found | {"spread": None if now.spread is None else [*now.spread], "settings": settings}


def numbers_of(given: dict[str, Any]) -> StepNumbers:
    settings = {x: frozenset(Setting(*y) for y in own) for x, own in given["settings"].items()}
    spread = None if given["spread"] is None else Spread(*given["spread"])
    return StepNumbers(**given | {"settings": settings, "spread": spread})


class Training:
    """A training under a monitor that can go back to a step and go on with a fault."""

    def __init__(self, model: Model, draw: Callable[..., Batch], seed: int, steps: int) -> None:
        self.model, self.draw, self.seed, self.steps = model, draw, seed, steps
        self.random = torch.Generator().manual_seed(1000 + seed)
        self.rate, self.schedule = 0.003, "constant"
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=self.rate)
        self.monitor: Any = None
        self.layer = seed % len(model.attentions)
        self.head = seed // 2 % model.attentions[0].heads

    def monitored(self, **options: Any) -> Any:
        self.monitor = regard.monitor(
            self.model, on_alert=lambda _: None, on_error="raise", **options
        )
        return self.monitor

    def run(self, record: Record, until: int, keep_at: int | None = None) -> Any:
        """Train from the record's last step on, with its fault; the state before a step."""
        kept = None
        for step in range(len(record.losses), until):
            if step == keep_at:
                kept = self.state()
            self.step(record, step)
        return kept

    def step(self, record: Record, step: int) -> None:
        since = -1 if record.begun is None else step - record.begun
        factor = SCHEDULES[self.schedule](step, self.steps) * rate_factor(record.fault, since)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * factor
        ids, follow = self.changed(record.fault, since, self.draw(self.random))
        loss = cross_entropy(self.model(ids).flatten(0, 1), follow.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if record.fault == "gradients not unscaled" and since == 0:
            for numbers in self.model.parameters():
                numbers.grad *= 1e4
        if record.fault == "optimizer's state lost" and since == 0:
            self.optimizer.state.clear()
        self.monitor.log(loss=loss)
        record.losses.append(float(loss.detach()))
        self.listen(record)
        self.optimizer.step()

    def listen(self, record: Record) -> None:
        """Have the monitor's rules keep what they are given."""
        rules = self.monitor._rules
        if rules is None:
            return

        def took(now: StepNumbers) -> None:
            record.steps.append((plain_numbers(now), None))
            Rules.step(rules, now)

        def looked(step: int, measures: dict[str, np.ndarray]) -> None:
            record.steps[-1] = (record.steps[-1][0], measures)
            Rules.observed(rules, step, measures)

        record.layers = [(x.part, x.layer, x.heads, x.path) for x in rules.layers]
        rules.step, rules.observed = took, looked

    def state(self) -> Any:
        """All that a training goes on from, the monitor's weights too."""
        parts = self.model, self.optimizer
        sample = self.monitor._weights
        kept = [copy.deepcopy(x.state_dict()) for x in parts]
        return *kept, self.random.get_state(), None if sample is None else sample._before.clone()

    def go_back(self, state: Any, step: int) -> None:
        model, optimizer, random, before = copy.deepcopy(state)
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        self.random.set_state(random)
        if self.monitor._weights is None:  # of another process
            self.monitor._weights = WeightSample(self.model)
            self.monitor._weights.change()
        self.monitor._weights._before = before
        self.monitor.step = step

    @torch.no_grad()
    def changed(self, fault: str, since: int, batch: Batch) -> Batch:
        """Faults of attentions, of one attention's parameters, and of a batch."""
        (ids, follow), on = batch, since >= 0
        for attention in self.model.attentions:
            attention.causal = not (fault == "mask dropped" and on)
            attention.scale = 1.0 if fault == "scale lost" and on else None
            attention.half = fault == "another dtype" and on
            attention.broken = False
        attention = self.model.attentions[self.layer]
        width = attention.query.out_features // attention.heads
        rows = slice(self.head * width, (self.head + 1) * width)
        attention.broken = fault == "nan in a key" and since == 0
        if fault == "Wq of a head x 30" and since == 0:
            attention.query.weight[rows] *= 30
        if fault == "Wq of a head x 1.03 a step" and on:
            attention.query.weight[rows] *= 1.03
        if fault == "values of a head 0" and on:
            attention.value.weight[rows] = 0
            attention.value.bias[rows] = 0
        if fault == "all padding" and since == 0:
            return torch.zeros_like(ids), follow.clamp(max=0)
        if fault == "labels shuffled" and on:
            return ids, follow[torch.randperm(len(follow), generator=self.random)]
        return ids, follow


def rate_factor(fault: str, since: int) -> float:
    if since < 0:
        return 1.0
    return {
        "rate x 10": 10.0, "rate rises to x 31": 1 + 30 * min(1.0, since / 100),
        "rate x 50 for 5 steps": 50.0 if since < 5 else 1.0, FROM_THE_START: 30.0,
    }.get(fault, 1.0)  # fmt: skip


def begun(task: str, seed: int, schedule: str = "constant") -> tuple[Training, Any, Record]:
    torch.manual_seed(seed)
    words, draw = TASKS[task]
    training = Training(Model(words), draw, seed, STEPS)
    training.schedule = schedule
    monitor = training.monitored(every=EVERY)
    return training, monitor, Record(task, "none", seed, None, [], schedule)


def healthy(task: str, seed: int, schedule: str) -> list[Record]:
    training, monitor, record = begun(task, seed, schedule)
    with monitor:
        training.run(record, STEPS)
    return [checked(record, monitor)]


def checked(record: Record, monitor: Any) -> Record:
    """A record whose events are those that the monitor told."""
    ours, told = ([(x.rule, x.first) for x in y] for y in (record.events(), monitor.alerts))
    if ours != told:
        raise RuntimeError(f"the monitor told {told}, its rules {ours}")
    return record


def faulty(task: str, seed: int) -> list[Record]:
    """A healthy training, and with each fault what follows from the same state."""
    at = int(np.random.default_rng([seed, *task.encode()]).integers(130, 150))
    training, monitor, whole = begun(task, seed)
    found = [whole]
    with monitor:
        state = training.run(whole, STEPS, keep_at=at)
        checked(whole, monitor)
        for fault in FAULTS[:-1]:
            record = dataclasses.replace(
                whole, fault=fault, begun=at, losses=whole.losses[:at], steps=whole.steps[:at]
            )
            training.go_back(state, at)
            training.run(record, at + AFTER)
            found.append(record)
    training, monitor, record = begun(task, seed)
    record.fault, record.begun = FROM_THE_START, 0
    with monitor:
        training.run(record, STEPS)
    return [*found, checked(record, monitor)]


PART = 2000  # steps of the long training in one process


def long(folder: Path, steps: int) -> list[Record]:
    """One long training of the small model on characters of all of the documentation.

    What it goes on from is kept in the folder after every part.
    """
    torch.manual_seed(0)
    draw = characters(32, *sorted(DOCS.glob("*.md")))
    training = Training(Model(128), draw, 0, steps)
    training.schedule, path = "cosine", folder / f"long {steps}.part"
    record = Record("characters", "none", 0, None, [], "cosine")
    state = None
    if path.exists():
        kept, state = torch.load(path, weights_only=False)
        record = Record(**kept)
    while len(record.losses) < steps:
        at = len(record.losses)
        with training.monitored(every=50, step=at):
            if state is not None:
                training.go_back(state, at)
            training.run(record, at + PART)
            state = training.state()
        torch.save((dataclasses.asdict(record), state), path)
        print(f"long training: step {at + PART}", flush=True)
    return [record]


def recorded(folder: Path, name: str, work: Callable[[], list[Record]]) -> list[Record]:
    """Trainings that are in the folder already, or run now."""
    path, began = folder / f"{name}.pickle", time.process_time()
    if not path.exists():
        found = [dataclasses.asdict(x) for x in work()]
        path.with_suffix(".part").write_bytes(pickle.dumps(found))
        path.with_suffix(".part").rename(path)
        print(f"{name}: {time.process_time() - began:.0f} s", flush=True)
    return [Record(**x) for x in pickle.loads(path.read_bytes())]  # noqa: S301 (our own)


def trainings(folder: Path, seeds: int, most: int, schedules: int) -> Iterator[Record]:
    for seed, task in product(range(seeds), TASKS):
        yield from recorded(folder, f"{task} {seed}", lambda t=task, s=seed: faulty(t, s))
    for seed, task in product(range(seeds, most), TASKS):
        own = lambda t=task, s=seed: healthy(t, s, "constant")  # noqa: E731
        yield from recorded(folder, f"{task} {seed}", own)
    for name, seed, task in product([*SCHEDULES][1:], range(schedules), TASKS):
        own = lambda n=name, s=seed, t=task: healthy(t, 100 + s, n)  # noqa: E731
        yield from recorded(folder, f"{task} {name} {seed}", own)


SUDDEN = ("mask dropped", "scale lost", "all padding", "Wq of a head x 30")


def swept(records: list[Record]) -> list[dict[str, Any]]:
    """False alarms and sudden faults found at once by shift, for numbers of its two limits."""
    table = []
    for most, one in LIMITS:
        row: dict[str, Any] = {"most heads": most, "one head": one}
        for half, own in halves(records).items():
            sudden = [x for x in own if x.fault in SUDDEN]
            hit = sum(x.begun in {y.first for y in x.events(most, one)} for x in sudden)
            well = [x for x in own if x.fault == "none"]
            row[half] = {
                "false": sum(bool(x.events(most, one)) for x in well), "healthy": len(well),
                "found at once": hit, "faulty": len(sudden),
            }  # fmt: skip
        table.append(row)
    return table


def halves(records: list[Record]) -> dict[str, list[Record]]:
    return {
        "chosen on": [x for x in records if x.task in CHOSEN_ON],
        "other half": [x for x in records if x.task not in CHOSEN_ON],
    }


def soonest(event: Any) -> tuple[int, int]:
    """The step of an event; of several in a step the rule that says most about attention."""
    return event[1], rule_numbers.RULES.index(event[0])


def table_of(told: list[dict[str, Any]]) -> dict[str, Any]:
    """Found, delay and lead by fault; false alarms by rule."""
    well = [x for x in told if x["fault"] == "none"]
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
            "found by": dict(Counter(r for e in after for r in {rule for rule, _ in e})),
            "lines": _median([len(events) for events in after]),
            "shift alone, at once": sum(x["from"] in x["shift alone"] for x in own),
        }  # fmt: skip
    rules = Counter(rule for x in well for rule in {rule for rule, _ in x["events"]})
    return {
        "healthy": len(well), "with an alarm": sum(bool(x["events"]) for x in well),
        "most lines": max((len(x["events"]) for x in well), default=0),
        "false alarms by rule": dict(rules), "faults": rows,
    }  # fmt: skip


def _median(numbers: list[int]) -> float | None:
    return statistics.median(numbers) if numbers else None


def main() -> None:
    """Train, tell what was found, and what other limits would find."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="trainings of each task and fault")
    parser.add_argument("--healthy", type=int, default=8, help="healthy ones of each task")
    parser.add_argument("--schedules", type=int, default=2, help="of each task and schedule")
    parser.add_argument("--long", type=int, default=0, help="steps of one long training")
    parser.add_argument("--records", type=Path, help="a folder of trainings, which goes on")
    parser.add_argument("--out", type=Path, default=RESULTS / "alerts.json")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    folder = chosen.records or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    records = list(trainings(folder, chosen.seeds, chosen.healthy, chosen.schedules))
    whole = []
    if chosen.long:
        whole = recorded(folder, f"long {chosen.long}", lambda: long(folder, chosen.long))
    save(records, whole, chosen.out)


def save(records: list[Record], whole: list[Record], out: Path) -> None:
    """Tables of all trainings, of half of the tasks, of schedules, and of the long training."""
    told = [x.told() for x in records]
    usual = [x for x in told if x["schedule"] == "constant"]
    results: dict[str, Any] = {
        "machine": describe(), "chosen on": CHOSEN_ON,
        "other half": table_of([x for x in usual if x["task"] not in CHOSEN_ON]),
        "all": table_of(usual),
        "schedules": {
            name: table_of([x for x in told if x["schedule"] == name]) for name in [*SCHEDULES][1:]
        },
        "long": [
            x.told() | {f"shift at {m:g}, {o:g}": len(x.events(m, o)) for m, o in LIMITS}
            for x in whole
        ],
        "limits of shift": swept([x for x in records if x.schedule == "constant"]),
        "runs": told,
    }  # fmt: skip
    lines = json.dumps(results, indent=None).replace('{"task"', '\n{"task"')
    out.write_text(lines.replace('{"most heads"', '\n{"most heads"') + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
