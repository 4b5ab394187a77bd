"""Experiments on watched torch models: what ``regard.experiments`` asks of this kind of model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.experiments.changes import Change, KnockOut, Progress, Redirect, Replace
from regard.experiments.effects import Choice, Effects
from regard.experiments.experiment import Experiment, Parting, WordProbability, likeliest_tokens
from regard.experiments.selection import (
    HeadSelection,
    Numbers,
    Word,
    check_number,
    word_name,
    word_tokens,
)
from regard.text.words import TokenizedText, tokenized_ids
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.intervention_call import AblateByRow, Probe
from regard.watcher.experiments.outcome import (
    BY_TOKEN,
    LABEL,
    NEXT,
    TOKEN_LABELS,
    Outcome,
    label_id,
    most_changed,
    need_choices,
    tables,
)
from regard.watcher.experiments.rerun import (
    NO_MODEL,
    RunCapture,
    TextRerun,
    WatchedRun,
    input_device,
    token_name,
)
from regard.watcher.options import Options

if TYPE_CHECKING:
    import torch

    from regard.watcher.seen import Seen
    from regard.watcher.watch import Watching


@dataclass(frozen=True)
class OutputCapture(Probe):
    """No change: records the outputs (b, q, h, d) of all layers of one forward."""

    recorded: dict[LayerKey, torch.Tensor] = field(default_factory=dict, repr=False)

    def act(self, attention: Any) -> None:
        """Ask for the output of this call."""
        if attention.row == 0:
            attention.pending.takers.append(self._take)

    def _take(self, output_bqhd: torch.Tensor, layer: LayerKey) -> None:
        self.recorded[layer] = output_bqhd.detach()


@dataclass(frozen=True)
class RecordedOutputs:
    """Head outputs (h, q, d) of another run's text, for a patch."""

    text: TokenizedText
    by_layer: Mapping[LayerKey, torch.Tensor] = field(repr=False)
    described: str = "the other text"

    def query_text(self, part: str) -> TokenizedText:
        """Text of the other run."""
        return self.text

    def outputs(self, part: str, layer: int) -> torch.Tensor:
        """output_hqd of one attention."""
        key = LayerKey(part, layer)
        if key not in self.by_layer:
            raise BackendError(f"{key} cannot be patched: it did not run in the other text.")
        return self.by_layer[key]


class WatchedAdapter:
    """Experiments on watched models: see ``experiments.experiment.ModelAdapter``."""

    hides_own_rows = False  # the first token of a causal model sees nothing else
    runs_at_once = True  # the user may change the model later, and only a run finds errors

    def select(
        self, run: WatchedRun, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool
    ) -> HeadSelection:
        """Heads of the model."""
        return select_heads(_block(run).model, part, layer, head, hides_keys=hides_keys)

    def mean_outputs(
        self, run: WatchedRun, texts: Sequence[str]
    ) -> Mapping[tuple[str, int], torch.Tensor]:
        """Mean output (h, d) of every head over all tokens of some texts."""
        return mean_outputs(_block(run), texts)

    def head_outputs(self, run: WatchedRun, other: Seen) -> RecordedOutputs:
        """Head outputs of another run, whose text is run once more."""
        return head_outputs(other)

    def word_name(self, run: WatchedRun, part: str | None, word: Word, *, is_query: bool) -> str:
        """A word as the user named it: a batch has no single text."""
        return word_name(word)

    def weight(
        self, run: WatchedRun, part: str, layer: int, head: int, word: Word, to: Word
    ) -> float | None:
        """None: the run before need not have been watched."""
        return None

    def check(self, run: WatchedRun, changes: Sequence[Change]) -> None:
        """Words and heads are checked while the model runs, which knows its layers."""

    def rerun(
        self, run: WatchedRun, changes: Sequence[Change], changed: Sequence[str]
    ) -> WatchedRun:
        """The same run with the changes."""
        return run.again(changes)

    def replaced(
        self, run: WatchedRun, word: str | int | None, by: str
    ) -> tuple[WatchedRun, Replace]:
        """Run the model on its text with one word replaced, or on another text."""
        import torch

        capture, tokenizer = run.capture, run.tokenizer
        if tokenizer is None or capture is None:
            raise ArgumentError("replace needs the model's tokenizer: watch(model, tokenizer=...).")
        ids_bt = capture.keywords.get("input_ids", next(iter(capture.arguments), None))
        if ids_bt is None or len(ids_bt) != 1:
            raise ArgumentError("replace needs a run of one text, given to the model as input_ids.")
        if not isinstance(by, str):
            raise ArgumentError(f"the new text must be a string, got {by!r:.200}.")
        if word is None:
            new_bt = tokenizer(by, return_tensors="pt")["input_ids"].to(ids_bt.device)
            replacement = Replace(by)
        else:
            ids = ids_bt[0].tolist()
            text = tokenized_ids(tokenizer, ids, len(ids))
            name, tokens = word_tokens(text, word)
            start, stop = int(tokens[0]), int(tokens[-1]) + 1
            # Byte-level tokens have the blank before a word in them, others mark it themselves.
            blank = " " if text.pieces[start].startswith("\u0120") else ""
            new = tokenizer.encode(blank + by, add_special_tokens=False) if by else []
            new_bt = torch.tensor([ids[:start] + new + ids[stop:]], device=ids_bt.device)
            replacement = Replace(by, name)
        keywords = {**capture.keywords, "input_ids": new_bt}
        if keywords.get("attention_mask") is not None:
            keywords["attention_mask"] = torch.ones_like(new_bt)
        other = replace(capture, arguments=capture.arguments[1:], keywords=keywords)
        return replace(run, capture=other).again(), replacement

    def weights(
        self,
        run: WatchedRun,
        layer: int | None,
        head: int | None,
        *,
        part: str | None,
        by: str,
        weighted: str | None,
    ) -> Array:
        """Attention weights (l, h, q, k) of the run, from its maps or its query and key."""
        seen = run.seen
        if seen is None:
            raise NotAskedError("the attention of this run was not watched: use seen.ablate(...).")
        if weighted is not None:
            raise ArgumentError("weighted needs a reading of the shipped model.")
        seen.texts(part)  # raises where there is no such part
        keys = [x for x in seen.names if x.part == (part or seen.parts[0])]
        if layer is not None:
            keys = [x for x in keys if x.layer == layer] or [LayerKey(part or seen.parts[0], layer)]
        observed = [seen[key] for key in keys]
        tables = [
            x.by_words(head) if by == "words" else x.tile(slice(None), slice(None), head)
            for x in observed
        ]
        return np.stack(tables) if layer is None else tables[0]

    def same(self, before: WatchedRun, after: WatchedRun) -> bool:
        """Whether not one bit of what came out differs."""
        one, other = (_outcome(run).values for run in (before, after))
        return one.shape == other.shape and bool((one == other).all())

    def parting(self, before: WatchedRun, after: WatchedRun) -> Parting:
        """Candidates for the token after the text."""
        return Parting((), self.probabilities(before, after))

    def probabilities(self, before: WatchedRun, after: WatchedRun) -> tuple[WordProbability, ...]:
        """The likeliest next tokens of either run, masked tokens or labels."""
        return likeliest_tokens(self, before, after)

    def output_words(self, run: WatchedRun) -> tuple[str, ...]:
        """Words of the first text that ``generate`` gave."""
        return () if run.sequences is None else tuple(self.output_texts(run)[0].split())

    def output_texts(self, run: WatchedRun) -> tuple[str, ...]:
        """What ``generate`` wrote, one text for each sentence, without the text it was given."""
        if run.sequences is None:
            raise NotAskedError("there is text where the model generates: call model.generate.")
        start = run.given_tokens
        return tuple(decoded_text(run.tokenizer, x[start:]) for x in run.sequences)

    def logits(self, run: WatchedRun) -> torch.Tensor:
        if run.logits is None:
            raise NotAskedError(
                "this model has no logits: take a class with a head that chooses among words or "
                "labels, or compare its outputs yourself."
            )
        return run.logits

    def default_position(self, before: WatchedRun, after: WatchedRun, sentence: int) -> int | None:
        """The token that is looked at: the last one, the first mask, the label most changed."""
        outcome = _outcome(after)
        check_number("sentence", sentence, len(outcome.values))
        places = after.places[sentence] if outcome.kind in BY_TOKEN else ()
        if outcome.kind == TOKEN_LABELS:
            return most_changed(_outcome(before), outcome, sentence, places)
        return places[0] if places else None

    def next_probabilities(
        self, run: WatchedRun, sentence: int, position: int | None
    ) -> NDArray[np.float64]:
        """probability_v after a position, or of its mask or label; of the whole text without."""
        logits = self.logits(run)
        check_number("sentence", sentence, len(logits))
        if logits.ndim == 2:
            position = None
        elif position is None:
            position = run.places[sentence][-1]
        elif not 0 <= position < logits.shape[1]:
            raise ArgumentError(f"position must be 0 to {logits.shape[1] - 1}, got {position!r}.")
        return np.asarray(_outcome(run).probabilities(sentence, position))

    def token_name(self, run: WatchedRun, token: int) -> str:
        """A token as it is written, or its number where there is no tokenizer; a label's name."""
        return choice_name(run.tokenizer, token, _outcome(run))

    def to_dict(self, experiment: Experiment, by: str) -> dict[str, Any]:
        """What came out for each sentence, as it is printed, and generated texts."""
        outcome = experiment.after.outcome
        sentences = range(0 if outcome is None else len(outcome.values))
        shown = [
            [
                {"heading": table.heading, "rows": [
                    {"token": x.word, "id": x.id, "before": x.before, "after": x.after}
                    for x in table.rows
                ]}
                for table in tables(experiment, sentence)
            ]
            for sentence in sentences
        ]  # fmt: skip
        generated = experiment.after.sequences is not None
        texts = dict(zip(("before", "after"), experiment.texts, strict=True)) if generated else None
        kind = None if outcome is None else outcome.kind
        found: dict[str, Any] = {"outcome": kind, "shown": shown, "texts": texts}
        if kind == NEXT:
            found["next_tokens"] = [one[0]["rows"] for one in shown]
        return found


def _outcome(run: WatchedRun) -> Outcome:
    if run.outcome is None:
        raise NotAskedError(
            "this model gives neither logits nor last_hidden_state: compare its outputs yourself."
        )
    return run.outcome


WATCHED_ADAPTER = WatchedAdapter()


def _block(run: WatchedRun) -> Watching:
    if run.block is None:
        raise ArgumentError(NO_MODEL)
    return run.block


def block_outcome(seen: Seen, block: Watching, capture: RunCapture) -> Experiment:
    """The experiment of a block with changes: the model is run once more without them."""
    plain = replace(block, changes=(), progress=None)
    shared: dict[str, Any] = {"capture": capture, "block": plain, "tokenizer": block.tokenizer}
    before = replace(capture.again(), **shared)
    after = replace(capture.result, seen=seen, **shared)
    return Experiment(WATCHED_ADAPTER, before, before, tuple(block.changes), finished=after)


def select_heads(
    model: Any, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool
) -> HeadSelection:
    """Heads of a watched model; one with an encoder and a decoder needs a part.

    Keys are hidden in the encoder and in cross-attention where no part is named.
    """
    two_sided = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
    parts: tuple[str, ...] | None = None
    if part is not None:
        parts = (part,)
    elif two_sided and hides_keys:
        parts = ("encoder", "cross")
    elif two_sided:
        raise ArgumentError(
            "this model has an encoder, a decoder and cross-attention: give part='encoder', "
            "'decoder' or 'cross'."
        )
    return HeadSelection.from_numbers(parts, layer, head)


def check_words(seen: Seen, change: Change) -> None:
    """Raise where a change names a word that is not in the text, before the model runs."""
    for part in change.heads.parts or seen.parts[:1]:
        if part not in seen.parts:
            continue  # what parts there are is said by the run
        if isinstance(change, KnockOut):
            for word in change.words:
                check_word(seen, word, part, is_key=True)
        elif isinstance(change, Redirect):
            check_word(seen, change.word, part, is_key=False)
            check_word(seen, change.to, part, is_key=True)


def check_word(seen: Seen, word: Word, part: str | None, *, is_key: bool) -> None:
    """Raise where a word is not in the rows or the columns of a part."""
    word_tokens(seen.texts(part)[is_key], word)


def mean_outputs(block: Watching, texts: Sequence[str]) -> dict[tuple[str, int], torch.Tensor]:
    """Mean output (h, d) of every head over all tokens of some texts."""
    import torch

    model, tokenizer = block.model, block.tokenizer
    if tokenizer is None:
        raise ArgumentError("to='mean' needs the model's tokenizer: watch(model, tokenizer=...).")
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False):
        raise BackendError("to='mean' needs a model with one side: ablate to zero here.")
    options = Options.from_arguments((), top=0, map=0)
    plain = replace(block, options=options, progress=None, changes=())
    device = input_device(model)
    sums: dict[tuple[str, int], torch.Tensor] = {}
    tokens = 0
    for text in texts:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        capture = OutputCapture()
        with torch.no_grad(), plain.changed(capture):
            model(ids.to(device))
        tokens += ids.shape[1]
        for layer, output_bqhd in capture.recorded.items():
            sum_hd = output_bqhd[0].double().sum(0)
            sums[layer] = sums[layer] + sum_hd if layer in sums else sum_hd
    return {layer: sum_hd / tokens for layer, sum_hd in sums.items()}


def head_outputs(other: Seen) -> RecordedOutputs:
    """Head outputs of another run, whose text is run once more."""
    if not hasattr(other, "_rerun"):
        raise ArgumentError(f"other must be a watched run (Seen), got {other!r:.200}.")
    capture = OutputCapture()
    other._rerun().run(capture)
    by_layer = {x: output_bqhd[0].transpose(0, 1) for x, output_bqhd in capture.recorded.items()}
    return RecordedOutputs(other.texts()[0], by_layer)


def effects(
    rerun: TextRerun,
    of: str | int | None,
    against: str | int | None,
    position: int | None,
    *,
    batch: int,
    means: Mapping[tuple[str, int], Any] | None,
    progress: Progress | None,
) -> Effects:
    """Run a text without each head in turn, ``batch`` heads of a layer at once.

    With ``means`` a head writes its mean (h, d) over other texts instead of zero.
    """
    if not isinstance(batch, int) or batch < 1:
        raise ArgumentError(f"batch must be a number from 1 up, got {batch!r}.")
    at, outcome = rerun.place(position), need_choices(rerun.outcome, rerun.model)
    logits_v = rerun.logits_at(at)[0]
    tokens = choose_tokens(rerun.tokenizer, logits_v, of, against, outcome)
    full = float(logits_v[tokens[0]] - logits_v[tokens[1]])
    total, done = sum(rerun.heads.values()), 0
    by_layer: dict[tuple[str, int], NDArray[np.float64]] = {
        key: np.zeros(heads) for key, heads in rerun.heads.items()
    }
    for key, heads in rerun.heads.items():
        mean_hd = None if means is None else means[key]
        layer = HeadSelection((key.part,), (key.layer,))
        for first in range(0, heads, batch):
            rows = min(batch, heads - first)
            change = AblateByRow(heads=layer, first=first, rows=rows, means=mean_hd)
            changed_bv = rerun.logits_from(key, at, logits_v, change, rows)
            difference_b = changed_bv[:, tokens[0]] - changed_bv[:, tokens[1]]
            by_layer[key][first : first + rows] = full - difference_b
            done += rows
            if progress is not None:
                progress(done, total)
    names = [choice_name(rerun.tokenizer, token, outcome) for token in tokens]
    prefix = tuple(rerun.text_ids[: None if at is None else at + 1].tolist())
    choice = Choice(names[0], names[1], tokens, prefix)
    to = "zero" if means is None else "mean"
    return Effects(choice, full, by_layer, to=to, where=rerun.where(at))


def choose_tokens(
    tokenizer: Any,
    logits_v: NDArray[np.float64],
    of: str | int | None,
    against: str | int | None,
    outcome: Outcome | None = None,
) -> tuple[int, int]:
    """Ids of two tokens or labels; the likeliest, and the likeliest other, where none is given."""
    order = np.argsort(-logits_v, kind="stable")
    if outcome is not None and outcome.kind in (LABEL, TOKEN_LABELS):
        of, against = (None if x is None else label_id(outcome, x) for x in (of, against))
    else:
        of, against = _spelt_alike(tokenizer, logits_v, of, against)
    one = int(order[0]) if of is None else token_id(tokenizer, logits_v, of)
    rival = int(next(x for x in order if x != one))
    other = rival if against is None else token_id(tokenizer, logits_v, against)
    if one == other:
        raise ArgumentError(
            f"{of!r} and {against!r} must begin with different tokens, but both begin with "
            f"{token_name(tokenizer, one)!r}: compare it with another word."
        )
    return one, other


def _spelt_alike(
    tokenizer: Any, logits_v: NDArray[np.float64], of: str | int | None, against: str | int | None
) -> tuple[str | int | None, str | int | None]:
    """Two words with a blank before both, where one has it or where that is the likelier."""
    if not isinstance(of, str) or not isinstance(against, str) or tokenizer is None:
        return of, against
    plain = [word.strip() for word in (of, against)]
    pairs = [plain, [f" {word}" for word in plain]]
    if any(word.startswith(" ") for word in (of, against)):
        pairs = pairs[1:]
    likeliest = [
        max((logits_v[x] for word in pair for x in _first_tokens(tokenizer, word)), default=-np.inf)
        for pair in pairs
    ]
    best = pairs[int(np.argmax(likeliest))]
    return best[0], best[1]


def _first_tokens(tokenizer: Any, text: str) -> list[int]:
    """The token that a text begins with, if the tokenizer knows it."""
    ids = tokenizer.encode(text, add_special_tokens=False)[:1]
    return [int(x) for x in ids if x != getattr(tokenizer, "unk_token_id", None)]


def token_id(tokenizer: Any, logits_v: NDArray[np.float64], word: str | int) -> int:
    """The token that a word begins with, with or without a blank before it: the likelier one."""
    if isinstance(word, int | np.integer):
        if not 0 <= word < len(logits_v):
            raise ArgumentError(f"a token must be 0 to {len(logits_v) - 1}, got {word!r}.")
        return int(word)
    if tokenizer is None:
        raise ArgumentError(
            f"{word!r} needs a tokenizer to be a token: give watch the model's, or its number."
        )
    spellings = (word,) if word.startswith(" ") else (word, f" {word}")
    candidates = [x for spelling in spellings for x in _first_tokens(tokenizer, spelling)]
    if not candidates:
        raise ArgumentError(f"the tokenizer has no token for {word!r}: choose another word.")
    return int(max(candidates, key=lambda token: logits_v[token]))


def choice_name(tokenizer: Any, token: int, outcome: Outcome) -> str:
    """A token as it is written, or the name of a label."""
    if outcome.kind in (LABEL, TOKEN_LABELS):
        return outcome.labels.get(token, str(token))
    return token_name(tokenizer, token)


def decoded_text(tokenizer: Any, ids: Any) -> str:
    """Tokens as text, or their numbers where there is no tokenizer."""
    if tokenizer is None:
        return " ".join(map(str, ids.tolist()))
    return str(tokenizer.decode(ids, skip_special_tokens=True))
