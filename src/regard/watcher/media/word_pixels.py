"""Where an image that is being made looks at a word: the picture of a diffusion model's prompt.

The queries of a diffusion model are patches of its image. A UNet looks at the prompt in layers of
cross-attention, of several sizes; a transformer (SD3, Flux) reads prompt and image together, as one
sequence of keys. A word's picture is what each patch gives to the word's tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, NotAskedError
from regard.experiments.selection import word_tokens
from regard.text.words import TokenizedText, tokenized_ids
from regard.typing import Array
from regard.watcher.capture.runs import ForwardRun, LayerKey
from regard.watcher.layer import LayerObservation
from regard.watcher.media.image_grids import GRID_HINT, Size
from regard.watcher.media.inputs import LATENTS, PATCH_POSITIONS, MediaCall

if TYPE_CHECKING:
    from regard.watcher.live_layers import LayerSource

# Whether the prompt stands after the image in layers that read both, by the name of the model.
PROMPT_LAST = {"SD3": True, "Flux": False, "Chroma": False, "QwenImage": False}
Span = tuple[int, int]


@dataclass(frozen=True)
class PixelLayer:
    """A layer whose queries are patches, (rows, columns), and the keys that are the prompt."""

    size: Size
    first_query: int
    prompt: Span

    def weights(self, layer: LayerObservation, tokens: Sequence[int]) -> Array:
        """What every head gives to some tokens of the prompt, patch by patch: (h, r, c)."""
        rows, columns = self.size
        queries = slice(self.first_query, self.first_query + rows * columns)
        keys = [self.prompt[0] + token for token in tokens]
        low, high = min(keys), max(keys) + 1
        weights_hqk = np.asarray(layer.tile(queries, slice(low, high)), np.float64)
        sums_hq = weights_hqk[..., [key - low for key in keys]].sum(axis=-1)
        return np.asarray(sums_hq.reshape(-1, rows, columns))


def diffusion_call(run: ForwardRun) -> MediaCall | None:
    """The forward of a diffusion model, whose image is among its arguments."""
    return next((call for call in run.media if call.has(*LATENTS, PATCH_POSITIONS)), None)


def pixel_layer(
    layer: LayerObservation, call: MediaCall | None, size: Size | None, prompt: Span | None
) -> PixelLayer:
    """The patches of a layer; from the model's arguments, or as the caller says."""
    if layer.queries != layer.keys:
        return PixelLayer(_shape(layer.queries, call, size, layer.name), 0, (0, layer.keys))
    if size is None:
        size = _image_size(call, layer.name)
    patches, keys = size[0] * size[1], layer.keys
    if not 0 < patches < keys:
        raise ArgumentError(
            f"grid must have fewer cells than {layer.name} has keys, which are {keys} patches and "
            f"tokens, got {size[0]} x {size[1]}."
        )
    if prompt is None:
        last = next((x for name, x in PROMPT_LAST.items() if name in _name(call)), None)
        if last is None:
            raise ArgumentError(
                f"where the prompt stands among the {keys} keys of {layer.name} is not known: say "
                f"prompt=(0, {keys - patches}) or prompt=({patches}, {keys})."
            )
        prompt = (patches, keys) if last else (0, keys - patches)
    first = 0 if prompt[0] >= patches else prompt[1]
    if not 0 <= prompt[0] < prompt[1] <= keys or first + patches > keys:
        raise ArgumentError(
            f"prompt must be (start, stop) of {keys - patches} of the {keys} keys of {layer.name}, "
            f"got {prompt!r}."
        )
    return PixelLayer(size, first, prompt)


def _name(call: MediaCall | None) -> str:
    return "" if call is None else type(call.module).__name__


def _image_size(call: MediaCall | None, name: str) -> Size:
    """Rows and columns of patches, from their positions or from the latents and a patch's size."""
    if call is not None and call.has(PATCH_POSITIONS):
        positions = call.arguments[PATCH_POSITIONS]
        high, wide = (
            int(x) + 1 for x in positions.reshape(-1, positions.shape[-1])[:, -2:].amax(0)
        )
        return high, wide
    shape = None if call is None else call.shape(LATENTS)
    patch = getattr(getattr(getattr(call, "module", None), "config", None), "patch_size", None)
    if shape is None or not isinstance(patch, int):
        raise NotAskedError(f"the grid of {name} is not known: {GRID_HINT}.")
    return shape[-2] // patch, shape[-1] // patch


def _shape(queries: int, call: MediaCall | None, size: Size | None, name: str) -> Size:
    """Rows and columns of so many queries, in the proportion of the image or of a grid."""
    known = (call.shape(LATENTS) if call is not None else None) if size is None else size
    if known is None:
        raise NotAskedError(f"the grid of {name} is not known: {GRID_HINT}.")
    high, wide = known[-2:]
    rows = isqrt(queries * high // wide)
    if rows < 1 or queries % rows or rows * wide != queries // rows * high:
        raise ArgumentError(
            f"{name} has {queries} queries, which are no grid in the proportion {high} x {wide}: "
            f"{GRID_HINT}."
        )
    return rows, queries // rows


def finest(pictures: Sequence[Array]) -> Array:
    """The mean of pictures (r, c) of several sizes, each cell repeated to the finest of them.

    >>> finest([np.array([[1.0]]), np.array([[0.0, 0.5]]).repeat(2, axis=0)])
    array([[0.5 , 0.75],
           [0.5 , 0.75]])
    """
    rows, columns = (max(x.shape[axis] for x in pictures) for axis in (0, 1))
    full = []
    for one in pictures:
        down, across = rows / one.shape[0], columns / one.shape[1]
        if down != across or not float(down).is_integer():
            sizes = sorted({x.shape for x in pictures})
            listed = ", ".join(f"{high} x {wide}" for high, wide in sizes)
            raise ArgumentError(f"the layers have grids of {listed} patches: say which layer.")
        full.append(one.repeat(int(down), axis=0).repeat(int(across), axis=1))
    return np.asarray(np.mean(full, axis=0))


def prompt_text(tokenizer: Any, given: str | None, length: int) -> TokenizedText:
    """A prompt as so many tokens, padded; their numbers where it is not known."""
    if given is None or tokenizer is None:
        return tokenized_ids(None, None, length)
    ids = tokenizer(given)["input_ids"][:length]
    padding = [tokenizer.pad_token_id or 0] * (length - len(ids))
    return tokenized_ids(tokenizer, [*ids, *padding], length)


def prompt_tokens(text: TokenizedText, word: str | int, prompt: Span) -> tuple[str, list[int]]:
    """The name of a word of the prompt, and its tokens from the beginning of the prompt."""
    name, positions = word_tokens(text, word)
    if int(positions[-1]) >= prompt[1] - prompt[0]:
        raise ArgumentError(
            f"{name!r} is token {int(positions[-1])} of the text, and the model read the first "
            f"{prompt[1] - prompt[0]}."
        )
    return name, positions.tolist()


def word_pictures(
    source: LayerSource,
    layers: Sequence[LayerKey],
    sentence: int,
    call: MediaCall | None,
    chosen: tuple[str | int, Size | None, Span | None],
) -> tuple[str, list[Array]]:
    """A word's name, and its picture (h, r, c) in each layer.

    ``chosen`` are the word, the grid and the keys of the prompt, where they were given.
    """
    word, size, prompt = chosen
    name, pictures = "", []
    for key in layers:
        layer = source.layer(key, sentence)
        pixels = pixel_layer(layer, call, size, prompt)
        text = layer.key_text
        if text is None or layer.queries == layer.keys:
            given, length = getattr(source, "given", None), pixels.prompt[1] - pixels.prompt[0]
            text = prompt_text(source.tokenizer, given, length)
        name, tokens = prompt_tokens(text, word, pixels.prompt)
        pictures.append(pixels.weights(layer, tokens))
    return name, pictures
