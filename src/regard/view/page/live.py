"""A model that stays loaded: texts that it reads and continues, with and without changes."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError
from regard.experiments.experiment import CAUTION, differing
from regard.view.page.answers import Fields, Stop
from regard.view.page.maps import bounded_integer
from regard.view.page.readings import checked_changes, integer_field, text_field
from regard.view.page.runs import Run, watched_run
from regard.watcher.experiments.rerun import token_name

if TYPE_CHECKING:
    from regard.watcher.files.model_folder import Loaded, TextRun
    from regard.watcher.watch import Watching

MAX_RUNS = 4  # in memory, each with up to 1 GiB of query and key
MAX_GENERATED = 500  # tokens
LIKELIEST_TOKENS = 5  # of each run
MOVED_TOKENS = 5
WAIT_SECONDS = 0.1  # between two looks whether anybody still waits for the model


@dataclass(frozen=True)
class Request:
    """A text for the model: how many tokens to write after it, and the changes of the run."""

    text: str
    generate: int = 0
    chat: bool = False
    changes: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def from_fields(cls, fields: Fields, text: str) -> Request:
        """The fields of a request; without a text it is about the one that is given."""
        return cls(
            text_field(fields, "text", text),
            bounded_integer("generate", fields.get("generate", 0), 0, MAX_GENERATED),
            fields.get("chat") is True,
            tuple(checked_changes(fields.get("changes") or [])),
        )

    @property
    def key(self) -> str:
        """A name of this request, the same for the same one."""
        told = json.dumps([self.text, self.generate, self.chat, self.changes], sort_keys=True)
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    @property
    def plain(self) -> Request:
        return Request(self.text, self.generate, self.chat)

    def applied(self, block: Watching) -> Watching:
        """The block with the changes; words are tokens, by their positions."""
        for change in self.changes:
            part = text_field(change, "part") if "part" in change else None
            if change["change"] == "knock_out":
                block = block.knock_out(_token(change, "word"), part=part)
                continue
            layer, head = (integer_field(change, x) for x in ("layer", "head"))
            if change["change"] == "ablate":
                block = block.ablate(layer, head, part=part)
            else:
                word, to = _token(change, "word"), _token(change, "to")
                block = block.redirect(word, to, layer, head, part=part)
        return block


def _token(change: Mapping[str, Any], name: str) -> tuple[int, int]:
    position = integer_field(change, name)
    return position, position + 1


@dataclass
class Progress:
    """How far the model is: layers of all calls that are done, and how many there will be."""

    doing: str = ""
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class ModelRun:
    """A finished run of the model, and what the page shows of it."""

    made: TextRun
    page: Run
    probability_v: NDArray[np.float64] | None = field(repr=False)

    @property
    def written_tokens(self) -> tuple[int, tuple[str, ...]]:
        """Where the text of the model's own begins, and its tokens as they are written."""
        part = next((x for x in self.page.parts if x.generated[0] is not None), None)
        if part is None or part.query is None or part.generated[0] is None:
            return 0, ()
        text = self.page.texts[part.query]
        return part.generated[0], (text.segments or text.tokens)[part.generated[0] :]


class LiveModel:
    """A model with its tokenizer; one text at a time runs through it."""

    def __init__(self, loaded: Loaded, name: str, text: str = "") -> None:
        self.loaded, self.name, self.text = loaded, name, text
        self.progress = Progress()
        self._lock = Lock()
        self._runs: OrderedDict[str, ModelRun] = OrderedDict()

    def about(self) -> dict[str, Any]:
        """What the page needs to know before a text is given."""
        loaded = self.loaded
        return {
            "name": self.name,
            "kind": type(loaded.model).__name__,
            "text": self.text,
            "writes": loaded.writes,
            "two_sided": loaded.two_sided,
            "chat": bool(getattr(loaded.tokenizer, "chat_template", None)),
            "most": getattr(loaded.model.config, "max_position_embeddings", None),
        }

    def run(self, key: str) -> Run:
        """What the page shows of a run that was made."""
        found = self._runs.get(key)
        if found is None:
            raise ArgumentError("this run is no longer in memory: run the text again.")
        return found.page

    def read(self, request: Request, stop: Stop) -> dict[str, Any]:
        """Run the model, or take the run from memory: its name, and what comes after the text."""
        plain = self._made(request.plain, stop, "reading")
        if not request.changes:
            return {"run": request.plain.key, **self._outcome(request, plain, plain)}
        changed = self._made(request, stop, "running again with the change")
        return {"run": request.key, **self._outcome(request, plain, changed)}

    def _made(self, request: Request, stop: Stop, doing: str) -> ModelRun:
        key = request.key
        while not self._lock.acquire(timeout=WAIT_SECONDS):
            stop.check()
        try:
            if key not in self._runs:
                self._runs[key] = self._run(request, stop, doing)
            self._runs.move_to_end(key)
            while len(self._runs) > MAX_RUNS:
                self._runs.popitem(last=False)
            return self._runs[key]
        finally:
            self._lock.release()

    def _run(self, request: Request, stop: Stop, doing: str) -> ModelRun:
        from regard.watcher.files.model_folder import run_text

        # A model does not read the last token that it writes: one more, and all are in the text.
        generate = request.generate + 1 if request.generate else 0
        calls = max(1, generate)
        self.progress = progress = Progress(doing, 0, calls * self.loaded.layers)

        def step(_: Any) -> None:
            progress.done += 1
            stop.check()

        try:
            made = run_text(
                self.loaded, request.text, generate, chat=request.chat,
                changed=request.applied, keep="auto", progress=step,
            )  # fmt: skip
        finally:
            self.progress = Progress()
        probability_v = None
        if made.logits_v is not None:
            probability_v = made.logits_v.double().softmax(-1).cpu().numpy()
        return ModelRun(made, watched_run(made.seen, self.name), probability_v)

    def _outcome(self, request: Request, before: ModelRun, after: ModelRun) -> dict[str, Any]:
        """What comes next, before and after the changes, and what was written in both runs."""
        start, own = after.written_tokens
        _, former = before.written_tokens
        gone, new = differing(former, own) if request.changes else ([], [])
        return {
            "next": self._next_tokens(before, after),
            "written": {"start": start, "differing": [start + at for at in new]},
            "former": [[text, at in gone] for at, text in enumerate(former)],
            "moved": self._moved(before, after) if request.changes else [],
            "same": request.changes != () and _same(before, after),
            "changed": [_phrase(change, after.page) for change in request.changes],
            "caution": CAUTION,
        }

    def _next_tokens(self, before: ModelRun, after: ModelRun) -> list[dict[str, Any]]:
        both = [x.probability_v for x in (before, after) if x.probability_v is not None]
        if len(both) < 2:
            return []
        best = [np.argsort(-x, kind="stable")[:LIKELIEST_TOKENS].tolist() for x in both]
        chosen = sorted({*best[0], *best[1]}, key=lambda i: -max(x[i] for x in both))
        return [
            {
                "token": token_name(self.loaded.tokenizer, i),
                "before": float(both[0][i]),
                "after": float(both[1][i]),
            }
            for i in chosen
        ]

    def _moved(self, before: ModelRun, after: ModelRun) -> list[list[Any]]:
        """Tokens whose last vectors turned most, with 1 - cosine, of a model that only reads."""
        one, other = before.made.vectors_te, after.made.vectors_te
        if one is None or other is None:
            return []
        from torch.nn.functional import cosine_similarity

        turned_t = 1 - cosine_similarity(one.double(), other.double(), dim=-1).cpu().numpy()
        order = np.argsort(-turned_t, kind="stable")[:MOVED_TOKENS].tolist()
        return [[at, float(turned_t[at])] for at in order]


def _same(before: ModelRun, after: ModelRun) -> bool:
    """Whether not one bit of what came out differs."""
    pairs = (
        (before.made.logits_v, after.made.logits_v),
        (before.made.vectors_te, after.made.vectors_te),
    )
    return all(one is None or bool((one == other).all()) for one, other in pairs)


def _phrase(change: Mapping[str, Any], run: Run) -> str:
    """A change in words; tokens stand between isolates, which the page shows as quoted words."""
    part = next((x for x in run.parts if x.name == change.get("part")), run.parts[0])
    head = ", ".join(f"{x} {change[x]}" for x in ("layer", "head") if x in change)
    if change["change"] == "ablate":
        return f"{head} is switched off"
    if change["change"] == "knock_out":
        return f"no other token may look at {_named(run, part.key, change['word'])}"
    word, to = _named(run, part.query, change["word"]), _named(run, part.key, change["to"])
    return f"in {head}, {word} looks at {to}"


def _named(run: Run, text: int | None, position: int) -> str:
    tokens: Sequence[str] = () if text is None else run.texts[text].tokens
    name = tokens[position].removeprefix("+") if position < len(tokens) else str(position)
    return f"\u2068{name}\u2069"
