"""The time axis of a model of sound: seconds of each position of its encoder."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, NotAskedError
from regard.text.words import TokenizedText
from regard.typing import Array
from regard.watcher.media.media_inputs import SOUND, MediaCall

if TYPE_CHECKING:
    from regard.watcher.capture.forward_run import ForwardRun

SAY = "say it: seconds=0.02 for every position of the encoder"


def sound_call(run: ForwardRun) -> MediaCall | None:
    """The call of the module that took the sound of a run."""
    return next((call for call in run.media if call.shape(SOUND)), None)


def seconds_of_position(run: ForwardRun, processor: Any, positions: int) -> float:
    """Seconds between two positions of the encoder, from the feature extractor and the config.

    Features (b, mel, frames) of the extractor's hop become fewer positions by strides that their
    numbers tell; samples by the strides of the model's convolutions.
    """
    call = sound_call(run)
    if call is None:
        raise NotAskedError(
            "no sound was seen: call the model with input_features or input_values."
        )
    extractor = getattr(processor, "feature_extractor", processor)
    rate = getattr(extractor, "sampling_rate", None)
    if not rate:
        raise NotAskedError(
            "seconds need the rate of the samples, which the model's processor knows: give it to "
            f"watch, as in watch(model, processor=processor), or {SAY}."
        )
    stride = getattr(call.config, "conv_stride", None)
    if call.has("input_values") and stride is not None:
        return float(prod(stride)) / float(rate)
    frames, hop = _frames(call), getattr(extractor, "hop_length", None)
    if hop and frames and frames % positions == 0:
        return (frames // positions) * float(hop) / float(rate)
    raise ArgumentError(
        f"the seconds of {positions} positions of {type(call.module).__name__} are not known from "
        f"its config and its feature extractor: {SAY}."
    )


def _frames(call: MediaCall) -> int | None:
    """The number of frames of features; Whisper has them last, others before the mel bands."""
    shape = call.shape(("input_features",))
    if shape is None or len(shape) != 3:
        return None
    bands = getattr(call.config, "num_mel_bins", None)
    return shape[2] if shape[1] == bands else shape[1]


def real_positions(run: ForwardRun, positions: int, sentence: int) -> int:
    """Positions of the encoder that hear sound and no padding, where a mask of frames says so."""
    frames = {_frames(call) for call in run.media}
    masks = [call.arguments["attention_mask"] for call in run.media if call.has("attention_mask")]
    mask = next((x for x in masks if x.ndim == 2 and x.shape[1] in frames), None)
    if mask is None or sentence >= len(mask):
        return positions
    real = int(mask[sentence].sum())
    return max(1, min(positions, -(-real * positions // int(mask.shape[1]))))


def names_of_times(seconds: float, positions: int) -> TokenizedText:
    """Positions of the encoder named by the seconds at which they begin.

    >>> names_of_times(0.02, 3).tokens
    ('0.00 s', '0.02 s', '0.04 s')
    """
    names = tuple(f"{seconds * position:.2f} s" for position in range(positions))
    return TokenizedText(names, names, names, tuple(range(positions)))


def starts_of(seconds: float, positions: int) -> Array:
    """The second at which each position begins."""
    return np.arange(positions) * seconds
