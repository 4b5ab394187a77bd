"""Models that measure windows of a corpus: the shipped encoder, and any Hugging Face model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.corpus.batching import alike
from regard.corpus.unpadded import observe_windows
from regard.corpus.weight_measures import Measuring
from regard.corpus.windows import (
    COMPARED,
    NAMES,
    PLACES,
    Facts,
    Head,
    Window,
    bands_within,
    cosines,
    cut,
    most_received,
    place_bands,
)
from regard.errors import ArgumentError, BackendError, FileError
from regard.transformer.config import END
from regard.transformer.model import Transformer
from regard.typing import Array
from regard.watcher.watch import need_extra, watch

SHORTEST = 8  # tokens of a window; in less there is nothing to see


class Observer(Protocol):
    """A model that can be surveyed."""

    heads: tuple[Head, ...]
    room: int
    about: str

    def windows(self, text: str) -> list[Window]:
        """A text as tokens, cut to what the model can take."""

    def piece(self, token: int) -> str:
        """How a token is written."""

    def observe(self, windows: Sequence[Window]) -> Facts:
        """What every head does in every window."""


@dataclass(frozen=True)
class ModelPlace:
    """Which model: the shipped one, or the one in a folder; how much it is given at once.

    Small and picklable: the model itself is loaded where it is needed.
    """

    folder: str | None = None
    window: int | None = None
    device: str = "cpu"

    def observer(self) -> Observer:
        """The model, loaded once in each process."""
        return _loaded(self)

    def files(self) -> Path:
        """The folder that holds the model."""
        from regard.transformer.checkpoint import SHIPPED, model_folder

        return SHIPPED if self.folder is None else model_folder(self.folder)


@lru_cache(maxsize=1)
def _loaded(place: ModelPlace) -> Observer:
    from regard.transformer.checkpoint import DESCRIPTION, load_model

    folder = place.files()
    if not folder.is_dir():
        raise FileError(
            f"model needs a folder that exists, but there is no {str(folder)!r}: nothing is "
            "downloaded, so give the path of a local folder."
        )
    if place.folder is None or (folder / DESCRIPTION).is_file():
        model = load_model(place.folder)
        return EncoderObserver(model, checked_window(place.window, model.config.max_length))
    if (folder / "config.json").is_file():
        return WatchedObserver.load(folder, place.window, place.device)
    raise FileError(
        f"model needs a folder with {DESCRIPTION} (written by `regard train`) or config.json (a "
        f"Hugging Face model), but {str(folder)!r} has neither."
    )


def checked_window(window: int | None, most: int) -> int:
    """How many tokens the model is given at once."""
    if window is None:
        return most
    if not SHORTEST <= window <= most:
        raise ArgumentError(
            f"window needs a whole number from {SHORTEST} to {most}, which is what this model can "
            f"take, but it is {window}."
        )
    return window


class EncoderObserver:
    """The encoder of our own transformer; nothing is translated."""

    def __init__(self, model: Transformer, room: int) -> None:
        self.model, self.room = model, room
        self.about = f"the encoder of {model!r}"
        sizes = model.config
        self.heads = tuple(
            Head("encoder", layer, head)
            for layer in range(sizes.layers)
            for head in range(sizes.heads)
        )

    def windows(self, text: str) -> list[Window]:
        """The tokens of the text; each window ends with END, as every source does."""
        from regard.transformer.translation import readable

        return cut(self.model.tokenizer.encode(readable(text)), self.room, last=[END])

    def piece(self, token: int) -> str:
        """How a token is written."""
        return "(end)" if token == END else self.model.tokenizer.piece(token)

    def observe(self, windows: Sequence[Window]) -> Facts:
        """What every head does in every window."""
        return observe_windows(self.model, windows, bands_within(self.room))


def put_seen(facts: Facts, number: int, seen: Any, bands: slice) -> None:
    """All layers of a Seen whose query and key were kept."""
    start, compared = 0, []
    for place in seen.names:
        layer = seen[place]
        heads = slice(start, start + layer.leading[-1])
        _put_measures(facts, number, heads, layer.measures, bands)
        _put_received(facts, number, heads, layer)
        few = slice(0, min(COMPARED, layer.keys))
        compared.append(layer.tile(few, few).reshape(layer.leading[-1], -1))
        start = heads.stop
    facts.places_p[...] += np.bincount(place_bands(layer.keys), minlength=PLACES)
    facts.alike_hh[...] += cosines(np.concatenate(compared).astype(np.float32)[None])


def _put_measures(facts: Facts, number: int, heads: slice, measures: Any, bands: slice) -> None:
    for row, name in enumerate(NAMES):
        measure = getattr(measures, name)
        facts.sums_mwh[row, number, heads] = measure.sum_h
        facts.even_mwh[row, number, heads] = measure.even_h
        facts.queries_mwh[row, number, heads] = measure.queries_h
    facts.distance_whb[number, heads] = measures.distance.sum_h[:, bands]


def _put_received(facts: Facts, number: int, heads: slice, layer: Any) -> None:
    received_hk = np.asarray(layer.received, np.float64)
    keys, most = most_received(received_hk)
    facts.most_keys_whn[number, heads, : keys.shape[-1]] = keys
    facts.most_whn[number, heads, : most.shape[-1]] = most
    facts.by_place_2hp[0, heads] += _banded(np.asarray(layer.entropy, np.float64))
    facts.by_place_2hp[1, heads] += _banded(received_hk)


def _banded(values_ht: Array) -> Array:
    return np.array([np.bincount(place_bands(len(x)), x, minlength=PLACES) for x in values_ht])


UNBOUNDED = 512  # tokens at once where a model does not say what it can take


SHORT = 512  # up to here the plain matrix way is the faster one


ROUGH = 1e-3  # how far from 1 a row of weights in half precision may sum


class WatchedObserver:
    """A model of transformers with its tokenizer; of two sides only the encoder reads."""

    def __init__(self, model: Any, tokenizer: Any, window: int | None, device: str) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self.room = checked_window(window, _limit(model, tokenizer))
        self.bands = bands_within(self.room)
        self.about = type(model).__name__
        self.first, self.last = _around(tokenizer)
        seen = self._seen(self.windows("a")[0])
        self.layers = [seen[place].leading[-1] for place in seen.names]
        self.heads = tuple(
            Head(place.part, place.layer, head)
            for place, heads in zip(seen.names, self.layers, strict=True)
            for head in range(heads)
        )

    @classmethod
    def load(cls, folder: Path, window: int | None, device: str) -> WatchedObserver:
        """From a local folder; nothing is downloaded."""
        need_extra("a survey of a Hugging Face model")
        import torch
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        torch.set_num_threads(1)
        disable_progress_bar()
        try:
            tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
            model = AutoModel.from_pretrained(str(folder), local_files_only=True)
        except (OSError, ValueError) as error:
            raise FileError(
                f"model needs a folder with a model and its tokenizer, but {str(folder)!r} cannot "
                f"be loaded: {str(error).splitlines()[0]}"
            ) from None
        observer = cls(model.eval().to(device), tokenizer, window, device)
        observer.about = f"{type(model).__name__} of the folder {folder.resolve().name}"
        return observer

    def windows(self, text: str) -> list[Window]:
        """The tokens of the text; special tokens around every window."""
        tokens = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        if not tokens:
            raise ArgumentError("it has no token that this model knows")
        return cut(tokens, self.room, self.first, self.last)

    def piece(self, token: int) -> str:
        """How a token is written."""
        return str(self.tokenizer.convert_ids_to_tokens(token))

    def observe(self, windows: Sequence[Window]) -> Facts:
        """What every head does in every window."""
        facts = Facts.empty(len(windows), len(self.heads), self.bands.stop - self.bands.start)
        lengths = [len(window.tokens) for window in windows]
        order = sorted(range(len(windows)), key=lambda i: lengths[i])
        short = [i for i in order if lengths[i] <= SHORT]
        if short:
            self._observe_short(facts, windows, short)
        for number in (i for i in range(len(windows)) if lengths[i] > SHORT):
            put_seen(facts, number, self._seen(windows[number]), self.bands)
        return facts

    def _observe_short(self, facts: Facts, windows: Sequence[Window], short: list[int]) -> None:
        groups = list(alike([len(windows[i].tokens) for i in short], max(self.layers)))
        before = self.model.config._attn_implementation
        self.model.set_attn_implementation("eager")
        try:
            for group in groups:
                chosen = short[group.windows]
                tokens_bt = np.array([windows[i].tokens for i in chosen])
                measuring = Measuring(facts, chosen, self.bands, [tokens_bt])
                self._measure(tokens_bt, measuring)
                measuring.end()
        finally:
            self.model.set_attn_implementation(before)

    def _measure(self, tokens_bt: NDArray[np.int64], measuring: Measuring) -> None:
        start = 0
        attentions = self._run(tokens_bt, output_attentions=True).attentions
        _check_layers([weights.shape[1] for weights in attentions], self.layers, self.about)
        for weights in attentions:
            weights_bhqk = weights.float().cpu().numpy()
            _check_rows(weights_bhqk, self.about)
            heads = slice(start, start + weights_bhqk.shape[1])
            # Without padding all texts and heads of a layer see alike; a weight that is 0 in every
            # one of them is hidden, a weight too small for float32 is not so everywhere.
            measuring.add(0, heads, weights_bhqk, (weights_bhqk > 0).any(axis=(0, 1)))
            start = heads.stop

    def _seen(self, window: Window) -> Any:
        with watch(self.model, top=0, map=0, keep="all") as seen:
            self._run(np.array([window.tokens]))
        return seen

    def _run(self, tokens_bt: NDArray[np.int64], **options: Any) -> Any:
        import torch

        ids = torch.tensor(tokens_bt, device=self.device)
        two_sided = getattr(self.model.config, "is_encoder_decoder", False)
        runner = self.model.get_encoder() if two_sided else self.model
        with torch.no_grad():
            return runner(input_ids=ids, attention_mask=torch.ones_like(ids), **options)


def _check_layers(given: list[int], watched: list[int], about: str) -> None:
    """The model must give out the layers that were watched; both are lists of their heads."""
    if given != watched:
        of_given, of_watched = (", ".join(map(str, heads)) for heads in (given, watched))
        raise BackendError(
            f"{about} gives out weights of layers with {of_given} heads, but watch sees layers "
            f"with {of_watched} heads: which is which is not known, so a survey of this model is "
            "not possible."
        )


def _check_rows(weights_bhqk: Array, about: str) -> None:
    apart = float(np.abs(weights_bhqk.sum(axis=-1) - 1).max())
    if apart > ROUGH:
        raise BackendError(
            f"{about} hands over weights whose rows sum to 1 only within {apart:.2g}: they are no "
            "plain attention weights, and a survey would say something else than it seems."
        )


def _limit(model: Any, tokenizer: Any) -> int:
    """How many tokens the model can take: what its tokenizer or its configuration says."""
    said = [getattr(model.config, x, None) for x in ("max_position_embeddings", "n_positions")]
    said.append(getattr(tokenizer, "model_max_length", None))
    known = [int(x) for x in said if isinstance(x, int | float) and 0 < x < 2**31]
    return min(known, default=UNBOUNDED)


def _around(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that a tokenizer puts before and after a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    start = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
    return whole[:start], whole[start + len(bare) :]
