"""Models that measure windows of a corpus: the shipped encoder, and any Hugging Face model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.corpus.windows import (
    HeadKey,
    LengthGroup,
    MeasuredRun,
    Window,
    WindowSums,
    cut,
    length_groups,
    window_runs,
)
from regard.engine.dense import dense_attention
from regard.engine.profile import bands_within
from regard.errors import ArgumentError, BackendError, FileError
from regard.transformer.checkpoint import DESCRIPTION, SHIPPED, load_model, model_folder
from regard.transformer.config import END
from regard.transformer.layers import EncoderLayer, join_heads, split_heads, times
from regard.transformer.model import Transformer
from regard.transformer.translation import readable
from regard.typing import Array
from regard.watcher.files.model_folder import is_gguf, load_folder
from regard.watcher.seen import Seen
from regard.watcher.watch import need_extra, watch

ROWS_PER_PRODUCT = 128  # enough for nine tenths of BLAS's best speed
TOKENS_PER_RUN = 2048  # that go through the layers together


def observe_windows(model: Transformer, windows: Sequence[Window], bands: slice) -> WindowSums:
    """Sums of every head of the encoder in every window."""
    heads = model.config.layers * model.config.heads
    sums = WindowSums.empty(len(windows), heads, bands)
    for chosen in window_runs([len(window.tokens) for window in windows], TOKENS_PER_RUN):
        texts = [windows[i].tokens for i in chosen]
        groups = list(length_groups([len(text) for text in texts], model.config.heads))
        tokens = [np.array(texts[group.windows]) for group in groups]
        _observe(model, groups, MeasuredRun(sums, chosen, tokens))
    return sums


def _observe(model: Transformer, groups: list[LengthGroup], run: MeasuredRun) -> None:
    """Run the encoder over texts sorted by length."""
    own = model.config.heads
    x_te = _vectors(model, groups, run.tokens)
    qkv_te = np.empty((len(x_te), 3 * model.config.width), np.float32)
    sums_te = np.zeros_like(x_te)
    for number, layer in enumerate(model.encoders):
        _queries_keys_values(layer, x_te, qkv_te)
        heads = slice(number * own, (number + 1) * own)
        for index, group in enumerate(groups):
            shape = (-1, group.length, qkv_te.shape[1])
            query, key, value = _three(qkv_te[group.rows].reshape(shape), own)
            output_bhqd, weights_bhqk = dense_attention(query, key, value)
            sums_te[group.rows] = join_heads(output_bhqd).reshape(-1, x_te.shape[1])
            run.add(index, heads, weights_bhqk)
        if layer is not model.encoders[-1]:  # the last layer's output is not needed
            _finish_layer(layer, x_te, sums_te)
    run.compare_heads()


def _vectors(
    model: Transformer, groups: list[LengthGroup], tokens: Sequence[NDArray[np.int64]]
) -> Array:
    """The vectors of all tokens, below each other, and rows of zeros up to a full product."""
    rows = -(-groups[-1].rows.stop // ROWS_PER_PRODUCT) * ROWS_PER_PRODUCT
    x_te = np.zeros((rows, model.config.width), np.float32)
    for group, tokens_bt in zip(groups, tokens, strict=True):
        x_te[group.rows] = model.vectors(tokens_bt).reshape(-1, model.config.width)
    return x_te


def _queries_keys_values(layer: EncoderLayer, x_te: Array, qkv_te: Array) -> None:
    for block in _blocks(len(x_te)):
        normed = layer.self_attention_norm(x_te[block])
        qkv_te[block] = times(normed, layer.self_attention.w_qkv)


def _three(qkv_bte: Array, heads: int) -> tuple[Array, Array, Array]:
    width = qkv_bte.shape[-1] // 3
    query, key, value = (
        split_heads(qkv_bte[..., i * width : (i + 1) * width], heads) for i in range(3)
    )
    return query, key, value


def _finish_layer(layer: EncoderLayer, x_te: Array, sums_te: Array) -> None:
    """x += heads side by side @ w_output, then x += feed_forward(norm(x))."""
    for block in _blocks(len(x_te)):
        x_te[block] += times(sums_te[block], layer.self_attention.w_output)
        x_te[block] += layer.feed_forward(layer.feed_forward_norm(x_te[block]))


def _blocks(rows: int) -> Iterator[slice]:
    return (slice(start, start + ROWS_PER_PRODUCT) for start in range(0, rows, ROWS_PER_PRODUCT))


MIN_WINDOW_TOKENS = 8  # a shorter window says nothing about a head
DEFAULT_WINDOW_TOKENS = 512  # where a model does not state its limit
MAX_EAGER_TOKENS = 512  # up to here eager attention is faster than watching
MAX_ROW_SUM_ERROR = 1e-3  # distance from 1 of a row of weights in half precision


class Observer(Protocol):
    """A model that can be surveyed."""

    heads: tuple[HeadKey, ...]
    window: int
    about: str

    def windows(self, text: str) -> list[Window]:
        """The tokens of a text, cut to what the model can take."""

    def piece(self, token: int) -> str:
        """The text of a token."""

    def observe(self, windows: Sequence[Window]) -> WindowSums:
        """The sums of every head in every window."""


@dataclass(frozen=True)
class ModelSpec:
    """A model to load (the shipped one, or a folder), its window and its device.

    Small and picklable: each process loads the model itself.
    """

    folder: str | None = None
    window: int | None = None
    device: str = "cpu"

    def observer(self) -> Observer:
        """The model, loaded once in each process."""
        return _load(self)

    def files(self) -> Path:
        return SHIPPED if self.folder is None else model_folder(self.folder)


@lru_cache(maxsize=1)
def _load(spec: ModelSpec) -> Observer:
    folder = spec.files()
    if is_gguf(folder):
        return WatchedObserver.load(folder, spec.window, spec.device)
    if not folder.is_dir():
        raise FileError(
            f"No such folder: {str(folder)!r}. Models are not downloaded: give the path of a local "
            "folder."
        )
    if spec.folder is None or (folder / DESCRIPTION).is_file():
        model = load_model(spec.folder)
        return EncoderObserver(model, checked_window(spec.window, model.config.max_length))
    if (folder / "config.json").is_file() or any(folder.glob("*.gguf")):
        return WatchedObserver.load(folder, spec.window, spec.device)
    raise FileError(
        f"{str(folder)!r} is not a model: it has no {DESCRIPTION} (written by model/train), no "
        "config.json (of a Hugging Face model) and no .gguf file."
    )


def checked_window(window: int | None, most: int) -> int:
    """The number of tokens of a window: what the model can take unless given."""
    if window is None:
        return most
    if not MIN_WINDOW_TOKENS <= window <= most:
        raise ArgumentError(
            f"window must be {MIN_WINDOW_TOKENS} to {most}, which is what this model can take, got "
            f"{window}."
        )
    return window


class EncoderObserver:
    """The encoder of regard's own transformer; nothing is translated."""

    def __init__(self, model: Transformer, window: int) -> None:
        self.model, self.window = model, window
        self.about = f"the encoder of {model!r}"
        sizes = model.config
        self.heads = tuple(
            HeadKey("encoder", layer, head)
            for layer in range(sizes.layers)
            for head in range(sizes.heads)
        )

    def windows(self, text: str) -> list[Window]:
        """The tokens of the text; each window ends with END, as every source does."""
        return cut(self.model.tokenizer.encode(readable(text)), self.window, last=[END])

    def piece(self, token: int) -> str:
        return "(end)" if token == END else self.model.tokenizer.piece(token)

    def observe(self, windows: Sequence[Window]) -> WindowSums:
        return observe_windows(self.model, windows, bands_within(self.window))


class WatchedObserver:
    """A model of transformers with its tokenizer; of an encoder-decoder only the encoder runs."""

    def __init__(self, model: Any, tokenizer: Any, window: int | None, device: str) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self.window = checked_window(window, _limit(model, tokenizer))
        self.about = type(model).__name__
        self.first, self.last = _special_tokens(tokenizer)
        seen = self._try("a")
        self.heads_of_layers = [seen[key].head_shape[-1] for key in seen.names]
        self.heads = tuple(
            HeadKey(key.part, key.layer, head)
            for key, heads in zip(seen.names, self.heads_of_layers, strict=True)
            for head in range(heads)
        )

    @classmethod
    def load(cls, folder: Path, window: int | None, device: str) -> WatchedObserver:
        """The model of a local folder; nothing is downloaded, and no code of the folder runs."""
        need_extra("a survey of a Hugging Face model")
        import torch

        torch.set_num_threads(1)
        try:
            loaded = load_folder(folder)
        except FileError as error:
            raise FileError(
                f"model must be a folder with a model and its tokenizer: {error}"
            ) from None
        model = loaded.model.base_model  # without the layer that writes words
        observer = cls(model.eval().to(device), loaded.tokenizer, window, device)
        observer.about = f"{type(model).__name__} of the folder {folder.resolve().name}"
        return observer

    def windows(self, text: str) -> list[Window]:
        """The tokens of the text; special tokens around every window."""
        tokens = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        if not tokens:
            raise ArgumentError("it has no token that this model knows")
        return cut(tokens, self.window, self.first, self.last)

    def piece(self, token: int) -> str:
        return str(self.tokenizer.convert_ids_to_tokens(token))

    def observe(self, windows: Sequence[Window]) -> WindowSums:
        sums = WindowSums.empty(len(windows), len(self.heads), bands_within(self.window))
        lengths = [len(window.tokens) for window in windows]
        order = sorted(range(len(windows)), key=lambda i: lengths[i])
        short = [i for i in order if lengths[i] <= MAX_EAGER_TOKENS]
        if short:
            self._observe_short(sums, windows, short)
        for number in (i for i in range(len(windows)) if lengths[i] > MAX_EAGER_TOKENS):
            sums.set_seen(number, self._watch(windows[number]))
        return sums

    def _observe_short(self, sums: WindowSums, windows: Sequence[Window], short: list[int]) -> None:
        lengths = [len(windows[i].tokens) for i in short]
        before = self.model.config._attn_implementation
        self.model.set_attn_implementation("eager")
        try:
            for group in length_groups(lengths, max(self.heads_of_layers)):
                chosen = short[group.windows]
                tokens_bt = np.array([windows[i].tokens for i in chosen])
                run = MeasuredRun(sums, chosen, [tokens_bt])
                self._measure(tokens_bt, run)
                run.compare_heads()
        finally:
            self.model.set_attn_implementation(before)

    def _measure(self, tokens_bt: NDArray[np.int64], run: MeasuredRun) -> None:
        start = 0
        attentions = self._forward(tokens_bt, output_attentions=True).attentions
        heads_of_layers = [weights.shape[1] for weights in attentions]
        _check_layers(heads_of_layers, self.heads_of_layers, self.about)
        for weights in attentions:
            weights_bhqk = weights.float().cpu().numpy()
            _check_rows(weights_bhqk, self.about)
            heads = slice(start, start + weights_bhqk.shape[1])
            # Without padding all texts and heads of a layer share their visibility; a weight that
            # is 0 in all of them is hidden, one too small for float32 is not 0 in all of them.
            run.add(0, heads, weights_bhqk, (weights_bhqk > 0).any(axis=(0, 1)))
            start = heads.stop

    def _try(self, text: str) -> Seen:
        """Watch one short text, to learn the layers, or to refuse the model."""
        try:
            return self._watch(self.windows(text)[0])
        except (AttributeError, TypeError, ValueError, IndexError, RuntimeError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise BackendError(
                f"a survey needs a model that reads text, but {self.about} fails on tokens: "
                f"{reason}. Give --model the folder of a text model."
            ) from None

    def _watch(self, window: Window) -> Seen:
        with watch(self.model, top=0, map=0, keep="all") as seen:
            self._forward(np.array([window.tokens]))
        return seen

    def _forward(self, tokens_bt: NDArray[np.int64], **options: Any) -> Any:
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
            f"{about} returns weights of layers with {of_given} heads, but watch sees layers with "
            f"{of_watched} heads: they cannot be matched, so this model cannot be surveyed."
        )


def _check_rows(weights_bhqk: Array, about: str) -> None:
    error = float(np.abs(weights_bhqk.sum(axis=-1) - 1).max())
    if error > MAX_ROW_SUM_ERROR:
        raise BackendError(
            f"{about} returns weights whose rows sum to 1 only within {error:.2g}: these are not "
            "plain attention weights, so a survey of them would be misleading."
        )


def _limit(model: Any, tokenizer: Any) -> int:
    """The number of tokens that the model can take, by its tokenizer or its configuration."""
    limits = [getattr(model.config, x, None) for x in ("max_position_embeddings", "n_positions")]
    limits.append(getattr(tokenizer, "model_max_length", None))
    stated = [int(x) for x in limits if isinstance(x, int | float) and 0 < x < 2**31]
    return min(stated, default=DEFAULT_WINDOW_TOKENS)


def _special_tokens(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that a tokenizer puts before and after a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    start = next(i for i in range(len(full)) if full[i : i + len(bare)] == bare)
    return full[:start], full[start + len(bare) :]
