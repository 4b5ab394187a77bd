"""A run with images or sound made once more, for numbers that the first run did not record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import BackendError, NotAskedError
from regard.typing import Array
from regard.watcher.capture.forward_run import ForwardRun, LayerKey
from regard.watcher.changes.text_rerun import SAME
from regard.watcher.changes.text_sources import written_norms
from regard.watcher.media.media_inputs import ENCODED, IMAGES, MediaCall

if TYPE_CHECKING:
    from regard.watcher.capture.model_call import ModelCall
    from regard.watcher.capture.segments import Segment
    from regard.watcher.media.image_attention import Norms
    from regard.watcher.seen import Seen

# Arguments of one step of a text; a run of all of it has none of them.
STEPS = ("past_key_values", "position_ids", "cache_position", "logits_to_keep", "inputs_embeds",
         "output_attentions", "output_hidden_states", "return_dict", "use_cache",
         ENCODED)  # fmt: skip


def value_norms_of(seen: Seen, layers: list[LayerKey]) -> Norms:
    """|v_j W_O| of every key of some layers, from a second run that is compared with the first."""
    recorder = seen._model_recorder()
    run = seen._source._run  # type: ignore[attr-defined]
    norms: dict[tuple[LayerKey, int], Array] = {}

    def note(call: ModelCall, layer: LayerKey, segments: list[Segment]) -> None:
        norms_bhk = written_norms(call, layer).cpu().numpy().astype(np.float64)
        for segment in segments:
            for sentence in segment.sentences:
                own_hk = norms_bhk[sentence, :, segment.columns]
                before_hk = norms.get((layer, sentence), own_hk[:, :0])
                norms[layer, sentence] = np.concatenate([before_hk, own_hk], axis=-1)

    again = _second_run(recorder.numbering.model, run, {key.layer for key in layers}, note)
    for key in layers:
        _check_same(seen, again, key)
    return lambda layer, sentence: norms[layer, sentence]


def _second_run(model: Any, run: ForwardRun, layers: set[int], note: Any) -> Seen:
    import torch

    from regard.watcher.watch import watch

    if not run.media:
        raise NotAskedError("a second run needs the images of the first, but none were given.")
    call = max(run.media, key=lambda x: sum(1 for _ in x.module.modules()))
    arguments = _arguments(call, run)
    with torch.no_grad(), watch(model, layers=sorted(layers), top=0, map=0) as again:
        again.recorder.probe = note
        call.module(**arguments)
    return again


def _arguments(call: MediaCall, run: ForwardRun) -> dict[str, Any]:
    """The arguments of the first run; of a text that was generated, all its tokens at once."""
    import torch

    arguments = {name: x for name, x in call.arguments.items() if name not in STEPS}
    if call.has(ENCODED):  # generate ran the encoder by itself
        encoder = next((x for x in run.media if x.has(*IMAGES)), None)
        arguments |= {} if encoder is None else encoder.arguments
    given = arguments.get("input_ids")
    texts = [ids for some in run.tokens.values() for ids in some if ids is not None]
    if given is None or not texts or max(map(len, texts)) <= given.shape[1]:
        return arguments
    if len(given) > 1:
        raise BackendError(
            "a second run of several texts that were generated together is not possible: watch "
            "them one by one."
        )
    ids = torch.from_numpy(max(texts, key=len))[None].to(given.device)
    for name, value in arguments.items():
        if getattr(value, "shape", None) == given.shape:  # a mask, or types of tokens
            more = value.new_full((1, ids.shape[1] - given.shape[1]), int(name == "attention_mask"))
            arguments[name] = torch.cat([value, more], dim=1)
    return arguments | {"input_ids": ids}


def _check_same(seen: Seen, again: Seen, key: LayerKey) -> None:
    """Raise where the second run attends otherwise than the first."""
    for sentence in range(len(seen._source._run.records[key])):  # type: ignore[attr-defined]
        one, other = (
            np.asarray(x._source.layer(key, sentence).logsumexp, np.float64) for x in (seen, again)
        )
        dtype = str(next(seen.recorder.numbering.model.parameters()).dtype).removeprefix("torch.")
        allowed = SAME[dtype] * max(1.0, float(np.abs(one).max()))
        if one.shape != other.shape or not np.abs(one - other).max() <= allowed:
            raise BackendError(
                f"run again with the same images, {key} attends otherwise: the model's parameters "
                "have changed, or it was given more than one forward shows."
            )
