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
from regard.experiments.changes import Change
from regard.watcher.capture.modules import attach_hook, replaced_attribute
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.intervention_call import Probe
from regard.watcher.options import Options

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.interface import InterfaceSource
    from regard.watcher.capture.operators import OperatorSource
    from regard.watcher.seen import Seen
    from regard.watcher.watch import Watching

# Relative to the largest log-sum-exp: a run with a cache adds in another order than one without.
SAME_RUN_TOLERANCE = {"float64": 1e-5, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}
NO_MODEL = "an experiment needs the model: a pickled one has only its numbers."


@dataclass
class WatchedRun:
    """One run of a watched model: ``before`` or ``after`` of an experiment.

    Attributes
    ----------
    logits : torch.Tensor or None
        (b, t, v) of the first forward of the text; None for a model without logits.
    sequences : torch.Tensor or None
        The tokens that ``generate`` gave.
    seen : Seen or None
        The attention of the run, where it was watched.
    """

    logits: torch.Tensor | None = field(default=None, repr=False)
    sequences: torch.Tensor | None = field(default=None, repr=False)
    seen: Seen | None = field(default=None, repr=False)
    capture: RunCapture | None = field(default=None, repr=False)
    block: Watching | None = field(default=None, repr=False)
    tokenizer: Any = field(default=None, repr=False)
    last: tuple[int, ...] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # A pickled run has its numbers, not the model: it cannot be run again.
        last = None if self.logits is None else tuple(self.last_positions)
        return {**vars(self), "seen": None, "capture": None, "block": None, "last": last}

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
    def last_positions(self) -> Sequence[int]:
        """Position of the last real token of each sentence, by the attention mask."""
        if self.last is not None:
            return self.last
        assert self.logits is not None
        sentences, tokens = self.logits.shape[:2]
        mask = None if self.capture is None else self.capture.keywords.get("attention_mask")
        if mask is None or mask.ndim != 2 or mask.shape[1] != tokens:
            return [tokens - 1] * sentences
        return [tokens - 1 - x for x in mask.flip(1).argmax(1).tolist()]


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
            if self.result.logits is None:
                self.result.logits = _logits(output)
            return
        self.name, self.arguments, self.keywords = "forward", arguments, dict(keywords)
        self.result = WatchedRun(_logits(output))

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
            if self.name == "generate":
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
    logits: torch.Tensor | None = field(default=None, repr=False)
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
        return WatchedRun(self.logits, None, self.seen, capture, block, self.tokenizer)

    def inputs(self, rows: int = 1) -> dict[str, Any]:
        import torch

        device = next(self.model.parameters()).device
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
        output = self.run(*changes, rows=rows, keywords=keywords, gradients=gradients)[0]
        logits = output_logits(output)
        if logits is None:
            raise NotAskedError(
                f"{type(self.model).__name__} has no logits: take a class with a language-model "
                "head."
            )
        return logits

    def logits_at(self, at: int, *changes: Change, rows: int = 1) -> NDArray[np.float64]:
        """Logits (b, v) after one token; a model that can computes no others."""
        import torch

        if "logits_to_keep" not in inspect.signature(self.model.forward).parameters:
            logits_btv = self.run_logits(*changes, rows=rows)
            return np.asarray(logits_btv[:, at].double().cpu().numpy())
        device = next(self.model.parameters()).device
        keywords = {"logits_to_keep": torch.tensor([at], device=device)}
        logits_btv = self.run_logits(*changes, rows=rows, keywords=keywords)
        return np.asarray(logits_btv[:, 0].double().cpu().numpy())

    def logits_from(
        self, layer: LayerKey, at: int, expected_v: NDArray[np.float64], change: Change, rows: int
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
        dtype = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        return SAME_RUN_TOLERANCE[dtype] * max(1.0, float(np.abs(values).max()))

    def _first_run(self) -> None:
        """Raise where the tokens alone do not give the run that was seen."""
        last = max(self.seen.names, key=lambda x: x.layer)
        output, again = self.run(Probe(), layers=[last.layer])
        source = again._model_recorder()
        self.paths = {key: path for path, key in source.paths.items()}
        if source.intervention is not None:
            self.heads = dict(sorted(source.intervention.heads.items()))
        self.logits = output_logits(output)
        one, other = (
            np.asarray(x[last.part, last.layer].logsumexp, np.float64) for x in (self.seen, again)
        )
        other = other[..., -one.shape[-1] :]
        if one.shape != other.shape or not np.abs(one - other).max() <= self._tolerance(one):
            raise BackendError(
                f"the run cannot be repeated from its tokens alone: {last} attends otherwise in "
                "the second run. The model was given other inputs too (images, token types, "
                "positions, packed texts), or its parameters have changed."
            )


def output_logits(output: Any) -> torch.Tensor | None:
    """The logits (b, t, v) of an output: by name, or the first tensor of a plain module's."""
    if hasattr(output, "logits") or hasattr(output, "last_hidden_state"):
        return getattr(output, "logits", None)
    several = output if isinstance(output, tuple | list) else (output,)
    return next((x for x in several if getattr(x, "ndim", 0) == 3), None)


def _logits(output: Any) -> torch.Tensor | None:
    logits = output_logits(output)
    return None if logits is None else logits.detach()


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
            raise ArgumentError(
                f"a second run needs the tokens of the text, but those of {part} are not known: "
                "call the model with input_ids, from the beginning of the text."
            )
        ids[names[part]] = own
    return ids
