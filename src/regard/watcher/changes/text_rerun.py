"""The text that a watched model read, run once more with something changed."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.watcher.capture.runs import LayerKey
from regard.watcher.changes.model_changes import AttentionProbe, ModelChange

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.interface import InterfaceSource as Recorder
    from regard.watcher.seen import Seen

# Relative to the largest log-sum-exp: a run with a cache adds in another order than one without.
SAME = {"float64": 1e-5, "float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}


@dataclass
class TextRerun:
    """One sentence of a block as tokens, and the model that read it.

    The changes of the block act in every run. ``heads`` are the numbers of heads by layer.
    """

    seen: Seen = field(repr=False)
    recorder: Recorder = field(repr=False)
    ids: dict[str, NDArray[np.int64]] = field(repr=False)
    heads: dict[LayerKey, int] = field(default_factory=dict)
    logits: torch.Tensor | None = field(default=None, repr=False)
    paths: dict[LayerKey, str] = field(default_factory=dict, repr=False)
    shares_layers: bool = True

    @classmethod
    def of(cls, seen: Seen, recorder: Recorder) -> TextRerun:
        """The text of one sentence, run once and compared with what was seen."""
        rerun = cls(seen, recorder, _ids(seen))
        rerun._first_run()
        return rerun

    @property
    def model(self) -> Any:
        """The model of transformers."""
        return self.recorder.numbering.model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the block; None where it has none."""
        return self.seen._source.tokenizer

    @property
    def text_ids(self) -> NDArray[np.int64]:
        """The tokens whose next ones the model predicts."""
        return self.ids.get("decoder_input_ids", self.ids["input_ids"])

    def run(
        self,
        *changes: ModelChange,
        rows: int = 1,
        keywords: dict[str, Any] | None = None,
        **options: Any,
    ) -> tuple[Any, Seen]:
        """Output of the model for ``rows`` copies of the text, and what was seen with options.

        ``keywords`` are further arguments of the model.
        """
        import torch

        from regard.watcher.watch import watch

        device = next(self.model.parameters()).device
        inputs = {
            name: torch.from_numpy(np.tile(ids, (rows, 1))).to(device)
            for name, ids in self.ids.items()
        }
        before = () if self.recorder.intervention is None else self.recorder.intervention.changes
        watching = watch(self.model, tokenizer=self.tokenizer, **{"layers": (), **options})
        with torch.no_grad(), watching.changed(*before, *changes) as seen:
            output = self.model(**inputs, **_without_cache(self.model), **(keywords or {}))
        return output, seen

    def logits_of(
        self, *changes: ModelChange, rows: int = 1, keywords: dict[str, Any] | None = None
    ) -> torch.Tensor:
        """Logits (b, t, v) of the text with changes."""
        output = self.run(*changes, rows=rows, keywords=keywords)[0]
        logits: torch.Tensor | None = getattr(output, "logits", None)
        if logits is None:
            raise NotAskedError(
                f"{type(self.model).__name__} has no logits: take a class with a language-model "
                "head."
            )
        return logits

    def logits_at(self, at: int, *changes: ModelChange, rows: int = 1) -> NDArray[np.float64]:
        """Logits (b, v) after one token; a model that can computes no others."""
        import torch

        if "logits_to_keep" not in inspect.signature(self.model.forward).parameters:
            logits_btv = self.logits_of(*changes, rows=rows)
            return np.asarray(logits_btv[:, at].double().cpu().numpy())
        device = next(self.model.parameters()).device
        keywords = {"logits_to_keep": torch.tensor([at], device=device)}
        logits_btv = self.logits_of(*changes, rows=rows, keywords=keywords)
        return np.asarray(logits_btv[:, 0].double().cpu().numpy())

    def logits_from(
        self,
        layer: LayerKey,
        at: int,
        expected_v: NDArray[np.float64],
        change: ModelChange,
        rows: int,
    ) -> NDArray[np.float64]:
        """``logits_at`` for a change of one layer: what comes before is computed for one row.

        One more row is not changed; where its logits are not the expected ones, as in a model
        whose layers mind the number of rows, all rows run through all layers.
        """
        block = self._block(layer)
        if block is None:
            return self.logits_at(at, change, rows=rows)
        hook = block.register_forward_pre_hook(_repeated(rows + 1), with_kwargs=True)
        try:
            logits_bv = self.logits_at(at, change)
        except (RuntimeError, ValueError, IndexError):
            logits_bv = np.zeros((0, len(expected_v)))
        finally:
            hook.remove()
        if len(logits_bv) == rows + 1:
            allowed = self._allowed(expected_v)
            if np.abs(logits_bv[-1] - expected_v).max() <= allowed:
                return np.asarray(logits_bv[:-1])
        self.shares_layers = False
        return self.logits_at(at, change, rows=rows)

    def _block(self, layer: LayerKey) -> Any:
        """The block of a layer in the list of blocks; None where rows cannot be repeated there.

        Changes of the block that name words need the tokens of every row.
        """
        import torch

        path = self.paths.get(layer, "#")
        one_part = len({key.part for key in self.heads}) == 1
        if not self.shares_layers or self.recorder.intervention is not None or not one_part:
            return None
        module = self.model
        for name in [] if "#" in path else path.split("."):
            inside = isinstance(module, torch.nn.ModuleList)
            module = getattr(module, name)
            if inside:
                return module
        return None

    def _allowed(self, values: NDArray[np.float64]) -> float:
        """The largest difference of two runs that is rounding."""
        dtype = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        return SAME[dtype] * max(1.0, float(np.abs(values).max()))

    def _first_run(self) -> None:
        """Raise where the tokens alone do not give the run that was seen."""
        last = max(self.seen.names, key=lambda x: x.layer)
        output, again = self.run(AttentionProbe(), layers=[last.layer], top=0, map=0)
        recorder = again._model_recorder()
        intervention = recorder.intervention
        self.paths = {key: path for path, key in recorder.paths.items()}
        self.heads = {} if intervention is None else dict(sorted(intervention.heads.items()))
        self.logits = getattr(output, "logits", None)
        one, other = (
            np.asarray(x[last.part, last.layer].logsumexp, np.float64) for x in (self.seen, again)
        )
        allowed = self._allowed(one)
        if one.shape != other[..., -one.shape[-1] :].shape or not (
            np.abs(one - other[..., -one.shape[-1] :]).max() <= allowed
        ):
            raise BackendError(
                f"the same run needs more than its tokens: run again from them, {last} attends "
                "otherwise. The model was given other inputs too (images, token types, positions, "
                "packed texts), or its parameters have changed."
            )


def _repeated(rows: int) -> Any:
    """A hook that gives a block its vectors once for each of so many rows."""

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
    for part, some in tokens.items():
        own = some[sentence] if sentence < len(some) else None
        if part not in names or own is None or (own < 0).any():
            raise ArgumentError(
                f"a second run needs the tokens of the text, but those of {part} are not known: "
                "call the model with input_ids, from the beginning of the text."
            )
        ids[names[part]] = own
    return ids


def _without_cache(model: Any) -> dict[str, bool]:
    return {"use_cache": False} if hasattr(model.config, "use_cache") else {}
