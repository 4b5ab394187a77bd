"""The text that a watched model read, run once more with something changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import ArgumentError, BackendError, NotAskedError
from regard.watcher.forward_run import LayerKey
from regard.watcher.model_changes import AttentionProbe, ModelChange

if TYPE_CHECKING:
    import torch

    from regard.watcher.recorder import Recorder
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
        return self.seen._source.tokenizer  # type: ignore[attr-defined]

    @property
    def text_ids(self) -> NDArray[np.int64]:
        """The tokens whose next ones the model predicts."""
        return self.ids.get("decoder_input_ids", self.ids["input_ids"])

    def run(self, *changes: ModelChange, rows: int = 1, **options: Any) -> tuple[Any, Seen]:
        """Output of the model for ``rows`` copies of the text, and what was seen with options."""
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
            output = self.model(**inputs, **_without_cache(self.model))
        return output, seen

    def logits_of(self, *changes: ModelChange, rows: int = 1) -> torch.Tensor:
        """Logits (b, t, v) of the text with changes."""
        logits: torch.Tensor | None = getattr(self.run(*changes, rows=rows)[0], "logits", None)
        if logits is None:
            raise NotAskedError(
                f"{type(self.model).__name__} has no logits: take a class with a language-model "
                "head."
            )
        return logits

    def _first_run(self) -> None:
        """Raise where the tokens alone do not give the run that was seen."""
        last = max(self.seen.names, key=lambda x: x.layer)
        output, again = self.run(AttentionProbe(), layers=[last.layer], top=0, map=0)
        intervention = again._model_recorder().intervention
        self.heads = {} if intervention is None else dict(sorted(intervention.heads.items()))
        self.logits = getattr(output, "logits", None)
        one, other = (
            np.asarray(x[last.part, last.layer].logsumexp, np.float64) for x in (self.seen, again)
        )
        dtype = str(next(self.model.parameters()).dtype).removeprefix("torch.")
        allowed = SAME[dtype] * max(1.0, float(np.abs(one).max()))
        if one.shape != other[..., -one.shape[-1] :].shape or not (
            np.abs(one - other[..., -one.shape[-1] :]).max() <= allowed
        ):
            raise BackendError(
                f"the same run needs more than its tokens: run again from them, {last} attends "
                "otherwise. The model was given other inputs too (images, token types, positions, "
                "packed texts), or its parameters have changed."
            )


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
