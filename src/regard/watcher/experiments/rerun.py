"""Runs of a watched model: what went in and came out, and the same run once more."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.experiments.changes import REGENERATE, Change
from regard.watcher.capture.modules import attach_hook, replaced_attribute
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.intervention_call import Probe
from regard.watcher.experiments.outcome import (
    CHOICES,
    LABEL,
    MASKED,
    NEXT,
    SPAN,
    Outcome,
    default_positions,
    need_choices,
    scores_of,
)
from regard.watcher.options import Options

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.interface import InterfaceSource
    from regard.watcher.capture.operators import OperatorSource
    from regard.watcher.seen import Seen
    from regard.watcher.watch import Watching

# Relative to the largest log-sum-exp: a run with a cache adds in another order than one without.
SAME_RUN_TOLERANCE = {"float64": 1e-5, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}
AS_A_BLOCK = (
    "Make the change as a block, which needs no second run: with regard.watch(model).ablate(4, 7) "
    "as seen: model(...), and after it seen.outcome."
)
NO_MODEL = "an experiment needs the model: a pickled one has only its numbers."


@dataclass
class WatchedRun:
    """One run of a watched model: ``before`` or ``after`` of an experiment.

    Attributes
    ----------
    outcome : Outcome or None
        What the first forward of the text computed at its end.
    sequences : torch.Tensor or None
        The tokens that ``generate`` gave.
    seen : Seen or None
        The attention of the run, where it was watched.
    """

    outcome: Outcome | None = field(default=None, repr=False)
    sequences: torch.Tensor | None = field(default=None, repr=False)
    seen: Seen | None = field(default=None, repr=False)
    capture: RunCapture | None = field(default=None, repr=False)
    block: Watching | None = field(default=None, repr=False)
    tokenizer: Any = field(default=None, repr=False)
    kept_places: list[tuple[int, ...]] | None = field(default=None, repr=False)
    kept_given: int | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # A pickled run has its numbers, not the model: it cannot be run again.
        places = None if self.outcome is None else self.places
        kept = {"kept_places": places, "kept_given": self.given_tokens}
        return {**vars(self), "seen": None, "capture": None, "block": None, **kept}

    @property
    def logits(self) -> torch.Tensor | None:
        """Logits (b, t, v), or (b, v) of a text's label; None for a model without any."""
        chosen = self.outcome is not None and self.outcome.kind in CHOICES
        return self.outcome.values if self.outcome is not None and chosen else None

    def again(self, changes: Sequence[Change] = ()) -> WatchedRun:
        if self.capture is None or self.block is None:
            raise ArgumentError(NO_MODEL)
        block = self.block.changed(*changes)
        with block as seen:
            result = self.capture.again()
        return replace(
            result, seen=seen, capture=self.capture, block=self.block, tokenizer=self.tokenizer
        )

    @property
    def places(self) -> list[tuple[int, ...]]:
        """Tokens whose logits are looked at, of each sentence: see ``default_positions``."""
        if self.kept_places is not None:
            return self.kept_places
        assert self.outcome is not None
        ids = self._ids
        return [
            default_positions(
                self.outcome.kind,
                None if ids is None else ids[sentence].tolist(),
                self.tokenizer,
                real,
            )
            for sentence, real in enumerate(self._real)
        ]

    @property
    def _ids(self) -> torch.Tensor | None:
        """The tokens (b, t) that the outcome has values of; None where they are not known."""
        if self.capture is None or self.outcome is None:
            return None
        given = self.capture.keywords
        named = given.get("decoder_input_ids", given.get("input_ids"))
        ids = next(iter(self.capture.arguments), None) if named is None else named
        if ids is None or getattr(ids, "ndim", 0) != 2 or ids.is_floating_point():
            return None
        return ids if ids.shape == (len(self.outcome.values), self._tokens) else None

    @property
    def _tokens(self) -> int:
        assert self.outcome is not None
        values = self.outcome.values
        return int(values.shape[2] if self.outcome.kind == SPAN else values.shape[1])

    @property
    def given_tokens(self) -> int:
        """How many of the tokens of ``sequences`` the model was given, and did not write."""
        if self.kept_given is not None:
            return self.kept_given
        if self.capture is None or self.capture.name != "generate":
            return 0
        config = getattr(self.capture.model, "config", None)
        if getattr(config, "is_encoder_decoder", False):
            return 0
        first = next(iter(self.capture.arguments), None)
        ids: Any = self.capture.keywords.get("input_ids", first)
        return int(ids.shape[1]) if getattr(ids, "ndim", 0) == 2 else 0

    @property
    def read_what_was_written(self) -> bool:
        """Whether this run reads a text whose end the model wrote in the run before."""
        if self.seen is None or self.sequences is not None or self.seen.sentences > 1:
            return False
        given = self.seen.prompt_tokens()
        return given is not None and given < len(self.seen.texts()[0].tokens)

    @property
    def _real(self) -> list[range]:
        """Where each sentence's tokens are, by the attention mask."""
        assert self.outcome is not None
        sentences, tokens = len(self.outcome.values), self._tokens
        mask = None if self.capture is None else self.capture.keywords.get("attention_mask")
        if mask is None or mask.ndim != 2 or mask.shape[1] != tokens:
            return [range(tokens)] * sentences
        edges = zip(mask.argmax(1).tolist(), mask.flip(1).argmax(1).tolist(), strict=True)
        return [range(first, tokens - after) for first, after in edges]

    def text_between(self, sentence: int, start: int, stop: int) -> str:
        """Some tokens of a sentence as text, or their numbers."""
        ids = self._ids
        if ids is None or self.tokenizer is None:
            return f"tokens {start} to {stop - 1}"
        return str(self.tokenizer.decode(ids[sentence, start:stop]))

    def token_at(self, sentence: int, at: int) -> str:
        """One token as it is written, or its number."""
        ids = self._ids
        if ids is None:
            return str(at)
        return token_name(self.tokenizer, int(ids[sentence, at]))


def token_name(tokenizer: Any, token: int) -> str:
    """A token as it is written, or its number where there is no tokenizer."""
    if tokenizer is None:
        return str(token)
    return str(tokenizer.decode([token])) or str(tokenizer.convert_ids_to_tokens(token))


@dataclass
class RunCapture:
    """The last run inside a block: the arguments of ``model(...)`` or of ``model.generate(...)``.

    Arguments are references; the states of the random generators are those before
    ``generate``.
    """

    model: Any = field(repr=False)
    name: str = ""
    arguments: tuple[Any, ...] = field(default=(), repr=False)
    keywords: dict[str, Any] = field(default_factory=dict, repr=False)
    result: WatchedRun = field(default_factory=WatchedRun, repr=False)
    _state: Any = field(default=None, repr=False)
    _generating: bool = False

    @contextmanager
    def attached(self) -> Iterator[None]:
        with ExitStack() as cleanup:
            cleanup.callback(
                attach_hook(self.model, "forward", self._forward_ended, with_kwargs=True)
            )
            if hasattr(self.model, "generate"):
                own = self.model.generate
                generate = lambda *a, **k: self._generate(own, a, k)  # noqa: E731
                cleanup.enter_context(replaced_attribute(self.model, "generate", generate))
            yield

    def _forward_ended(
        self, model: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any
    ) -> None:
        if self._generating:
            if self.result.outcome is None:
                self.result.outcome = Outcome.from_output(self.model, output)
            return
        self.name, self.arguments, self.keywords = "forward", arguments, dict(keywords)
        self.result = WatchedRun(Outcome.from_output(self.model, output))

    def _generate(self, own: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        import torch

        self.name, self.arguments, self.keywords = "generate", arguments, dict(keywords)
        cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
        self.result, self._state = WatchedRun(), (torch.get_rng_state(), cuda)
        self._generating = True
        try:
            output = own(*arguments, **keywords)
        finally:
            self._generating = False
        self.result.sequences = getattr(output, "sequences", output)
        return output

    def again(self) -> WatchedRun:
        import torch

        if not self.name:
            raise NotAskedError("the model did not run: call it inside the block.")
        cache = self.keywords.get("past_key_values")
        if cache is not None and self.name == "forward":
            raise BackendError(
                "the same run needs the same start, but the model was given a cache, which has "
                "grown since: call the model with the text itself, or use generate."
            )
        second = RunCapture(self.model)
        with torch.no_grad(), torch.random.fork_rng(), second.attached():
            if self._state is not None:
                torch.set_rng_state(self._state[0])
                if self._state[1]:
                    torch.cuda.set_rng_state_all(self._state[1])
            call = self.model.generate if self.name == "generate" else self.model
            call(*self.arguments, **self.keywords)
        return second.result


@dataclass
class TextRerun:
    """One sentence of a block as tokens, and the model that read it.

    The changes of the block act in every run. ``heads`` are the numbers of heads by layer.
    """

    seen: Seen = field(repr=False)
    source: InterfaceSource | OperatorSource = field(repr=False)
    ids: dict[str, NDArray[np.int64]] = field(repr=False)
    heads: dict[LayerKey, int] = field(default_factory=dict)
    outcome: Outcome | None = field(default=None, repr=False)
    paths: dict[LayerKey, str] = field(default_factory=dict, repr=False)
    shares_layers: bool = True

    @classmethod
    def from_seen(cls, seen: Seen, source: InterfaceSource | OperatorSource) -> TextRerun:
        """The text of one sentence, run once and compared with what was seen."""
        rerun = cls(seen, source, _ids(seen))
        rerun._first_run()
        return rerun

    @property
    def model(self) -> Any:
        return self.source.model

    @property
    def tokenizer(self) -> Any:
        return self.seen._source.tokenizer

    @property
    def text_ids(self) -> NDArray[np.int64]:
        """The tokens whose next ones the model predicts."""
        return self.ids.get("decoder_input_ids", self.ids["input_ids"])

    @property
    def watched_run(self) -> WatchedRun:
        """The text as the run that an experiment begins with."""
        inputs, arguments = self.inputs(), ()
        if not hasattr(self.model, "config"):
            inputs, arguments = {}, tuple(inputs.values())
        capture = RunCapture(self.model, "forward", arguments, inputs)
        block = replace(self.source.block, model=self.model, progress=None)
        return WatchedRun(self.outcome, None, self.seen, capture, block, self.tokenizer)

    @property
    def regenerated(self) -> WatchedRun:
        """The text up to where the model went on, which it is asked to do again, with no chance."""
        given = self.seen.prompt_tokens(None if len(self.ids) < 2 else "decoder")
        more = 0 if given is None else len(self.text_ids) - given + 1  # the last one is not read
        if more < 2 or not hasattr(self.model, "generate"):
            raise ArgumentError(REGENERATE)
        inputs = self.inputs()
        inputs.pop("use_cache", None)
        own = "decoder_input_ids" if len(self.ids) > 1 else "input_ids"
        inputs[own] = inputs[own][:, :given]
        inputs |= {"max_new_tokens": more, "do_sample": False, "num_beams": 1}
        if own == "input_ids":
            inputs["attention_mask"] = inputs[own] * 0 + 1
        capture = RunCapture(self.model, "generate", (), inputs)
        block = replace(self.source.block, model=self.model, progress=None)
        return WatchedRun(capture=capture, block=block, tokenizer=self.tokenizer).again()

    def inputs(self, rows: int = 1) -> dict[str, Any]:
        import torch

        device = input_device(self.model)
        tensors = {
            name: torch.from_numpy(np.tile(ids, (rows, 1))).to(device)
            for name, ids in self.ids.items()
        }
        config = getattr(self.model, "config", None)
        return tensors | ({"use_cache": False} if hasattr(config, "use_cache") else {})

    def call(self, inputs: dict[str, Any]) -> Any:
        """The model on some inputs; a plain module takes its tokens first, by whatever name."""
        if hasattr(self.model, "config"):
            return self.model(**inputs)
        ids = inputs.pop("input_ids")
        return self.model(ids, *inputs.values())

    def run(
        self,
        *changes: Change,
        rows: int = 1,
        layers: Sequence[int] = (),
        keywords: dict[str, Any] | None = None,
        gradients: bool = False,
    ) -> tuple[Any, Seen]:
        """Output of the model for ``rows`` copies of the text, and what was seen of ``layers``.

        ``keywords`` are further arguments of the model.
        """
        import torch

        options = Options.from_arguments(layers, top=0, map=0)
        block = replace(self.source.block, model=self.model, options=options, progress=None)
        with torch.set_grad_enabled(gradients), block.changed(*changes) as seen:
            output = self.call(self.inputs(rows) | (keywords or {}))
        return output, seen

    def run_logits(
        self,
        *changes: Change,
        rows: int = 1,
        keywords: dict[str, Any] | None = None,
        gradients: bool = False,
    ) -> torch.Tensor:
        need_choices(self.outcome, self.model)
        logits: torch.Tensor = scores_of(
            self.run(*changes, rows=rows, keywords=keywords, gradients=gradients)[0]
        )
        return logits

    def place(self, position: int | None) -> int | None:
        """The token whose logits are compared; None for logits of the whole text."""
        outcome = need_choices(self.outcome, self.model)
        if outcome.kind == LABEL:
            if position is not None:
                raise ArgumentError(
                    f"{type(self.model).__name__} has one label for the whole text: leave out "
                    f"position, got {position!r}."
                )
            return None
        tokens = len(self.text_ids)
        if position is None:
            ids = self.text_ids.tolist()
            found = default_positions(outcome.kind, ids, self.tokenizer, range(tokens))
            return found[0] if outcome.kind == MASKED else found[-1]
        if not isinstance(position, int | np.integer) or not 0 <= position < tokens:
            raise ArgumentError(f"position must be 0 to {tokens - 1}, got {position!r}.")
        return int(position)

    def where(self, at: int | None) -> str:
        """In words where logits are compared."""
        kind = need_choices(self.outcome, self.model).kind
        return "for the text" if at is None else f"{'after' if kind == NEXT else 'at'} token {at}"

    def logits_at(self, at: int | None, *changes: Change, rows: int = 1) -> NDArray[np.float64]:
        """Logits (b, v) after or of one token; a model that can computes no others."""
        import torch

        keeps = "logits_to_keep" in inspect.signature(self.model.forward).parameters
        if at is None or not keeps:
            logits = self.run_logits(*changes, rows=rows)
            return np.asarray((logits if at is None else logits[:, at]).double().cpu().numpy())
        keywords = {"logits_to_keep": torch.tensor([at], device=input_device(self.model))}
        logits_btv = self.run_logits(*changes, rows=rows, keywords=keywords)
        return np.asarray(logits_btv[:, 0].double().cpu().numpy())

    def logits_from(
        self,
        layer: LayerKey,
        at: int | None,
        expected_v: NDArray[np.float64],
        change: Change,
        rows: int,
    ) -> NDArray[np.float64]:
        """``logits_at`` for a change of one layer: what comes before is computed for one row.

        One more row is not changed. Where its logits are not the expected ones, as in a model
        whose layers depend on the number of rows, all rows run through all layers.
        """
        module = self._repeatable_module(layer)
        if module is None:
            return self.logits_at(at, change, rows=rows)
        hook = module.register_forward_pre_hook(_repeat_rows(rows + 1), with_kwargs=True)
        try:
            logits_bv = self.logits_at(at, change)
        except (RuntimeError, ValueError, IndexError):
            logits_bv = np.zeros((0, len(expected_v)))
        finally:
            hook.remove()
        if len(logits_bv) == rows + 1:
            tolerance = self._tolerance(expected_v)
            if np.abs(logits_bv[-1] - expected_v).max() <= tolerance:
                return np.asarray(logits_bv[:-1])
        self.shares_layers = False
        return self.logits_at(at, change, rows=rows)

    def _repeatable_module(self, layer: LayerKey) -> Any:
        """The module of a layer in the list of layers; None where rows cannot be repeated there.

        Changes of the block that name words need the tokens of every row.
        """
        import torch

        path = self.paths.get(layer, "#")
        one_part = len({key.part for key in self.heads}) == 1
        if not self.shares_layers or self.source.intervention is not None or not one_part:
            return None
        module = self.model
        for name in [] if "#" in path else path.split("."):
            inside = isinstance(module, torch.nn.ModuleList)
            module = getattr(module, name)
            if inside:
                return module
        return None

    def _tolerance(self, values: NDArray[np.float64]) -> float:
        """The largest difference of two runs that is rounding."""
        return SAME_RUN_TOLERANCE[float_dtype(self.model)] * max(1.0, float(np.abs(values).max()))

    def _first_run(self) -> None:
        """Raise where the tokens alone do not give the run that was seen."""
        last = max(self.seen.names, key=lambda x: x.layer)
        output, again = self.run(Probe(), layers=[last.layer])
        source = again._model_recorder()
        self.paths = {key: path for path, key in source.paths.items()}
        if source.intervention is not None:
            self.heads = dict(sorted(source.intervention.heads.items()))
        self.outcome = Outcome.from_output(self.model, output)
        one, other = (
            np.asarray(x[last.part, last.layer].logsumexp, np.float64) for x in (self.seen, again)
        )
        other = other[..., -one.shape[-1] :]
        if one.shape != other.shape or not np.abs(one - other).max() <= self._tolerance(one):
            raise BackendError(
                f"the run cannot be repeated from its tokens alone: {last} attends otherwise in "
                "the second run. The model was given other inputs too (images, token types, "
                f"positions, packed texts), or its parameters have changed. {AS_A_BLOCK}"
            )


def input_device(model: Any) -> Any:
    """The device of what goes into a model; offloaded parameters are on none between calls."""
    import torch

    devices = (x.device for x in model.parameters() if x.device.type != "meta")
    return next(devices, torch.device("cpu"))


def float_dtype(model: Any) -> str:
    """The name of the dtype that a model computes in; packed weights have another."""
    dtypes = (str(x.dtype).removeprefix("torch.") for x in model.parameters())
    return next((x for x in dtypes if x in SAME_RUN_TOLERANCE), "float32")


def _repeat_rows(rows: int) -> Any:
    """A hook that gives a module its vectors once for each row."""

    def hook(module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if arguments:
            first, *others = arguments
            return (first.expand(rows, *first.shape[1:]), *others), keywords
        vectors = keywords["hidden_states"]
        return (), keywords | {"hidden_states": vectors.expand(rows, *vectors.shape[1:])}

    return hook


def _ids(seen: Seen) -> dict[str, NDArray[np.int64]]:
    """The tokens of one sentence, as the model takes them."""
    source, sentence = seen._source, seen._chosen
    tokens = source._run.tokens  # type: ignore[attr-defined]
    names = {"encoder": "input_ids", "decoder": "decoder_input_ids"}
    if len(tokens) < 2:
        names = dict.fromkeys(tokens, "input_ids")
    ids = {}
    for part, of_sentences in tokens.items():
        own = of_sentences[sentence] if sentence < len(of_sentences) else None
        if part not in names or own is None or (own < 0).any():
            unknown = "are not known" if own is None else "are not all known (images have none)"
            raise ArgumentError(
                f"a second run needs the tokens of the text, but those of {part} {unknown}. "
                f"{AS_A_BLOCK}"
            )
        ids[names[part]] = own
    return ids
